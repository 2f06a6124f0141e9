/*
 * server - the life of a test server: started in its own process group and cgroup, pinned before exec, found ready when
 * its port accepts and the listening socket belongs to its process tree, stopped, and its port free again.
 *
 *   1. server_start(): the port must be free before; returns when it is ready, or with what it did instead and the last
 *      lines of its log
 *   2. server_is_alive() between phases; server_pids() for whoever samples
 *   3. server_stop(): SIGTERM, then SIGKILL to all that is left; the port is free afterwards or there is an error
 *
 * An observed row (row_is_observed) is somebody else's server: never started, pinned or stopped; the variable of its
 * recipe names it. struct server may not be moved between start and stop.
 */
#ifndef TARGET_SERVER_H
#define TARGET_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "machine/child.h"
#include "machine/listener.h"
#include "target/row.h"

struct place;

struct server_spec {
    const struct row *row;     /* built: row->build_dir */
    const char *log_path;      /* replaced; bounded */
    const char *database_url;  /* NULL: a study without a database */
    const char *jwt_secret;    /* NULL: no security */
    int64_t pool;              /* DB_POOL */
    const struct place *place; /* where it lives */
};

struct server {
    const struct row *row;
    struct child child; /* pid 0 for an observed server */
    char *url;          /* "http://127.0.0.1:PORT" */
    int port;
    double startup_s; /* from exec until the port accepted; NAN when observed */
    char *log_path;
    const struct place *place;
    char *user; /* who it runs as; NULL: who restbench runs as */
};

int server_start(const struct server_spec *spec, struct server *server, struct err *err);
/* False when it ended; then `how` (of `size` bytes) says it: "exited 1; log: ...". True for an observed one. */
bool server_is_alive(struct server *server, char *how, size_t size);
/* Its processes: the tree, its session, its cgroup. The array is the caller's. */
size_t server_pids(const struct server *server, pid_t **pids);
/* Whose sockets the port has now. -1: cannot be told. */
int server_listener(const struct server *server, struct listener_verdict *verdict);
/* Also frees; a zeroed one is fine. The error is about processes or a port that could not be freed. */
int server_stop(struct server *server, struct err *err);

#endif
