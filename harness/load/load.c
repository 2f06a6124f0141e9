#include "load/load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/text.h"

#define TICK_NS (200 * CLOCK_NS_PER_MS)
/* All connections together; one has plan->establish_ns. */
#define ESTABLISH_ALL_NS (60 * CLOCK_NS_PER_S)
/* After a signal open requests are waited for no longer than this. */
#define STOP_DRAIN_NS (500 * CLOCK_NS_PER_MS)

static void event(const struct load *load, const char *line)
{
    if (load->options.events_fd >= 0 && write(load->options.events_fd, line, strlen(line)) < 0)
        return; /* whoever listened has gone */
}

static void event_at(const struct load *load, const char *name, int64_t ns)
{
    char line[64];

    (void)snprintf(line, sizeof line, "%s %lld\n", name, (long long)ns);
    event(load, line);
}

static void command(struct load *load, enum worker_command command)
{
    atomic_store_explicit(&load->plan.command, (int)command, memory_order_release);
    for (unsigned i = 0; i < load->worker_count; i++)
        worker_wake(load->workers[i]);
}

/* True when every worker has reported `phase` or a final one. */
static bool all_at(const struct load *load, int phase)
{
    for (unsigned i = 0; i < load->worker_count; i++) {
        int report = atomic_load_explicit(&load->workers[i]->report, memory_order_acquire);

        if (report != phase && report != PHASE_DONE && report != PHASE_FAILED)
            return false;
    }
    return true;
}

static bool any_failed(const struct load *load)
{
    for (unsigned i = 0; i < load->worker_count; i++)
        if (atomic_load_explicit(&load->workers[i]->report, memory_order_acquire) == PHASE_FAILED)
            return true;
    return false;
}

/* Sleeps until then, a report, a signal, or input on `fd` (-1: none); returns true when there is input. */
static bool pause_until(struct load *load, int64_t until_ns, int fd)
{
    struct pollfd fds[3] = {{.fd = load->plan.report_fd, .events = POLLIN},
                            {.fd = load->signal_fd, .events = POLLIN},
                            {.fd = fd, .events = POLLIN}};
    int64_t wait_ns = until_ns - worker_clock_ns();
    struct timespec timeout = {0, 0};
    struct signalfd_siginfo info;
    uint64_t count;

    if (wait_ns > 0) {
        timeout.tv_sec = wait_ns / CLOCK_NS_PER_S;
        timeout.tv_nsec = wait_ns % CLOCK_NS_PER_S;
    }
    (void)ppoll(fds, 3, until_ns == INT64_MAX ? NULL : &timeout, NULL);
    (void)!read(load->plan.report_fd, &count, sizeof count);
    if (read(load->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        load->result.signal = (int)info.ssi_signo;
        command(load, load->stopping ? COMMAND_QUIT : COMMAND_STOP);
        load->stopping = true;
    }
    return fd >= 0 && fds[2].revents != 0;
}

static int open_signals(struct load *load, struct err *err)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    load->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return load->signal_fd < 0 ? err_sys(err, "signalfd") : 0;
}

static int make_workers(struct load *load, struct err *err)
{
    unsigned threads = (unsigned)load->options.threads;
    uint64_t connections = (uint64_t)load->options.connections;
    uint64_t requests = (uint64_t)load->options.requests;
    uint64_t before = 0;

    load->workers = text_alloc(threads * sizeof(struct worker *));
    for (unsigned i = 0; i < threads; i++) {
        uint64_t until = connections * (i + 1) / threads;
        struct worker *worker = aligned_alloc(64, (sizeof *worker + 63) / 64 * 64);

        if (worker == NULL)
            return err_set(err, "out of memory for %u threads", threads);
        load->workers[load->worker_count++] = worker;
        if (worker_init(worker, &load->plan, i, (uint32_t)(until - before), err) != 0)
            return -1;
        /* By connections, or as the schedule goes round. */
        if (load->plan.rate > 0)
            worker->share = requests / threads + (i < requests % threads);
        else
            worker->share = (uint64_t)((unsigned __int128)requests * until / connections -
                                       (unsigned __int128)requests * before / connections);
        before = until;
    }
    return 0;
}

static int open_engine(struct load *load, const struct engine *engine, struct err *err)
{
    load->engine = engine;
    for (unsigned i = 0; i < load->worker_count; i++) {
        load->workers[i]->engine = engine;
        if (engine->open(load->workers[i], err) == 0)
            continue;
        for (unsigned k = 0; k <= i; k++)
            engine->close(load->workers[k]);
        return -1;
    }
    return 0;
}

/* Why epoll is the better one for this run; NULL: it is not. Measured with bench/generators.py. */
static const char *why_epoll(const struct load_plan *plan)
{
    if (plan->rate > 0)
        return "on a schedule each request goes out by itself";
    if (plan->close && plan->address.loopback && !plan->tls)
        return "on loopback one socket is dialled again and again, which costs least with epoll";
    if (plan->tls && !plan->close)
        return "over TLS system calls are not what costs";
    return NULL;
}

/* All threads have the same engine. "auto" is io_uring where it is the cheaper one and the kernel gives it. */
static int choose_engine(struct load *load, struct err *err)
{
    const char *name = load->options.engine;
    const char *why = why_epoll(&load->plan);
    struct err refusal = {0};

    if (strcmp(name, "auto") != 0) {
        load->result.engine_reason = text_dup("asked for");
        return open_engine(load, strcmp(name, "epoll") == 0 ? &engine_epoll : &engine_uring, err);
    }
    if (why == NULL && open_engine(load, &engine_uring, &refusal) == 0) {
        load->result.engine_reason = text_dup("connections share system calls");
        return 0;
    }
    load->result.engine_reason = text_dup(why != NULL ? why : refusal.text);
    return open_engine(load, &engine_epoll, err);
}

static int start_workers(struct load *load, struct err *err)
{
    for (unsigned i = 0; i < load->worker_count; i++)
        if (worker_start(load->workers[i], err) != 0)
            return -1;
    return 0;
}

static int establish(struct load *load, struct err *err)
{
    int64_t until_ns = worker_clock_ns() + ESTABLISH_ALL_NS;
    const char *why = NULL;

    while (!all_at(load, PHASE_READY) && !any_failed(load) && worker_clock_ns() < until_ns)
        (void)pause_until(load, until_ns, -1);
    if (load->stopping)
        return err_set(err, "stopped before the connections were established");
    if (all_at(load, PHASE_READY) && !any_failed(load)) {
        load->result.established = (uint64_t)load->options.connections;
        return 0;
    }
    command(load, COMMAND_QUIT);
    for (unsigned i = 0; i < load->worker_count; i++) {
        struct worker *worker = load->workers[i];

        worker_join(worker);
        load->result.established += worker->established;
        if (why == NULL && worker->err.kind != ERR_NONE)
            why = worker->err.text;
    }
    return err_set(err, "%s: got %llu of %lld connections: %s", load->plan.address.text,
                   (unsigned long long)load->result.established, (long long)load->options.connections,
                   why != NULL ? why : "not established in 60s");
}

int load_open(struct load *load, const struct load_options *options, struct err *err)
{
    memset(load, 0, sizeof *load);
    load->options = *options;
    load->signal_fd = -1;
    load->plan.report_fd = -1;
    if (options->events_fd >= 0 && fcntl(options->events_fd, F_GETFD) < 0)
        return err_set(err, "--events %d: this descriptor is not open", options->events_fd);
    if (load_prepare(load, err) != 0)
        return -1;
    load->plan.report_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (load->plan.report_fd < 0)
        return err_sys(err, "eventfd");
    if (open_signals(load, err) != 0 || make_workers(load, err) != 0 || choose_engine(load, err) != 0 ||
        start_workers(load, err) != 0 || establish(load, err) != 0)
        return -1;
    event(load, "established\n");
    return 0;
}

static int wait_for_line(struct load *load, struct err *err)
{
    char c = 0;

    (void)printf("ready\n");
    (void)fflush(stdout);
    while (c != '\n') {
        if (!pause_until(load, INT64_MAX, STDIN_FILENO)) {
            if (load->stopping)
                return 0;
            continue;
        }
        if (read(STDIN_FILENO, &c, 1) <= 0)
            return err_set(err, "--wait: standard input ended before a line came");
    }
    return 0;
}

static void progress(struct load *load, int64_t *next_tick_ns)
{
    int64_t now_ns = worker_clock_ns();

    load_result_collect(load);
    if (load->options.tick != NULL && now_ns >= *next_tick_ns) {
        load->options.tick(load, now_ns);
        *next_tick_ns = now_ns + TICK_NS;
    }
}

/* Runs until `until_ns`, or with PHASE_DONE etc. until the workers are there. */
static void run_until(struct load *load, int64_t until_ns, int phase)
{
    int64_t next_tick_ns = load->options.tick != NULL ? 0 : INT64_MAX;

    while (!load->stopping && worker_clock_ns() < until_ns && !all_at(load, phase)) {
        progress(load, &next_tick_ns);
        (void)pause_until(load, next_tick_ns < until_ns ? next_tick_ns : until_ns, -1);
    }
    load_result_collect(load);
}

/* The workers end by themselves: each wait of theirs has a limit. */
static void run_drain(struct load *load)
{
    int64_t quit_ns = load->stopping ? worker_clock_ns() + STOP_DRAIN_NS : INT64_MAX;

    while (!all_at(load, PHASE_DONE)) {
        bool was_stopping = load->stopping;

        (void)pause_until(load, quit_ns, -1);
        load_result_collect(load);
        if (load->stopping && !was_stopping)
            quit_ns = worker_clock_ns() + STOP_DRAIN_NS;
        if (worker_clock_ns() >= quit_ns) {
            command(load, COMMAND_QUIT);
            quit_ns = INT64_MAX;
        }
    }
}

int load_run(struct load *load, struct err *err)
{
    struct load_plan *plan = &load->plan;
    const struct load_options *options = &load->options;

    if (options->wait && wait_for_line(load, err) != 0)
        return -1;
    plan->start_ns = worker_clock_ns();
    plan->begin_ns = plan->start_ns + options->warmup_ns;
    plan->end_ns = options->duration_ns > 0 ? plan->begin_ns + options->duration_ns : INT64_MAX;
    if (!load->stopping)
        command(load, COMMAND_START);
    if (options->warmup_ns > 0) {
        run_until(load, plan->counted ? INT64_MAX : plan->begin_ns, plan->counted ? PHASE_RESTED : PHASE_DONE);
        if (plan->counted && !load->stopping) {
            plan->begin_ns = worker_clock_ns();
            plan->end_ns = options->duration_ns > 0 ? plan->begin_ns + options->duration_ns : INT64_MAX;
            command(load, COMMAND_COUNT);
        }
    }
    if (!load->stopping)
        event_at(load, "window_begin", plan->begin_ns);
    run_until(load, plan->end_ns, PHASE_DONE);
    if (!plan->counted && !load->stopping)
        event_at(load, "window_end", plan->end_ns);
    run_drain(load);
    for (unsigned i = 0; i < load->worker_count; i++)
        worker_join(load->workers[i]);
    load_result_finish(load);
    if (plan->counted || load->stopping)
        event_at(load, "window_end", load->result.end_ns);
    return 0;
}

void load_close(struct load *load)
{
    atomic_store_explicit(&load->plan.command, COMMAND_QUIT, memory_order_release);
    for (unsigned i = 0; i < load->worker_count; i++) {
        struct worker *worker = load->workers[i];

        worker_wake(worker);
        if (!worker_join(worker) && load->engine != NULL)
            load->engine->close(worker);
        worker_free(worker);
        free(worker);
    }
    free(load->workers);
    request_free(&load->request);
    ring_free(&load->ring);
    request_headers_free(&load->headers);
    url_free(&load->url);
    load_result_free(&load->result);
    if (load->plan.report_fd >= 0)
        (void)close(load->plan.report_fd);
    if (load->signal_fd >= 0)
        (void)close(load->signal_fd);
}
