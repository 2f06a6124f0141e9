/*
 * engine - how bytes move: the five operations that a worker needs of epoll or io_uring.
 *
 * All but open() belong to the worker's own thread. What happens to a connection is decided in flow.c; an engine calls
 *   flow_opened / flow_connect_failed      when an attempt that connect() began has ended
 *   flow_received                           with what it received
 *   flow_end                               when the connection ended (0: FIN, else errno)
 *   flow_unsent                            when a request could not be written, not even one byte of it
 */
#ifndef LOAD_ENGINE_H
#define LOAD_ENGINE_H

#include <stdint.h>

#include "base/err.h"

struct worker;
struct conn;

struct engine {
    const char *name;
    /* Takes what it needs of the system; the main thread does so for all workers before any of them begins. */
    int (*open)(struct worker *worker, struct err *err);
    /* In the worker's thread; NULL: nothing to do. */
    int (*begin)(struct worker *worker, struct err *err);
    void (*close)(struct worker *worker);
    /* Begins to open a connection that is off. */
    void (*connect)(struct worker *worker, struct conn *conn);
    /* Writes the request that the connection holds, the rest when the peer takes it. */
    void (*send)(struct worker *worker, struct conn *conn);
    /* Closes the socket; nothing more is reported for it. */
    void (*drop)(struct worker *worker, struct conn *conn);
    /* Instead of drop() when the peer has ended a connection that has nothing more to read or to write: connect()
     * follows. NULL: drop(). */
    void (*redial)(struct worker *worker, struct conn *conn);
    /* Waits until `until_ns` (CLOCK_MONOTONIC) at most, or a wake-up, and handles what came. */
    void (*turn)(struct worker *worker, int64_t until_ns);
};

extern const struct engine engine_epoll;
extern const struct engine engine_uring;

#endif
