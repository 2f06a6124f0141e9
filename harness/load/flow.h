/*
 * flow - what happens to a connection: which request is next, what an answer or its absence counts as, and whether the
 * connection goes on. Engine-independent; called by engines in their worker's thread.
 *
 * One request on the wire counts exactly once: as ok, as one of enum load_error, or as in flight at the end. Nothing
 * is ever sent a second time, but a request of which no byte was written (flow_unsent) has not been sent.
 */
#ifndef LOAD_FLOW_H
#define LOAD_FLOW_H

#include "load/worker.h"

enum flow {
    FLOW_WAIT, /* the answer is not complete */
    FLOW_NEXT, /* answered, the connection is idle: flow_start() */
    FLOW_DOWN, /* the connection has been closed, or the flow waits for its end */
};

/* Begins to open a connection that is off. */
void flow_open(struct worker *worker, struct conn *conn);
/*
 * Gives an idle connection its next request; true: the engine is to send it. In an open loop a connection for which
 * nothing is due joins the queue of idle ones.
 */
bool flow_start(struct worker *worker, struct conn *conn);
/* The TCP connection is open: on to TLS where the URL says so, else flow_connected(). */
void flow_opened(struct worker *worker, struct conn *conn);
/* The connection is open: it gets its first request, through engine->send, when requests are due. */
void flow_connected(struct worker *worker, struct conn *conn);
/*
 * For engines that see by sending whether a connection is open: begins a request on one that may be. True: the engine
 * sends it and calls flow_start_kept(), or, when not a byte could be written, flow_start_undo(): it is connecting
 * again.
 */
bool flow_start_early(struct worker *worker, struct conn *conn);
void flow_start_kept(struct worker *worker, struct conn *conn);
void flow_start_undo(struct worker *worker, struct conn *conn);
void flow_connect_failed(struct worker *worker, struct conn *conn, int error);
enum flow flow_answer(struct worker *worker, struct conn *conn, const char *bytes, size_t len);
/* What lay in conn->out has been sent; true: there is more in it now. Only with TLS. */
bool flow_refill(struct worker *worker, struct conn *conn);
/* What came is not what it should be, beneath HTTP. */
void flow_broken(struct worker *worker, struct conn *conn);
void flow_end(struct worker *worker, struct conn *conn, int error);
void flow_unsent(struct worker *worker, struct conn *conn);
/* Open loop: sends what is due on idle connections. */
void flow_pump(struct worker *worker);
/* Open loop: when flow_pump() has something to do; INT64_MAX: never. */
int64_t flow_pump_ns(struct worker *worker);
/* Its deadline has come. */
void flow_due(struct worker *worker, struct conn *conn);

/* True when the whole request has gone out. */
static inline bool flow_all_sent(const struct conn *conn)
{
    return conn->sent == conn->out_len && conn->taken == conn->request->len;
}

/*
 * For engines that can leave bytes in the kernel: how many bytes to ask for next. `*skip`: they are only counted, with
 * flow_skipped() instead of flow_received(). More than the rest of the body is asked for, so that bytes behind it show.
 */
#define FLOW_SKIP_AT_ONCE ((size_t)1 << 30)
static inline size_t flow_wanted(const struct worker *worker, const struct conn *conn, bool *skip)
{
    *skip = false;
    if (conn->state != CONN_BUSY || conn->checked || conn->tls != NULL)
        return WORKER_BUFFER;
    if (conn->fresh)
        return worker->memo.fetch_head ? worker->memo.prefix : WORKER_BUFFER;
    *skip = http_answer_skippable(&conn->answer) >= HTTP_MEMO_LARGE;
    return *skip ? FLOW_SKIP_AT_ONCE : WORKER_BUFFER;
}
enum flow flow_skipped(struct worker *worker, struct conn *conn, size_t len);

/* Parts of flow_tls.c. */
void flow_tls_begin_request(struct conn *conn);
enum flow flow_tls_received(struct worker *worker, struct conn *conn, const char *bytes, size_t len);

/* Bytes from the wire; the engine's entry. */
static inline enum flow flow_received(struct worker *worker, struct conn *conn, const char *bytes, size_t len)
{
    worker->tally->bytes_read += len;
    if (__builtin_expect(conn->tls != NULL, 0))
        return flow_tls_received(worker, conn, bytes, len);
    return flow_answer(worker, conn, bytes, len);
}

#endif
