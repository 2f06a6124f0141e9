#include "target/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/child.h"
#include "machine/cpus.h"
#include "machine/leftover.h"
#include "target/expand.h"

static const int64_t lock_patience_ns = 3600 * CLOCK_NS_PER_S;
static const size_t log_limit = (size_t)4 << 20;

/* Holds what the build got, {} when there was nothing to build: what was built lies beside it. */
static char *marker_of(const char *build_dir)
{
    return fsx_join(build_dir, "ok");
}

static char *dir_of(const struct row *row, const char *state_dir)
{
    return text_format("%s/build/%s/%s", state_dir, row->recipe->folder, row->build_hash);
}

/* A lock for one folder's builds; closing the descriptor, or dying, frees it. */
static int lock_folder(const char *state_dir, const char *folder, struct err *err)
{
    char *dir = text_format("%s/build/%s", state_dir, folder);
    char *path = fsx_join(dir, "lock");
    int64_t deadline_ns = clock_mono_ns() + lock_patience_ns;
    bool said = false;
    int fd = -1;

    if (fsx_mkdirs(dir, 0755, err) == 0) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0)
            (void)err_sys(err, "%s: cannot open", path);
    }
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (!said)
            log_line("build      %s: another restbench builds it; waiting", folder);
        said = true;
        if (errno != EWOULDBLOCK || clock_mono_ns() > deadline_ns || child_cancelled()) {
            (void)err_fail(err, "%s: another restbench holds the build lock", path);
            (void)close(fd);
            fd = -1;
            break;
        }
        clock_sleep_ns(200 * CLOCK_NS_PER_MS);
    }
    free(dir);
    free(path);
    return fd;
}

static void make_env(const struct row *row, const char *state_dir, const struct cpus *cpus, struct env *env)
{
    char *cache = text_format("%s/cache/%s", state_dir, row->recipe->folder);
    char *count = text_format("%d", cpus_count(cpus));
    const char *name;
    json_t *value;

    env_basic(env);
    env_build(env);
    env_add(env, &row->found);
    env_set_hidden(env, "BUILD_CACHE", cache);
    env_set(env, "JOBS", count);
    leftover_mark(env);
    json_object_foreach (row->recipe->build.env, name, value)
        env_set(env, name, json_string_value(value));
    (void)fsx_mkdirs(cache, 0755, NULL);
    free(cache);
    free(count);
}

static int run_build(const struct row *row, const char *dir, const char *log_path, const struct env *env,
                     const struct cpus *cpus, json_t **record, struct err *err)
{
    char **argv = expand_argv(row->recipe->build.argv, env);
    struct child_spec spec = {.argv = (const char *const *)argv,
                              .env = env,
                              .cwd = dir,
                              .out = {.kind = CHILD_LOG, .path = log_path, .limit = log_limit},
                              .err = {.kind = CHILD_SAME},
                              .cpus = cpus,
                              .death_signal = SIGKILL};
    struct child child = {0};
    int64_t limit_ns = (int64_t)(row->recipe->build.timeout_s * (double)CLOCK_NS_PER_S);
    int result = child_start(&spec, &child, err);

    *record = json_incref(child.record);
    if (result == 0) {
        bool ended = child_wait(&child, limit_ns);

        if (!ended || child.status.code != 0) {
            struct text tail = {0};
            const char *how = ended               ? child_status_text(&child)
                              : child_cancelled() ? "interrupted"
                                                  : "not ready within its time (build.timeout_s)";
            char *said = text_dup(how);

            (void)child_stop(&child, CLOCK_NS_PER_S, NULL);
            child_tail(&child, 'o', 8, &tail);
            result = err_fail(err, "%s: the build failed (%s); log: %s\n%s", row->recipe->folder, said, log_path,
                              text_string(&tail));
            text_free(&tail);
            free(said);
        }
    }
    child_close(&child);
    expand_free(argv);
    return result;
}

static int build_into(const struct row *row, const char *state_dir, const char *dir, const struct cpus *cpus,
                      struct err *err)
{
    char *log_path = text_format("%s/build/%s/%s.log", state_dir, row->recipe->folder, row->build_hash);
    char *marker = marker_of(dir);
    struct env env = {0};
    json_t *record = NULL;
    char *text = NULL;
    int result;

    make_env(row, state_dir, cpus, &env);
    result = fsx_remove_tree(dir, err);
    if (result == 0)
        result = fsx_copy_tree(row->recipe->dir, dir, err);
    if (result == 0 && row->recipe->build.argv != NULL)
        result = run_build(row, dir, log_path, &env, cpus, &record, err);
    text = record != NULL ? json_dumps(record, JSON_COMPACT) : text_dup("{}");
    if (result == 0)
        result = fsx_write_atomic(marker, text, strlen(text), 0644, err);
    json_decref(record);
    free(text);
    env_free(&env);
    free(marker);
    free(log_path);
    return result;
}

static int find_hash(struct row *row, struct err *err)
{
    return row->build_hash[0] != '\0' ? 0 : fsx_sha256_tree(row->recipe->dir, row->build_hash, err);
}

static json_t *read_record(const char *build_dir)
{
    char *marker = marker_of(build_dir);
    json_t *record = json_load_file(marker, 0, NULL);

    free(marker);
    if (json_object_size(record) > 0)
        return record;
    json_decref(record);
    return NULL;
}

bool build_is_ready(struct row *row, const char *state_dir)
{
    struct err err = {0};
    char *dir;
    char *marker;
    bool ready;

    if (find_hash(row, &err) != 0)
        return false;
    dir = dir_of(row, state_dir);
    marker = marker_of(dir);
    ready = fsx_exists(marker);
    free(dir);
    free(marker);
    return ready;
}

int build_row(struct row *row, const char *state_dir, const struct cpus *cpus, bool *built, struct err *err)
{
    char *dir;
    int result = 0;
    int lock;

    *built = false;
    if (find_hash(row, err) != 0)
        return -1;
    lock = lock_folder(state_dir, row->recipe->folder, err);
    if (lock < 0)
        return -1;
    dir = dir_of(row, state_dir);
    if (!build_is_ready(row, state_dir)) {
        *built = true;
        result = build_into(row, state_dir, dir, cpus, err);
    }
    (void)close(lock);
    if (result == 0) {
        row->build_dir = dir;
        json_decref(row->build);
        row->build = read_record(dir);
    } else {
        free(dir);
    }
    return result;
}
