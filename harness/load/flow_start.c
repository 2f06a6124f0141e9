#include "load/flow.h"

/* Gives a connection the next request, which should have started at `intended_ns`. */
static void begin(struct worker *worker, struct conn *conn, int64_t intended_ns)
{
    struct load_plan *plan = worker->plan;

    worker->budget--;
    worker->open++;
    worker->tally->started++;
    conn->request = request_next(plan->requests, plan->order, plan->order_len, &worker->next_request);
    conn->state = CONN_BUSY;
    conn->fresh = true;
    if (conn->tls != NULL) {
        flow_tls_begin_request(conn);
    } else {
        conn->out = conn->request->bytes;
        conn->out_len = conn->request->len;
        conn->taken = conn->request->len;
        conn->sent = 0;
    }
    conn->start_ns = intended_ns;
    conn->written_ns = worker->now_ns;
    conn->checked = false;
    if (plan->check_every != 0 && --worker->until_check == 0) {
        worker->until_check = plan->check_every;
        conn->checked = conn->request->expected_body != NULL;
    }
    deadline_set(&worker->due, &conn->deadline, conn->written_ns + plan->timeout_ns);
}

/* The connection that has been idle for longest; NULL: none is. */
static struct conn *first_idle(struct worker *worker)
{
    while (worker->idle_count > 0) {
        struct conn *conn = worker->idle[worker->idle_first];

        if (conn->state == CONN_IDLE)
            return conn;
        conn->queued = false;
        worker->idle_first = worker->idle_first + 1 == worker->conn_count ? 0 : worker->idle_first + 1;
        worker->idle_count--;
    }
    return NULL;
}

static void queue_idle(struct worker *worker, struct conn *conn)
{
    if (conn->queued)
        return;
    conn->queued = true;
    worker->idle[(worker->idle_first + worker->idle_count++) % worker->conn_count] = conn;
}

/* What waited for longer than a timeout is not sent any more. */
static void skip_missed(struct worker *worker)
{
    while (worker->now_ns - worker->schedule.due_ns > worker->plan->timeout_ns) {
        worker->tally->missed++;
        schedule_next(&worker->schedule);
    }
}

bool flow_start(struct worker *worker, struct conn *conn)
{
    if (worker->budget == 0)
        return false;
    if (worker->plan->rate > 0) {
        int64_t intended_ns;

        skip_missed(worker);
        intended_ns = worker->schedule.due_ns;
        if (intended_ns > worker->now_ns || first_idle(worker) != NULL) {
            queue_idle(worker, conn);
            return false;
        }
        schedule_next(&worker->schedule);
        begin(worker, conn, intended_ns);
        return true;
    }
    begin(worker, conn, worker->now_ns);
    return true;
}

bool flow_start_early(struct worker *worker, struct conn *conn)
{
    (void)worker_now(worker);
    if (worker->budget == 0 || worker->plan->rate > 0 || conn->tls != NULL)
        return false;
    begin(worker, conn, worker->now_ns);
    return true;
}

void flow_start_kept(struct worker *worker, struct conn *conn)
{
    histogram_record(&worker->connect, conn->connected_ns - conn->opened_ns);
}

void flow_start_undo(struct worker *worker, struct conn *conn)
{
    worker->budget++;
    worker->open--;
    worker->tally->started--;
    if (worker->plan->order != NULL)
        worker->next_request = (worker->next_request == 0 ? worker->plan->order_len : worker->next_request) - 1;
    worker->until_check += worker->plan->check_every != 0;
    conn->state = CONN_CONNECTING;
    deadline_set(&worker->due, &conn->deadline, conn->opened_ns + worker->plan->timeout_ns);
}

int64_t flow_pump_ns(struct worker *worker)
{
    if (worker->budget == 0 || first_idle(worker) == NULL)
        return INT64_MAX;
    return schedule_when_ns(&worker->schedule);
}

void flow_pump(struct worker *worker)
{
    while (flow_pump_ns(worker) <= worker->now_ns) {
        struct conn *conn = first_idle(worker);
        int64_t intended_ns;

        skip_missed(worker);
        intended_ns = worker->schedule.due_ns;
        if (intended_ns > worker->now_ns)
            return;
        schedule_next(&worker->schedule);
        schedule_paced(&worker->schedule, worker->now_ns);
        begin(worker, conn, intended_ns);
        worker->engine->send(worker, conn);
        (void)worker_now(worker);
    }
}
