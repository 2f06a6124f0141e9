#include <errno.h>

#include "load/flow.h"

/* Of a request, encrypted at a time. */
#define PIECE ((size_t)256 * 1024)

/* OpenSSL may have moved or added to what is to be sent. */
static void take_out(struct conn *conn)
{
    conn->out = tls_out(conn->tls, &conn->out_len);
}

static bool encrypt_piece(struct conn *conn)
{
    const struct request *request = conn->request;
    size_t take = request->len - conn->taken < PIECE ? request->len - conn->taken : PIECE;

    /* When OpenSSL refuses, the connection is broken and its reading side says so. */
    if (take == 0 || tls_write(conn->tls, request->bytes + conn->taken, take) != 0)
        return false;
    conn->taken += take;
    take_out(conn);
    return true;
}

void flow_tls_begin_request(struct conn *conn)
{
    /* The end of the handshake may still be on its way out. */
    if (conn->sent == conn->out_len) {
        tls_sent_all(conn->tls);
        conn->sent = 0;
    }
    conn->taken = 0;
    take_out(conn);
    (void)encrypt_piece(conn);
}

bool flow_refill(struct worker *worker, struct conn *conn)
{
    (void)worker;
    tls_sent_all(conn->tls);
    conn->sent = 0;
    take_out(conn);
    if (conn->state == CONN_BUSY)
        (void)encrypt_piece(conn);
    return conn->out_len > 0;
}

void flow_opened(struct worker *worker, struct conn *conn)
{
    if (conn->tls == NULL) {
        flow_connected(worker, conn);
        return;
    }
    conn->state = CONN_HANDSHAKE;
    conn->sent = 0;
    if (tls_begin(conn->tls) != 0) {
        flow_connect_failed(worker, conn, EPROTO);
        return;
    }
    take_out(conn);
    worker->engine->send(worker, conn);
}

static enum flow failed(struct worker *worker, struct conn *conn)
{
    if (conn->state != CONN_HANDSHAKE) {
        flow_broken(worker, conn);
        return FLOW_DOWN;
    }
    if (worker->phase == PHASE_ESTABLISH)
        (void)err_set(&worker->err, "%s", tls_why(conn->tls));
    flow_connect_failed(worker, conn, EPROTO);
    return FLOW_DOWN;
}

static bool is_up(const struct conn *conn)
{
    return conn->state == CONN_BUSY || conn->state == CONN_IDLE || conn->state == CONN_CLOSING;
}

enum flow flow_tls_received(struct worker *worker, struct conn *conn, const char *bytes, size_t len)
{
    enum flow next = FLOW_WAIT;
    size_t total = 0;

    for (;;) {
        size_t got;
        enum tls_result result = tls_receive(conn->tls, bytes, len, worker->plain + total, WORKER_BUFFER - total, &got);

        len = 0;
        total += got;
        if (result == TLS_DATA && total < WORKER_BUFFER)
            continue;
        if (result == TLS_FAILED)
            return failed(worker, conn);
        conn->closed_in_order = result == TLS_CLOSED;
        conn->ended |= conn->closed_in_order;
        if (total > 0) {
            next = flow_answer(worker, conn, worker->plain, total);
            total = 0;
            if (next == FLOW_DOWN)
                return next;
        }
        if (result == TLS_CLOSED) {
            flow_end(worker, conn, 0);
            return FLOW_DOWN;
        }
        take_out(conn);
        if (conn->sent < conn->out_len && next != FLOW_NEXT)
            worker->engine->send(worker, conn);
        if (result == TLS_OPEN) {
            flow_connected(worker, conn);
            if (!is_up(conn))
                return FLOW_DOWN;
        }
        if (result == TLS_MORE)
            return next;
    }
}
