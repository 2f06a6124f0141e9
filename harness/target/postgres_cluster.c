#include "target/postgres_cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/log.h"
#include "base/text.h"
#include "target/postgres_process.h"

#define LOCK_LIMIT_NS (330 * CLOCK_NS_PER_S) /* as long as an initdb may take */
#define FAST_LIMIT_NS (60 * CLOCK_NS_PER_S)
#define HASTY_LIMIT_NS (CLOCK_NS_PER_S / 2)
#define IMMEDIATE_LIMIT_NS (10 * CLOCK_NS_PER_S)
#define KILL_LIMIT_NS (10 * CLOCK_NS_PER_S)
#define STEP_NS (20 * CLOCK_NS_PER_MS)
#define STARTS 4

static char *state_of(const struct postgres_cluster *cluster)
{
    return fsx_dirname(cluster->dir);
}

static int lock(const struct postgres_cluster *cluster, struct err *err)
{
    char *path = text_format("%s.lock", cluster->dir);
    int64_t deadline_ns = clock_mono_ns() + LOCK_LIMIT_NS;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        (void)err_sys(err, "%s", path);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            (void)err_sys(err, "%s", path);
        else if (clock_mono_ns() < deadline_ns) {
            clock_sleep_ns(STEP_NS);
            continue;
        } else
            (void)err_set(err, "%s: another restbench has been starting or stopping this cluster for %d s", path,
                          (int)(LOCK_LIMIT_NS / CLOCK_NS_PER_S));
        (void)close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}

/* Root hands the cluster to a user without rights: PostgreSQL refuses to run as root. */
static int choose_user(struct postgres_cluster *cluster, struct err *err)
{
    static const char *const names[] = {"postgres", "_postgres", "pgsql", "nobody"};

    if (geteuid() != 0)
        return 0;
    cluster->other_user = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getpwnam(names[i]) != NULL)
            return child_user_find(names[i], &cluster->user, err);
    return err_set(err, "no user postgres or nobody on this machine; PostgreSQL does not run as root");
}

static void read_running(struct postgres_cluster *cluster)
{
    struct postgres_pidfile file;
    char *started = fsx_join(cluster->dir, "started");
    char text[16];

    cluster->pid = 0;
    if (postgres_pidfile_read(cluster->data, &file) == 0 && postgres_process_is(file.pid, cluster->data)) {
        cluster->pid = file.pid;
        cluster->port = file.port;
        free(cluster->socket_dir);
        cluster->socket_dir = text_dup(file.socket_dir);
    }
    cluster->kept = fsx_read_small(started, text, sizeof text) > 0 && strncmp(text, "kept", 4) == 0;
    free(started);
}

int postgres_cluster_find(const char *state_dir, struct postgres_cluster *cluster, struct err *err)
{
    char *made;

    *cluster = (struct postgres_cluster){.dir = fsx_join(state_dir, "pg")};
    cluster->data = fsx_join(cluster->dir, "data");
    cluster->log = fsx_join(cluster->dir, "log");
    made = fsx_join(cluster->dir, "made");
    cluster->exists = fsx_exists(made);
    free(made);
    if (choose_user(cluster, err) != 0) {
        postgres_cluster_free(cluster);
        return -1;
    }
    if (cluster->exists)
        read_running(cluster);
    if (cluster->pid != 0 && postgres_make_addresses(cluster, err) != 0) {
        postgres_cluster_free(cluster);
        return -1;
    }
    return 0;
}

static void remove_socket_dir(const struct postgres_cluster *cluster)
{
    struct err ignored = {0};
    const char *name = cluster->socket_dir != NULL ? fsx_basename(cluster->socket_dir) : "";

    if (strcmp(name, "socket") == 0 || strncmp(name, "restbench-", strlen("restbench-")) == 0)
        (void)fsx_remove_tree(cluster->socket_dir, &ignored);
}

/* What is known of a cluster that was killed is in its folder; PostgreSQL itself recovers the data. */
static void clean_after_killed(struct postgres_cluster *cluster)
{
    char *path = fsx_join(cluster->dir, "segments");
    struct postgres_pidfile file;
    struct err ignored = {0};
    char *names;
    size_t len;

    if (postgres_process_kill_all(cluster->data, KILL_LIMIT_NS) > 0)
        log_detail("%s: processes that nothing ends still work there", cluster->data);
    if (fsx_read(path, 1 << 16, &names, &len, &ignored) == 0) {
        postgres_process_remove_segments(names);
        free(names);
    }
    (void)unlink(path);
    free(path);
    /* Its process number may be somebody else's by now, and PostgreSQL would take that one for a postmaster. */
    if (postgres_pidfile_read(cluster->data, &file) == 0) {
        path = fsx_join(cluster->data, "postmaster.pid");
        free(cluster->socket_dir);
        cluster->socket_dir = text_dup(file.socket_dir);
        remove_socket_dir(cluster);
        if (!postgres_process_is(file.pid, cluster->data))
            (void)unlink(path);
        free(path);
    }
}

static int write_note(const struct postgres_cluster *cluster, const char *name, const char *text, struct err *err)
{
    char *path = fsx_join(cluster->dir, name);
    int result = fsx_write_atomic(path, text, strlen(text), 0600, err);

    free(path);
    return result;
}

static int start_new(struct postgres_cluster *cluster, const struct postgres_start *how, struct err *err)
{
    bool again = true;
    char *segments;
    int result = -1;

    if (postgres_launch_socket_dir(cluster, err) != 0 ||
        write_note(cluster, "started", how->detached ? "kept\n" : "run\n", err) != 0)
        return -1;
    for (int i = 0; i < STARTS && again && result != 0; i++) {
        err_clear(err); /* somebody took the port, or killed it: with another one */
        result = postgres_launch(cluster, how, &again, err);
    }
    if (result != 0) {
        remove_socket_dir(cluster);
        return -1;
    }
    cluster->pid = cluster->child.pid;
    cluster->kept = how->detached;
    cluster->started = true;
    segments = postgres_process_segments(cluster->data);
    result = write_note(cluster, "segments", segments, err);
    free(segments);
    return result;
}

static int stop_locked(struct postgres_cluster *cluster, struct err *err);

static int adopt_or_end(struct postgres_cluster *cluster, struct err *err)
{
    struct err why = {0};
    struct pq pq;

    if (postgres_make_addresses(cluster, err) != 0)
        return -1;
    if (pq_open(&cluster->admin, NULL, "start", &pq, &why) == 0) {
        pq_close(&pq);
        return 0;
    }
    log_line("the private PostgreSQL (process %d) does not answer and is ended: %s", (int)cluster->pid, why.text);
    return stop_locked(cluster, err);
}

static int choose_programs(struct postgres_cluster *cluster, struct err *err)
{
    char *path = fsx_join(cluster->data, "PG_VERSION");
    struct err other = {0};
    char text[32];
    int64_t major = 0;
    int result;

    if (cluster->exists && fsx_read_small(path, text, sizeof text) > 0) {
        text[strcspn(text, "\n")] = '\0';
        (void)text_parse_i64(text, &major);
    }
    free(path);
    postgres_bin_free(&cluster->bin);
    result = postgres_bin_find((int)major, &cluster->bin, err);
    if (result == 0 || major == 0 || postgres_bin_find(0, &cluster->bin, &other) != 0)
        return result;
    /* An upgraded machine: all that the cluster holds can be made again. */
    err_clear(err);
    log_line("the private PostgreSQL was made by version %lld, which is gone: it is made again with %s",
             (long long)major, cluster->bin.version);
    cluster->exists = false;
    return fsx_remove_tree(cluster->dir, err);
}

static int make_if_missing(struct postgres_cluster *cluster, const char *state_dir, struct err *err)
{
    if (postgres_make_clean(cluster, state_dir, err) != 0)
        return -1;
    if (cluster->exists)
        return 0;
    if (fsx_exists(cluster->dir) && rmdir(cluster->dir) != 0)
        return err_set(err, "%s is there and was not made by restbench; use another folder with --state", cluster->dir);
    return postgres_make(cluster, state_dir, err);
}

static int start_locked(struct postgres_cluster *cluster, const char *state_dir, const struct postgres_start *how,
                        struct err *err)
{
    char *made = fsx_join(cluster->dir, "made");

    /* Another process may have made, started or ended it while this one waited for the lock. */
    cluster->exists = fsx_exists(made);
    free(made);
    if (cluster->exists)
        read_running(cluster);
    if (cluster->pid != 0 && adopt_or_end(cluster, err) != 0)
        return -1;
    if (cluster->pid != 0) {
        if (!how->detached || cluster->kept)
            return 0;
        cluster->kept = true;
        return write_note(cluster, "started", "kept\n", err);
    }
    clean_after_killed(cluster);
    if (choose_programs(cluster, err) != 0 || make_if_missing(cluster, state_dir, err) != 0)
        return -1;
    postgres_cluster_bound_log(cluster);
    if (start_new(cluster, how, err) != 0)
        return -1;
    return postgres_make_addresses(cluster, err);
}

int postgres_cluster_start(struct postgres_cluster *cluster, const struct postgres_start *how, struct err *err)
{
    char *state_dir = state_of(cluster);
    int fd = lock(cluster, err);
    int result = fd >= 0 ? start_locked(cluster, state_dir, how, err) : -1;

    if (result == 0)
        result = postgres_make_roles(cluster, err);
    if (fd >= 0)
        (void)close(fd);
    free(state_dir);
    return result;
}

static bool signal_and_wait(struct postgres_cluster *cluster, int signal, int64_t timeout_ns)
{
    /* Not by child_wait(): it ends early when a run is interrupted, and this is what an interrupted run does. */
    if (kill(cluster->pid, signal) != 0)
        return true;
    (void)kill(cluster->pid, SIGCONT); /* one that somebody stopped would not even see it */
    return postgres_process_wait(cluster->pid, timeout_ns);
}

static int stop_locked(struct postgres_cluster *cluster, struct err *err)
{
    static const char *const notes[] = {"segments", "started"};
    char *segments = NULL;
    bool clean = true;

    if (cluster->pid != 0) {
        segments = postgres_process_segments(cluster->data);
        /*
         * Its last checkpoint may take long; who pressed Ctrl-C does not wait for it, and it recovers by itself. One
         * that is asked for a fast shutdown while it recovers from a crash may wait for its checkpointer for ever.
         */
        bool hasty = child_cancelled() || cluster->crashed;

        clean = signal_and_wait(cluster, SIGINT, hasty ? HASTY_LIMIT_NS : FAST_LIMIT_NS);
        if (!clean && !hasty)
            log_line("PostgreSQL (process %d) did not stop within %d s; it is ended at once", (int)cluster->pid,
                     (int)(FAST_LIMIT_NS / CLOCK_NS_PER_S));
        if (!clean)
            (void)signal_and_wait(cluster, SIGQUIT, IMMEDIATE_LIMIT_NS);
    }
    child_close(&cluster->child);
    clean_after_killed(cluster);
    if (segments != NULL)
        postgres_process_remove_segments(segments);
    free(segments);
    remove_socket_dir(cluster);
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        char *path = fsx_join(cluster->dir, notes[i]);

        (void)unlink(path);
        free(path);
    }
    if (cluster->pid != 0 && postgres_process_is(cluster->pid, cluster->data))
        return err_set(err, "PostgreSQL (process %d) cannot be ended", (int)cluster->pid);
    cluster->pid = 0;
    cluster->started = false;
    cluster->kept = false;
    return 0;
}

int postgres_cluster_stop(struct postgres_cluster *cluster, struct err *err)
{
    int fd = lock(cluster, err);
    int result;

    if (fd < 0)
        return -1;
    if (!cluster->started)
        read_running(cluster);
    result = stop_locked(cluster, err);
    (void)close(fd);
    return result;
}

void postgres_cluster_free(struct postgres_cluster *cluster)
{
    struct err err = {0};

    if (cluster->started && !cluster->kept && postgres_cluster_stop(cluster, &err) != 0)
        log_error("%s", err.text);
    child_detach(&cluster->child);
    pq_address_free(&cluster->admin);
    pq_address_free(&cluster->owner);
    pq_address_free(&cluster->server);
    postgres_bin_free(&cluster->bin);
    free(cluster->socket_dir);
    free(cluster->dir);
    free(cluster->data);
    free(cluster->log);
    *cluster = (struct postgres_cluster){0};
}
