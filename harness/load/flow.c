#include "load/flow.h"

#include <errno.h>
#include <string.h>

/* A server that announced the end of a connection is given so long to close it; whoever closes first keeps the
 * TIME_WAIT and the port in it. One that never does so is not waited for any more. */
#define LINGER_NS (10 * CLOCK_NS_PER_MS)
#define LINGER_TRIES 3

#define BACKOFF_NS CLOCK_NS_PER_MS
#define BACKOFF_MAX_NS (100 * CLOCK_NS_PER_MS)

void flow_open(struct worker *worker, struct conn *conn)
{
    struct load_plan *plan = worker->plan;
    int64_t limit_ns = worker->phase == PHASE_ESTABLISH ? plan->establish_ns : plan->timeout_ns;

    conn->state = CONN_CONNECTING;
    conn->ended = false;
    conn->closed_in_order = false;
    conn->fresh = false;
    conn->carried = false;
    conn->opened_ns = worker_now(worker);
    deadline_set(&worker->due, &conn->deadline, conn->opened_ns + limit_ns);
    worker->engine->connect(worker, conn);
}

static void shut(struct worker *worker, struct conn *conn)
{
    worker->engine->drop(worker, conn);
    if (conn->tls != NULL)
        tls_end(conn->tls);
    conn->state = CONN_OFF;
    deadline_set(&worker->due, &conn->deadline, DEADLINE_NEVER);
}

static void back_off(struct worker *worker, struct conn *conn)
{
    int64_t wait_ns = BACKOFF_NS << conn->backoff;

    if (wait_ns > BACKOFF_MAX_NS)
        wait_ns = BACKOFF_MAX_NS;
    else
        conn->backoff++;
    conn->state = CONN_BACKOFF;
    deadline_set(&worker->due, &conn->deadline, worker->now_ns + wait_ns);
}

static void reopen(struct worker *worker, struct conn *conn)
{
    if (!worker_reopens(worker)) {
        shut(worker, conn);
        return;
    }
    if (conn->ended && conn->carried && flow_all_sent(conn) && conn->tls == NULL && worker->engine->redial != NULL)
        worker->engine->redial(worker, conn);
    else
        shut(worker, conn);
    worker->tally->reconnects++;
    flow_open(worker, conn);
}

/* It ended, or became useless, while no request was open. One that never carried an answer is not opened again as fast
 * as we can. */
static void reopen_idle(struct worker *worker, struct conn *conn)
{
    if (conn->carried) {
        reopen(worker, conn);
        return;
    }
    (void)worker_now(worker);
    shut(worker, conn);
    worker->tally->reconnects++;
    if (worker_reopens(worker))
        back_off(worker, conn);
}

/* The answer is complete and the connection carries no other request. */
static void finish(struct worker *worker, struct conn *conn)
{
    if (conn->ended || worker->lingered >= LINGER_TRIES || !worker_reopens(worker)) {
        worker->tally->ended_first += !conn->ended;
        reopen(worker, conn);
        return;
    }
    conn->state = CONN_CLOSING;
    deadline_set(&worker->due, &conn->deadline, worker->now_ns + LINGER_NS);
}

static void fail(struct worker *worker, struct conn *conn, enum load_error error)
{
    (void)worker_now(worker);
    worker->tally->errors[error]++;
    worker->open--;
    conn->state = CONN_IDLE;
    reopen(worker, conn);
}

void flow_unsent(struct worker *worker, struct conn *conn)
{
    flow_start_undo(worker, conn);
    conn->state = CONN_IDLE;
    reopen_idle(worker, conn);
}

static void open_next(struct worker *worker)
{
    if (worker->to_open < worker->conn_count)
        flow_open(worker, &worker->conns[worker->to_open++]);
}

void flow_connected(struct worker *worker, struct conn *conn)
{
    int64_t now_ns = worker_now(worker);

    histogram_record(&worker->connect, now_ns - conn->opened_ns);
    conn->state = CONN_IDLE;
    deadline_set(&worker->due, &conn->deadline, DEADLINE_NEVER);
    if (worker->phase == PHASE_ESTABLISH) {
        worker->established += !conn->established;
        conn->established = true;
        if (worker->established == worker->conn_count)
            worker_report(worker, PHASE_READY);
        else
            open_next(worker);
    } else if (flow_start(worker, conn)) {
        worker->engine->send(worker, conn);
    }
}

void flow_connect_failed(struct worker *worker, struct conn *conn, int error)
{
    (void)worker_now(worker);
    shut(worker, conn);
    if (worker->phase == PHASE_ESTABLISH) {
        (void)err_set(&worker->err, "%s", strerror(error));
        worker_report(worker, PHASE_FAILED);
        return;
    }
    if (worker->budget > 0) {
        worker->budget--;
        worker->tally->started++;
        worker->tally->errors[LOAD_CONNECT]++;
    }
    if (worker_reopens(worker))
        back_off(worker, conn);
}

/* A 2xx answer that is all it should be. */
static enum flow succeed(struct worker *worker, struct conn *conn, bool reusable)
{
    histogram_record(&worker->tally->latency, worker->now_ns - conn->start_ns);
    conn->ok += worker->counting;
    worker->open--;
    conn->state = CONN_IDLE;
    conn->carried = true;
    conn->backoff = 0;
    if (reusable && !conn->ended)
        return FLOW_NEXT;
    finish(worker, conn);
    return FLOW_DOWN;
}

/* A complete answer, of whatever kind; `extra`: bytes came behind it. */
static enum flow answered(struct worker *worker, struct conn *conn, bool extra)
{
    const struct http_answer *answer = &conn->answer;
    bool early = !flow_all_sent(conn);
    bool reusable = http_answer_reusable(answer) && !early && !worker->plan->close;
    int64_t now_ns = worker_now(worker);
    unsigned class = answer->status / 100;
    int expected = conn->request->expected_status;

    worker->tally->interim += answer->interim;
    worker->last_answer_ns = now_ns;
    if (now_ns - conn->written_ns > worker->plan->timeout_ns) {
        fail(worker, conn, LOAD_TIMEOUT);
        return FLOW_DOWN;
    }
    if (extra) {
        fail(worker, conn, LOAD_MALFORMED);
        return FLOW_DOWN;
    }
    if (class == 2 && (expected == 0 || expected == answer->status) &&
        (!conn->checked || http_body_matches(&conn->body)))
        return succeed(worker, conn, reusable);
    if (class == 2) {
        worker->tally->errors[LOAD_MISMATCH]++;
    } else {
        worker->tally->errors[LOAD_STATUS]++;
        worker->tally->classes[class >= 1 && class <= 5 ? class : 5]++;
    }
    worker->open--;
    conn->state = CONN_IDLE;
    conn->carried = true;
    conn->backoff = 0;
    if (reusable && !conn->ended)
        return FLOW_NEXT;
    /* While the request is still going out there is no end to wait for: the rest is not sent. */
    if (early)
        reopen(worker, conn);
    else
        finish(worker, conn);
    return FLOW_DOWN;
}

enum flow flow_answer(struct worker *worker, struct conn *conn, const char *bytes, size_t len)
{
    bool whole = conn->fresh;
    size_t used;

    if (__builtin_expect(conn->state != CONN_BUSY, 0)) {
        worker->tally->unasked++;
        reopen_idle(worker, conn);
        return FLOW_DOWN;
    }
    if (conn->fresh) {
        int expected = conn->request->expected_status;

        conn->fresh = false;
        if (!conn->checked && flow_all_sent(conn) && http_memo_hit(&worker->memo, conn->request->head, bytes, len) &&
            (expected == 0 || expected == worker->memo.status)) {
            int64_t now_ns = worker_now(worker);

            worker->last_answer_ns = now_ns;
            if (__builtin_expect(now_ns - conn->written_ns <= worker->plan->timeout_ns, 1))
                return succeed(worker, conn, worker->memo.reusable && !worker->plan->close);
            fail(worker, conn, LOAD_TIMEOUT);
            return FLOW_DOWN;
        }
        if (!conn->checked && http_memo_hit_head(&worker->memo, conn->request->head, bytes, len)) {
            conn->answer = worker->memo.at_body;
            return FLOW_WAIT;
        }
        http_answer_begin(&conn->answer, conn->request->head);
        if (conn->checked) {
            conn->body = (struct http_body){conn->request->expected_body, conn->request->expected_len, 0, false};
            conn->answer.body = &conn->body;
        }
    }
    switch (http_answer_feed(&conn->answer, bytes, len, &used)) {
    case HTTP_ANSWER_MORE:
        if (whole && http_answer_skippable(&conn->answer) > 0)
            http_memo_keep(&worker->memo, &conn->answer, bytes, len);
        return FLOW_WAIT;
    case HTTP_ANSWER_DONE:
        if (whole && used == len)
            http_memo_keep(&worker->memo, &conn->answer, bytes, len);
        return answered(worker, conn, used < len);
    default:
        fail(worker, conn, LOAD_MALFORMED);
        return FLOW_DOWN;
    }
}

enum flow flow_skipped(struct worker *worker, struct conn *conn, size_t len)
{
    uint64_t left = http_answer_skippable(&conn->answer);

    worker->tally->bytes_read += len;
    if (http_answer_skip(&conn->answer, len < left ? len : left) == HTTP_ANSWER_MORE)
        return FLOW_WAIT;
    return answered(worker, conn, len > left);
}

void flow_broken(struct worker *worker, struct conn *conn)
{
    if (conn->state == CONN_BUSY)
        fail(worker, conn, LOAD_MALFORMED);
    else
        reopen_idle(worker, conn);
}

void flow_end(struct worker *worker, struct conn *conn, int error)
{
    conn->ended = true;
    switch (conn->state) {
    case CONN_CONNECTING:
    case CONN_HANDSHAKE:
        flow_connect_failed(worker, conn, error != 0 ? error : ECONNRESET);
        break;
    case CONN_BUSY:
        if (conn->fresh)
            fail(worker, conn, LOAD_CLOSED);
        else if (error == 0 && (conn->tls == NULL || conn->closed_in_order) &&
                 http_answer_end(&conn->answer) == HTTP_ANSWER_DONE)
            (void)answered(worker, conn, false);
        else
            fail(worker, conn, LOAD_TRUNCATED);
        break;
    case CONN_CLOSING:
        worker->lingered = 0;
        reopen(worker, conn);
        break;
    case CONN_IDLE:
        reopen_idle(worker, conn);
        break;
    default:
        break;
    }
}

void flow_due(struct worker *worker, struct conn *conn)
{
    switch (conn->state) {
    case CONN_CONNECTING:
    case CONN_HANDSHAKE:
        flow_connect_failed(worker, conn, ETIMEDOUT);
        break;
    case CONN_BUSY:
        fail(worker, conn, LOAD_TIMEOUT);
        break;
    case CONN_CLOSING:
        worker->lingered++;
        worker->tally->ended_first++;
        reopen(worker, conn);
        break;
    case CONN_BACKOFF:
        conn->state = CONN_OFF;
        if (worker_reopens(worker))
            flow_open(worker, conn);
        break;
    default:
        break;
    }
}
