#include "target/postgres_cluster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/port.h"
#include "target/postgres_process.h"

#define READY_LIMIT_NS (120 * CLOCK_NS_PER_S)
#define STEP_NS (20 * CLOCK_NS_PER_MS)
#define LOG_LIMIT (16 << 20)
#define SOCKET_PATH_LIMIT 107 /* bytes of sun_path */

/* Ours alone, and short enough for a socket's name: beside the data, else in /tmp under a name that is found again. */
int postgres_launch_socket_dir(struct postgres_cluster *cluster, struct err *err)
{
    struct stat status;
    uid_t uid = cluster->other_user ? cluster->user.uid : geteuid();
    char hash[FSX_SHA256_SIZE];

    free(cluster->socket_dir);
    cluster->socket_dir = fsx_join(cluster->dir, "socket");
    /* PostgreSQL reads a comma as the end of a name in its list. */
    if (!postgres_way_is_plain(cluster) ||
        strlen(cluster->socket_dir) + strlen("/.s.PGSQL.65535.lock") > SOCKET_PATH_LIMIT ||
        strpbrk(cluster->socket_dir, ",\"") != NULL) {
        fsx_sha256(cluster->dir, strlen(cluster->dir), hash);
        free(cluster->socket_dir);
        cluster->socket_dir = text_format("/tmp/restbench-%u-%.16s", (unsigned)uid, hash);
    }
    if (mkdir(cluster->socket_dir, 0700) == 0) {
        if (cluster->other_user && chown(cluster->socket_dir, uid, cluster->user.gid) != 0)
            return err_sys(err, "%s", cluster->socket_dir);
        return 0;
    }
    if (errno != EEXIST)
        return err_sys(err, "%s: no folder for the socket", cluster->socket_dir);
    if (lstat(cluster->socket_dir, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != uid ||
        (status.st_mode & 077) != 0)
        return err_set(err, "%s: in the way of the socket's folder, and not ours; remove it", cluster->socket_dir);
    return 0;
}

/* The folder is another user's: a link there must not lead us elsewhere. */
static int open_log(const struct postgres_cluster *cluster)
{
    return open(cluster->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void postgres_cluster_bound_log(const struct postgres_cluster *cluster)
{
    struct stat status;
    int fd;

    if (stat(cluster->log, &status) != 0 || status.st_size <= LOG_LIMIT)
        return;
    fd = open_log(cluster);
    if (fd >= 0 && ftruncate(fd, 0) == 0)
        log_detail("%s: was %lld bytes long, and was emptied", cluster->log, (long long)status.st_size);
    if (fd >= 0)
        (void)close(fd);
}

/* Of a process that the postmaster cannot do without. */
static const char by_signal[] = "was terminated by signal";

/* The last line that says why, from what was written since `from`; the caller's. */
static char *log_reason(const struct postgres_cluster *cluster, off_t from)
{
    struct text reason = {0};
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    bool fatal = false;
    FILE *log = fopen(cluster->log, "re");

    if (log != NULL && fseeko(log, from, SEEK_SET) == 0)
        while ((len = getline(&line, &size, log)) > 0) {
            bool says =
                strstr(line, "FATAL:") != NULL || strstr(line, "PANIC:") != NULL || strstr(line, by_signal) != NULL;

            if (fatal && !says)
                continue;
            fatal = says;
            text_clear(&reason);
            text_add_visible(&reason, line, (size_t)len - (line[len - 1] == '\n'));
        }
    free(line);
    if (log != NULL)
        (void)fclose(log);
    return text_take(&reason);
}

static int launch(struct postgres_cluster *cluster, const struct postgres_start *how, int log, struct err *err)
{
    struct postgres_way way;
    struct env env = {0};
    char *program = postgres_bin_program(&cluster->bin, "postgres");
    char *port = text_format("%d", cluster->port);
    int result = program != NULL ? postgres_way_open(cluster, cluster->dir, &way, err)
                                 : err_set(err, "%s: no postgres there", cluster->bin.dir);

    if (result == 0) {
        const char *argv[] = {program,
                              "-D",
                              way.data,
                              "-p",
                              port,
                              "-k",
                              cluster->socket_dir,
                              "-c",
                              "listen_addresses=127.0.0.1",
                              "-c",
                              "unix_socket_permissions=0700",
                              NULL};
        struct child_spec spec = {
            .argv = argv,
            .env = &env,
            .out = {.kind = CHILD_FD, .fd = log},
            .err = {.kind = CHILD_SAME},
            .fds = &way.pass,
            .fd_count = way.fd >= 0 ? 1 : 0,
            .cpus = how->cpus,
            .cgroup = how->cgroup,
            .user = cluster->other_user ? &cluster->user : NULL,
        };

        env_basic(&env);
        env_set(&env, "HOME", "/");
        result = child_start(&spec, &cluster->child, err);
        postgres_way_close(&way);
        env_free(&env);
    }
    free(port);
    free(program);
    return result;
}

/* 0: accepts connections; 1: it ended before that. */
static int wait_ready(struct postgres_cluster *cluster, struct err *err)
{
    int64_t deadline_ns = clock_mono_ns() + READY_LIMIT_NS;
    struct postgres_pidfile file;

    while (clock_mono_ns() < deadline_ns) {
        if (child_wait(&cluster->child, STEP_NS))
            return 1;
        if (child_cancelled())
            return err_set(err, "PostgreSQL: its start was interrupted");
        if (postgres_pidfile_read(cluster->data, &file) == 0 && file.pid == cluster->child.pid && file.ready)
            return 0;
    }
    return err_set(err, "PostgreSQL in %s was not ready within %d s; its log: %s", cluster->data,
                   (int)(READY_LIMIT_NS / CLOCK_NS_PER_S), cluster->log);
}

int postgres_launch(struct postgres_cluster *cluster, const struct postgres_start *how, bool *again, struct err *err)
{
    int log = open_log(cluster);
    off_t before = log >= 0 ? lseek(log, 0, SEEK_END) : 0;
    char *reason;
    int ready;

    *again = false;
    if (log < 0)
        return err_sys(err, "%s", cluster->log);
    cluster->port = port_choose();
    if (cluster->port == 0) {
        (void)close(log);
        return err_set(err, "no free port on 127.0.0.1 for PostgreSQL");
    }
    ready = launch(cluster, how, log, err);
    (void)close(log);
    if (ready != 0)
        return -1;
    ready = wait_ready(cluster, err);
    if (ready == 0)
        return 0;
    if (ready > 0) {
        reason = log_reason(cluster, before);
        *again = strstr(reason, "could not create any TCP/IP sockets") != NULL || strstr(reason, by_signal) != NULL ||
                 cluster->child.status.signal != 0;
        (void)err_set(err, "PostgreSQL does not start in %s (%s): %s; its log: %s", cluster->data,
                      child_status_text(&cluster->child), reason, cluster->log);
        free(reason);
    }
    child_close(&cluster->child);
    return -1;
}
