#include "study/parties.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/log.h"
#include "base/pattern.h"
#include "base/text.h"
#include "machine/child.h"
#include "machine/sampler.h"
#include "study/manifest.h"
#include "study/request.h"
#include "target/build.h"
#include "target/jwt.h"

static const int64_t version_patience_ns = 20 * CLOCK_NS_PER_S;
static const int64_t return_patience_ns = 60 * CLOCK_NS_PER_S;
enum {
    REVIVE_TRIES = 3,
    LOSSES_MOST = 6, /* of the database, in a row without a finished cell */
};

static int take_locks(struct run *run, struct err *err)
{
    if (lock_state(run->state_dir, &run->lock, err) != 0)
        return -1;
    if (getenv("RESTBENCH_SHARE_CPUS") != NULL)
        return 0;
    if (!run->parts.split.pinned)
        return lock_cpus(&run->parts.allowed, &run->lock, err);
    if (lock_cpus(&run->parts.split.server, &run->lock, err) != 0)
        return -1;
    return lock_cpus(&run->parts.split.generator, &run->lock, err);
}

static int make_folders(struct run *run, struct err *err)
{
    run->work_dir = text_format("%s/run/work", run->state_dir);
    if (fsx_remove_tree(run->work_dir, err) != 0)
        return -1;
    return fsx_mkdirs(run->work_dir, 0700, err);
}

static int open_database(struct run *run, struct err *err)
{
    const struct study *study = &run->setup.study;
    struct database_spec spec = {.kind = study->has_database ? "postgresql" : "none",
                                 .url = run->options->database,
                                 .state_dir = run->state_dir,
                                 .table = study->table,
                                 .rows = study->rows,
                                 .schema_path = study->schema_path,
                                 .seed_path = study->seed_path,
                                 .reset_path = study->reset_path,
                                 .checksum_path = study->checksum_path,
                                 .cpus = run->database_place.cpus,
                                 .cgroup = &run->database_place.cgroup,
                                 .sampler_cpus = &run->parts.split.generator};

    run->database_spec = spec;
    return database_open(&run->database_spec, &run->database, err);
}

/* One that is gone may be back soon; a private one is started again at once. */
static int open_patiently(struct run *run, struct err *err)
{
    int64_t deadline_ns = clock_mono_ns() + return_patience_ns;

    database_close(run->database);
    run->database = NULL;
    for (int tries = 1;; tries++) {
        err_clear(err);
        if (open_database(run, err) == 0)
            return 0;
        if (child_cancelled() || (tries >= REVIVE_TRIES && clock_mono_ns() >= deadline_ns))
            return -1;
        clock_sleep_ns(CLOCK_NS_PER_S);
    }
}

bool parties_database_lost(const struct run *run)
{
    return run->database != NULL && run->database->ops->lost != NULL && run->database->ops->lost(run->database);
}

int parties_database_room(const struct run *run, struct err *err)
{
    return run->database != NULL && run->database->ops->room != NULL ? run->database->ops->room(run->database, err) : 0;
}

bool parties_name_stranger(const struct run *run, struct err *err)
{
    const struct database_ops *ops = run->database != NULL ? run->database->ops : NULL;
    char *who = ops != NULL && ops->stranger != NULL ? ops->stranger(run->database) : NULL;
    bool found = who != NULL;

    if (found)
        (void)err_prefix(err, "the server waits for a lock of %s", who);
    free(who);
    return found;
}

/* Opens it again until it stays, or has been lost too often. `cause`: why it is thought to be lost. */
static int open_again(struct run *run, struct err *cause, struct err *err)
{
    do {
        if (++run->losses > LOSSES_MOST)
            return err_set(err,
                           "the database was lost %d times without one cell finished in between (the last: %s); "
                           "what is finished is kept: go on with --resume",
                           LOSSES_MOST, cause->text);
        /* On disk at once: who kills the database may kill us next. */
        manifest_note(run, "the database was lost (%s); it is opened again", cause->text);
        if (manifest_write(run, err) != 0)
            return -1;
        if (open_patiently(run, cause) == 0 && run->database->ops->prepare(run->database, cause) == 0)
            return 0;
        if (child_cancelled())
            return err_fail(err, "interrupted");
    } while (parties_database_lost(run));
    return err_set(err, "the database cannot be had any more: %s; what is finished is kept: go on with --resume",
                   cause->text);
}

int parties_revive_database(struct run *run, struct err *err)
{
    struct err cause = {0};
    char *one = NULL;

    if (parties_database_lost(run))
        (void)err_set(&cause, "its connections ended");
    else if (run->database != NULL && (run->database->ops->value == NULL ||
                                       run->database->ops->value(run->database, "SELECT 1", &one, &cause) == 0)) {
        free(one);
        return 0;
    }
    return child_cancelled() ? err_fail(err, "interrupted") : open_again(run, &cause, err);
}

static int build_rows(struct run *run, struct err *err)
{
    struct rows *rows = &run->setup.rows;
    size_t usable = 0;

    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];
        struct err cause = {0};
        int64_t begin_ns = clock_mono_ns();
        bool built;

        if (child_cancelled())
            return err_fail(err, "interrupted");
        if (row->state == ROW_SKIPPED) {
            log_line("skip       %s: %s", row->id, row->reason);
            continue;
        }
        if (!row->recipe->observed && !build_is_ready(row, run->state_dir))
            log_line("build      %s ...", row->id);
        if (!row_is_observed(row) && build_row(row, run->state_dir, &run->parts.allowed, &built, &cause) != 0) {
            if (child_cancelled())
                return err_fail(err, "interrupted");
            row_set_state(row, ROW_FAILED, NULL, cause.text);
            log_error("%s", cause.text);
            continue;
        }
        usable++;
        if (!row->recipe->observed && built)
            log_line("build      %s %.0f s", row->id, (double)(clock_mono_ns() - begin_ns) / (double)CLOCK_NS_PER_S);
    }
    if (usable == 0)
        return err_fail(err, "no server can be measured here: each lacks something (see above, and restbench list)");
    return 0;
}

/* The tool's own version; one that is not installed is the user's mistake. */
static int find_tool(struct run *run, struct err *err)
{
    const struct tool *tool = tool_find(run->options->tool != NULL ? run->options->tool : "restbench", err);
    struct env env = {0};
    struct child_spec spec = {.env = &env, .out = {.kind = CHILD_CAPTURE}, .err = {.kind = CHILD_SAME}};
    struct child_result result = {0};
    struct err ignored = {0};
    struct pattern *pattern;

    if (tool == NULL)
        return -1;
    for (size_t i = 0; i < run->setup.study.test_count; i++)
        if (run->setup.tests[i] && run->setup.study.tests[i].requests_kind != CONTENT_NONE && !tool->has_ring)
            return err_set(err, "--tool %s: it cannot send the many requests of test %s; leave --tool or the test out",
                           tool->name, run->setup.study.tests[i].name);
    run->tool = tool;
    env_basic(&env);
    if (tool->program != NULL) {
        char *path = fsx_find_program(tool->program, env_get(&env, "PATH"));

        if (path == NULL) {
            env_free(&env);
            return err_set(err, "--tool %s: no program %s in PATH; install it", tool->name, tool->program);
        }
        free(path);
    }
    spec.argv = tool->version_argv;
    pattern = pattern_open_search("version", tool->version_pattern, &ignored);
    /* Some tools exit with 1 after printing their version. */
    if (pattern != NULL && spec.argv != NULL) {
        (void)child_run(&spec, version_patience_ns, &result, &ignored);
        if (result.out != NULL)
            run->tool_version = pattern_find(pattern, result.out, strlen(result.out));
    }
    pattern_close(pattern);
    child_result_free(&result);
    env_free(&env);
    return 0;
}

/* New for every run, unless a server takes part that somebody else gave one. */
static int choose_secret(struct run *run, struct err *err)
{
    const char *theirs = rows_any_observed(&run->setup.rows) ? getenv("JWT_SECRET") : NULL;

    if (theirs == NULL)
        return jwt_random_secret(&run->secret, err);
    run->secret = text_dup(theirs);
    return 0;
}

static int open_contract(struct run *run, struct err *err)
{
    if (run->setup.study.jwt && choose_secret(run, err) != 0)
        return -1;
    if (run->setup.study.contract_path == NULL)
        return 0;
    run->has_contract = contract_load(run->setup.study.contract_path, &run->contract, err) == 0;
    return run->has_contract ? 0 : -1;
}

static bool is_off(const json_t *settings, const char *name)
{
    const char *value = json_get_string(settings, name);

    return value != NULL && strcmp(value, "off") == 0;
}

/* Writes that the database does not put on disk are faster than any server's; the cells say so. */
static void look_at_settings(struct run *run)
{
    static const char *const sentences[] = {NULL, "fsync was off: inserts were not durable",
                                            "synchronous_commit was off: inserts were not durable",
                                            "fsync and synchronous_commit were off: inserts were not durable"};
    const json_t *settings = json_object_get(run->database_facts, "settings");

    run->not_durable = sentences[is_off(settings, "fsync") + 2 * is_off(settings, "synchronous_commit")];
}

/* What is asked of the database before the first cell. */
static int ask_database(struct run *run, struct err *err)
{
    const struct database_ops *ops = run->database->ops;

    json_decref(run->database_facts);
    run->database_facts = NULL;
    request_free_all(run);
    if (ops->describe != NULL && (run->database_facts = ops->describe(run->database, err)) == NULL)
        return -1;
    look_at_settings(run);
    return request_make_all(run, err);
}

/* A database that cannot be opened is told at once; one that is lost on the way is opened again. */
static int prepare_database(struct run *run, struct err *err)
{
    struct err cause = {0};

    if (open_database(run, err) != 0)
        return -1;
    if (run->database->ops->prepare(run->database, &cause) == 0 && ask_database(run, &cause) == 0)
        return 0;
    while (parties_database_lost(run) && !child_cancelled()) {
        if (open_again(run, &cause, err) != 0)
            return -1;
        if (ask_database(run, &cause) == 0)
            return 0;
    }
    *err = cause;
    return -1;
}

static void say_database(const struct run *run)
{
    const json_t *facts = run->database_facts;
    double rows = json_get_number(facts, "rows");
    struct text text = {0};

    if (facts == NULL)
        return;
    text_addf(&text, "PostgreSQL %s, %s, ", json_get_string(facts, "version"),
              json_is_true(json_object_get(facts, "private"))      ? "private"
              : json_is_true(json_object_get(facts, "host_local")) ? "one that ran already"
                                                                   : "on another machine");
    text_add_thousands(&text, isnan(rows) ? 0 : llrint(rows));
    log_line("database   %s rows, checksum ok%s%s", text_string(&text), run->not_durable != NULL ? "; " : "",
             run->not_durable != NULL ? run->not_durable : "");
    text_free(&text);
}

/* One that ran already is left on its CPUs; each cell will carry a mark for it, so it is said before. */
static void say_where_it_runs(const struct run *run)
{
    const struct database *database = run->database;
    struct sampler sampler;
    struct machine_affinity affinity;
    char *cpus;

    if (run->options->database == NULL || database->pid == 0 || !run->parts.split.pinned)
        return;
    sampler_init(&sampler, &run->parts.split);
    sampler_affinity(&sampler, place_sample(&run->database_place, &sampler, database->pid), &affinity);
    sampler_free(&sampler);
    if (affinity.wrong == 0)
        return;
    cpus = cpus_format(&run->parts.split.server);
    log_line("database   it may run on the generator's CPUs, so that each cell gets the mark affinity; to pin it: "
             "for p in %d $(pgrep -P %d); do taskset -cp %s $p; done",
             (int)database->pid, (int)database->pid, cpus);
    free(cpus);
}

int parties_open(struct run *run, struct err *err)
{
    const struct study *study = &run->setup.study;

    if (machine_open(study->cpus, &run->parts, err) != 0 || take_locks(run, err) != 0 || make_folders(run, err) != 0 ||
        find_tool(run, err) != 0 || build_rows(run, err) != 0)
        return -1;
    if (run->parts.split.note[0] != '\0')
        log_line("cpus       %s", run->parts.split.note);
    place_open(&run->parts, "server", false, NULL, &run->server_place);
    place_open(&run->parts, "postgres", false, NULL, &run->database_place);
    place_open(&run->parts, "generator", true, NULL, &run->generator_place);
    run->server_place.pin = study->after_start ? PLACE_PIN_AFTER_START : PLACE_PIN_BEFORE_EXEC;
    if (run->server_place.reason[0] != '\0')
        log_line("cgroups    none (%s): CPU time comes from /proc", run->server_place.reason);
    if (open_contract(run, err) != 0)
        return -1;
    if (prepare_database(run, err) != 0)
        return -1;
    say_database(run);
    say_where_it_runs(run);
    return 0;
}

int parties_close(struct run *run, struct err *err)
{
    int result = 0;

    request_free_all(run);
    json_decref(run->database_facts);
    run->database_facts = NULL;
    database_close(run->database);
    run->database = NULL;
    if (run->has_contract)
        contract_free(&run->contract);
    run->has_contract = false;
    if (place_close(&run->generator_place, err) != 0 || place_close(&run->server_place, err) != 0 ||
        place_close(&run->database_place, err) != 0)
        result = -1;
    if (run->work_dir != NULL && fsx_remove_tree(run->work_dir, err) != 0)
        result = -1;
    free(run->work_dir);
    free(run->secret);
    free(run->tool_version);
    run->work_dir = NULL;
    run->secret = NULL;
    run->tool_version = NULL;
    lock_free(&run->lock);
    machine_close(&run->parts);
    return result;
}
