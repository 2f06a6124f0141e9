/*
 * postgres_cluster - the private PostgreSQL of a state folder: made once, started, adopted, stopped.
 *
 *   STATE/pg/data       the cluster: the distribution's PostgreSQL with its default configuration; only what it listens
 *                       on is ours (127.0.0.1, a free port, a socket in a private folder), given on its command line
 *   STATE/pg/pgpass     passwords in libpq's own format, mode 0600
 *   STATE/pg/log        what the postmaster writes, cut when it grows
 *   STATE/pg/made       who made this; a folder without it is not ours and never touched
 *   STATE/pg/started    why it runs: "kept" (db start: stays) or "run" (whoever finds it may end it)
 *
 * Made under a temporary name and renamed when whole, so that an initdb that was killed never stands in the way. Three
 * roles: postgres (ours), restbench (owns the database; what `db url` prints) and restbench_server (what a server gets,
 * a member of restbench), so that a server's connections can be told from everybody else's.
 *
 * Sequence: postgres_cluster_find(), then _start(), _stop() or neither, then _free(). When root calls, an unprivileged
 * user owns and runs it. A lock serialises these calls between processes. _free() ends what _start() started unless it
 * was detached.
 */
#ifndef TARGET_POSTGRES_CLUSTER_H
#define TARGET_POSTGRES_CLUSTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "machine/child.h"
#include "target/postgres_bin.h"
#include "target/pq.h"

#define POSTGRES_DATABASE "restbench"
#define POSTGRES_OWNER "restbench"
#define POSTGRES_SERVER "restbench_server"

struct postgres_cluster {
    char *dir;  /* STATE/pg */
    char *data; /* STATE/pg/data */
    char *log;
    struct postgres_bin bin;
    struct child_user user; /* who runs it */
    bool other_user;        /* than us: we are root */
    bool exists;
    pid_t pid; /* of the postmaster; 0: not running */
    int port;
    char *socket_dir;
    bool kept;          /* `db start` started it */
    bool started;       /* this process started it */
    bool crashed;       /* perhaps recovering: not to be asked nicely for long when it is stopped */
    struct child child; /* when it did */
    /* Filled when it runs. */
    struct pq_address admin;
    struct pq_address owner;
    struct pq_address server;
};

/* How it is started; all may be left out. */
struct postgres_start {
    const struct cpus *cpus;
    const struct cgroup *cgroup;
    bool detached; /* outlives this process */
};

/* Fills what there is; nothing is changed. */
int postgres_cluster_find(const char *state_dir, struct postgres_cluster *cluster, struct err *err);
/* Makes it when it is missing, cleans up after a killed one, adopts one that runs, else starts it. */
int postgres_cluster_start(struct postgres_cluster *cluster, const struct postgres_start *how, struct err *err);
/* Fast shutdown, then an immediate one, then SIGKILL, each with a limit. Not running is no error. */
int postgres_cluster_stop(struct postgres_cluster *cluster, struct err *err);
void postgres_cluster_free(struct postgres_cluster *cluster);

/* Cuts the log when it has grown beyond its limit; cheap. */
void postgres_cluster_bound_log(const struct postgres_cluster *cluster);

/* What follows is between postgres_cluster.c, _make.c, _way.c and _launch.c. */

/*
 * How the cluster's user comes to its folder. A folder above it may be closed to that user (a private checkout, root's
 * home): then the folder's descriptor is handed down, and PostgreSQL works in /proc/self/fd/N.
 */
struct postgres_way {
    char *dir;  /* the folder as the child names it */
    char *data; /* its data folder */
    int fd;     /* -1: by its plain name */
    struct child_fd pass;
};

bool postgres_way_is_plain(const struct postgres_cluster *cluster);
int postgres_way_open(const struct postgres_cluster *cluster, const char *dir, struct postgres_way *way,
                      struct err *err);
void postgres_way_close(struct postgres_way *way);

/* Makes the folder of the socket, or finds it again. */
int postgres_launch_socket_dir(struct postgres_cluster *cluster, struct err *err);
/* Starts the postmaster and waits until it accepts; *again: it failed because somebody took its port. */
int postgres_launch(struct postgres_cluster *cluster, const struct postgres_start *how, bool *again, struct err *err);

/* Makes dir with data, passwords and mark, under a temporary name first. */
int postgres_make(struct postgres_cluster *cluster, const char *state_dir, struct err *err);
/* Removes what killed makings left beside `dir`. */
int postgres_make_clean(const struct postgres_cluster *cluster, const char *state_dir, struct err *err);
/* Addresses with the passwords of pgpass. */
int postgres_make_addresses(struct postgres_cluster *cluster, struct err *err);
/* Roles and database, made or put right. */
int postgres_make_roles(const struct postgres_cluster *cluster, struct err *err);

#endif
