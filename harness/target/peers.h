/*
 * peers - does a server make its answers itself? A test server talks to its clients and to the database; one that
 * passes its requests on to a process that we did not start would be measured without that process's CPU and memory.
 */
#ifndef TARGET_PEERS_H
#define TARGET_PEERS_H

#include <stdint.h>

#include "base/err.h"

struct database;
struct server;

/*
 * Looks now and then while a server is asked: a connection to somebody else shows only while it is open. Fill in
 * `server` and `database` (NULL: none), call peers_look() between requests as often as is handy and peers_check() at
 * the end. A look walks /proc of the whole machine: never inside a measured window.
 */
struct peers {
    const struct server *server;
    const struct database *database;
    int64_t looked_ns;
    struct err found; /* the first stranger; kind ERR_NONE: none so far */
};

/* Looks unless the last look was a moment ago. */
void peers_look(struct peers *peers);

/*
 * Looks. 0 when every TCP connection that the server's processes held at any look led to a client, to the database or
 * to one of themselves, or when it cannot be told. -1 (ERR_FAILED): the error names the process at the other end.
 */
int peers_check(struct peers *peers, struct err *err);

#endif
