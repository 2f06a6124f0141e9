#include "load/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/text.h"
#include "load/flow.h"

/* Connections that are being established at once, per worker: more would only wait in the server's queue. */
#define ESTABLISH_AT_ONCE 64

/* A counted run in which nothing is answered for so long will not reach its count. */
#define SILENCE_TIMEOUTS 15
#define SILENCE_LEAST_NS (30 * CLOCK_NS_PER_S)

static struct conn *conn_of(struct deadline *deadline)
{
    return (struct conn *)((char *)deadline - offsetof(struct conn, deadline));
}

static void add_uint64(int fd)
{
    uint64_t one = 1;

    /* An eventfd of ours: full or not, its reader wakes up. */
    (void)!write(fd, &one, sizeof one);
}

int worker_init(struct worker *worker, struct load_plan *plan, unsigned number, uint32_t conn_count, struct err *err)
{
    memset(worker, 0, sizeof *worker);
    worker->plan = plan;
    worker->number = number;
    worker->conn_count = conn_count;
    worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->wake_fd < 0)
        return err_sys(err, "eventfd");
    worker->conns = aligned_alloc(64, conn_count * sizeof *worker->conns);
    if (worker->conns == NULL)
        return err_set(err, "out of memory for %u connections", conn_count);
    memset(worker->conns, 0, conn_count * sizeof *worker->conns);
    for (uint32_t i = 0; i < conn_count; i++) {
        worker->conns[i].fd = -1;
        worker->conns[i].deadline.due_ns = DEADLINE_NEVER;
    }
    worker->buffer = text_alloc(WORKER_BUFFER);
    if (plan->tls) {
        worker->plain = text_alloc(WORKER_BUFFER);
        if (tls_context_new(&plan->tls_options, &worker->tls, err) != 0)
            return -1;
        for (uint32_t i = 0; i < conn_count; i++)
            worker->conns[i].tls = tls_new(worker->tls);
    }
    worker->border_ns = INT64_MAX;
    worker->tally = &worker->warmup;
    worker->until_check = plan->check_every;
    if (plan->order != NULL)
        worker->next_request = number * 7919 % plan->order_len;
    if (plan->rate > 0)
        worker->idle = text_alloc(conn_count * sizeof(struct conn *));
    deadline_heap_init(&worker->due, conn_count);
    return 0;
}

void worker_free(struct worker *worker)
{
    deadline_heap_free(&worker->due);
    for (uint32_t i = 0; worker->conns != NULL && i < worker->conn_count; i++)
        tls_free(worker->conns[i].tls);
    tls_context_free(worker->tls);
    free(worker->conns);
    free(worker->buffer);
    free(worker->plain);
    free(worker->idle);
    if (worker->wake_fd >= 0)
        (void)close(worker->wake_fd);
    worker->conns = NULL;
    worker->buffer = NULL;
    worker->idle = NULL;
    worker->wake_fd = -1;
}

void worker_report(struct worker *worker, enum worker_phase phase)
{
    worker->phase = phase;
    atomic_store_explicit(&worker->report, (int)phase, memory_order_release);
    add_uint64(worker->plan->report_fd);
}

void worker_wake(struct worker *worker)
{
    add_uint64(worker->wake_fd);
}

bool worker_reopens(const struct worker *worker)
{
    switch (worker->phase) {
    case PHASE_ESTABLISH:
    case PHASE_READY:
    case PHASE_WARMUP:
    case PHASE_REST:
    case PHASE_RESTED:
        return true;
    case PHASE_WINDOW:
        return worker->budget > 0;
    default:
        return false;
    }
}

static void publish(struct worker *worker)
{
    uint32_t published = atomic_load_explicit(&worker->published, memory_order_relaxed);

    atomic_store_explicit(&worker->published, published + 1, memory_order_release);
    add_uint64(worker->plan->report_fd);
}

static struct tally *current_slot(struct worker *worker)
{
    return &worker->slots[atomic_load_explicit(&worker->published, memory_order_relaxed) % WORKER_SLOTS];
}

static bool empty(const struct tally *tally)
{
    return tally->started == 0 && tally->latency.count == 0 && tally_errors(tally) == 0 && tally->bytes_read == 0 &&
           tally->reconnects == 0;
}

static void set_border(struct worker *worker, int64_t second)
{
    const struct load_plan *plan = worker->plan;
    int64_t end_ns = plan->begin_ns + (second + 1) * CLOCK_NS_PER_S;

    worker->border_ns = end_ns < plan->end_ns ? end_ns : plan->end_ns;
}

static void second_begin(struct worker *worker, int64_t second)
{
    worker->tally = current_slot(worker);
    worker->tally->second = second;
    set_border(worker, second);
}

static void window_begin(struct worker *worker)
{
    worker->phase = PHASE_WINDOW;
    worker->counting = 1;
    worker->carried = worker->open;
    worker->last_answer_ns = worker->now_ns;
    if (worker->plan->counted)
        worker->budget = worker->share;
    second_begin(worker, 0);
    worker->tally->started += worker->open;
    (void)getrusage(RUSAGE_THREAD, &worker->usage_begin);
}

static void window_end(struct worker *worker, int64_t end_ns)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_THREAD, &usage);
    timersub(&usage.ru_utime, &worker->usage_begin.ru_utime, &worker->cpu_user);
    timersub(&usage.ru_stime, &worker->usage_begin.ru_stime, &worker->cpu_kernel);
    worker->complete =
        !worker->plan->counted ? end_ns >= worker->plan->end_ns : worker->budget == 0 && worker->open == 0;
    worker->end_ns = end_ns;
    for (; worker->plan->rate > 0 && worker->budget > 0 && worker->schedule.due_ns < end_ns;
         schedule_next(&worker->schedule))
        worker->tally->missed++;
    worker->budget = 0;
    worker->counting = 0;
    worker->in_flight = worker->open;
    for (uint32_t i = 0; i < worker->conn_count; i++) {
        const struct conn *conn = &worker->conns[i];

        if (conn->state == CONN_BUSY && end_ns - conn->written_ns > worker->oldest_ns)
            worker->oldest_ns = end_ns - conn->written_ns;
    }
    publish(worker);
    worker->tally = &worker->drain;
    worker->phase = PHASE_DRAIN;
    /* Each open request has its own deadline before this one. */
    worker->border_ns = worker->now_ns + worker->plan->timeout_ns + CLOCK_NS_PER_S;
}

/* Moves to the next second; where the reader is behind, two seconds share a tally. */
static void second_end(struct worker *worker)
{
    const struct load_plan *plan = worker->plan;
    uint32_t published = atomic_load_explicit(&worker->published, memory_order_relaxed);
    uint32_t consumed = atomic_load_explicit(&worker->consumed, memory_order_acquire);
    int64_t second = (worker->now_ns - plan->begin_ns) / CLOCK_NS_PER_S;
    int64_t silence_ns = SILENCE_TIMEOUTS * plan->timeout_ns;
    bool nothing = empty(worker->tally);
    bool room = published + 1 - consumed < WORKER_SLOTS;

    /* What is published is the reader's: not looked at again. */
    if (!nothing && room)
        publish(worker);
    if (nothing || room)
        second_begin(worker, second);
    else
        set_border(worker, second);
    if (silence_ns < SILENCE_LEAST_NS)
        silence_ns = SILENCE_LEAST_NS;
    if (plan->counted && worker->now_ns - worker->last_answer_ns > silence_ns)
        window_end(worker, worker->now_ns);
}

void worker_advance(struct worker *worker)
{
    while (worker->now_ns >= worker->border_ns) {
        switch (worker->phase) {
        case PHASE_WARMUP:
            if (worker->plan->counted) {
                worker->budget = 0;
                worker->border_ns = INT64_MAX;
                worker->phase = PHASE_REST;
                break;
            }
            window_begin(worker);
            break;
        case PHASE_WINDOW:
            if (worker->border_ns == worker->plan->end_ns)
                window_end(worker, worker->plan->end_ns);
            else
                second_end(worker);
            break;
        default:
            worker->border_ns = INT64_MAX;
            worker->open = 0;
            break;
        }
    }
}

static void start_idle(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->conn_count; i++) {
        struct conn *conn = &worker->conns[i];

        if (conn->state != CONN_IDLE)
            continue;
        (void)worker_now(worker);
        if (flow_start(worker, conn))
            worker->engine->send(worker, conn);
    }
}

static void obey(struct worker *worker)
{
    struct load_plan *plan = worker->plan;
    int command = atomic_load_explicit(&plan->command, memory_order_acquire);

    worker->woken = false;
    if (command == worker->command)
        return;
    worker->command = command;
    switch (command) {
    case COMMAND_START:
    case COMMAND_COUNT:
        worker->phase = PHASE_WARMUP;
        if (plan->rate > 0)
            schedule_start(&worker->schedule, plan->rate, command == COMMAND_START ? plan->start_ns : plan->begin_ns,
                           worker->number, plan->workers);
        worker->budget = UINT64_MAX / 2;
        worker->border_ns = plan->begin_ns;
        if (command == COMMAND_COUNT || plan->begin_ns == plan->start_ns)
            window_begin(worker);
        start_idle(worker);
        break;
    case COMMAND_STOP:
        if (worker->phase == PHASE_WINDOW)
            window_end(worker, worker->now_ns);
        else if (worker->phase != PHASE_DRAIN)
            worker->phase = PHASE_FAILED;
        break;
    default:
        if (worker->phase == PHASE_WINDOW)
            window_end(worker, worker->now_ns);
        worker->open = 0;
        if (worker->phase != PHASE_DRAIN)
            worker->phase = PHASE_FAILED;
        break;
    }
}

static void handle_due(struct worker *worker)
{
    struct deadline *deadline;

    while ((deadline = deadline_pop(&worker->due, worker->now_ns)) != NULL)
        flow_due(worker, conn_of(deadline));
}

/* What a phase waits for may have happened in the last turn. */
static void check_phase(struct worker *worker)
{
    if (worker->phase == PHASE_REST && worker->open == 0)
        worker_report(worker, PHASE_RESTED);
    if (worker->phase == PHASE_WINDOW && worker->plan->counted && worker->budget == 0 && worker->open == 0)
        window_end(worker, worker->now_ns);
    if (worker->phase == PHASE_DRAIN && worker->open == 0)
        worker->phase = PHASE_DONE;
}

static void *work(void *argument)
{
    struct worker *worker = argument;

    /* The kernel may round a wait up by 50 us otherwise. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    if (worker->engine->begin != NULL && worker->engine->begin(worker, &worker->err) != 0)
        worker->phase = PHASE_FAILED;
    while (worker->to_open < worker->conn_count && worker->to_open < ESTABLISH_AT_ONCE &&
           worker->phase == PHASE_ESTABLISH)
        flow_open(worker, &worker->conns[worker->to_open++]);
    while (worker->phase != PHASE_DONE && worker->phase != PHASE_FAILED) {
        int64_t until_ns = deadline_next_ns(&worker->due);

        if (until_ns > worker->border_ns)
            until_ns = worker->border_ns;
        if (worker->plan->rate > 0 && flow_pump_ns(worker) < until_ns)
            until_ns = flow_pump_ns(worker);
        worker->engine->turn(worker, until_ns);
        (void)worker_now(worker);
        if (worker->woken)
            obey(worker);
        handle_due(worker);
        if (worker->plan->rate > 0)
            flow_pump(worker);
        check_phase(worker);
    }
    worker->engine->close(worker);
    worker_report(worker, worker->phase);
    return NULL;
}

int worker_start(struct worker *worker, struct err *err)
{
    int error = pthread_create(&worker->thread, NULL, work, worker);

    if (error != 0)
        return err_set(err, "a thread: %s", strerror(error));
    worker->started = true;
    return 0;
}

bool worker_join(struct worker *worker)
{
    if (worker->started)
        (void)pthread_join(worker->thread, NULL);
    worker->joined |= worker->started;
    worker->started = false;
    return worker->joined;
}
