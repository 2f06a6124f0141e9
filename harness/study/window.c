#include "study/window.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "machine/child.h"
#include "study/interrupt.h"
#include "study/manifest.h"

/* Connecting, draining and printing beside the window itself; a machine that swaps needs more than one would think. */
static const int64_t tool_patience_ns = 20 * CLOCK_NS_PER_S;
static const int64_t watch_every_ns = 50 * CLOCK_NS_PER_MS;
enum { EVENTS_FD = 3, OUTPUT_LIMIT = 32 << 20 };

struct watch {
    struct run *run;
    struct server *server;
    struct window *window;
    struct sampler sampler;
    struct child tool;
    int events; /* our end of the pipe; -1: none */
    int start;  /* where a line lets the load begin; -1: it does not wait */
    double own_cpu_s;
    char line[128];
    size_t line_len;
    bool measured;
    bool begun;
    bool ended;
};

static double own_cpu_s(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return NAN;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void begin(struct watch *watch)
{
    struct run *run = watch->run;
    struct err ignored = {0};

    if (watch->begun || !watch->measured)
        return;
    watch->begun = true;
    sampler_begin(&watch->sampler);
    watch->own_cpu_s = own_cpu_s();
    if (run->database != NULL && run->database->ops->samples_begin != NULL)
        watch->window->has_samples = run->database->ops->samples_begin(run->database, &ignored) == 0;
}

static void end(struct watch *watch)
{
    struct run *run = watch->run;
    struct err ignored = {0};

    if (!watch->begun || watch->ended)
        return;
    watch->ended = true;
    watch->window->conductor_cpu_s = own_cpu_s() - watch->own_cpu_s;
    sampler_end(&watch->sampler, &watch->window->usage);
    if (watch->window->has_samples &&
        run->database->ops->samples_end(run->database, &watch->window->samples, &ignored) != 0)
        watch->window->has_samples = false;
}

/*
 * All connections stand and none has been written to: whose are they? It is the only moment when they can be looked at
 * without taking time from the window.
 */
static void on_established(struct watch *watch)
{
    if (watch->start < 0)
        return;
    watch->window->has_listener = server_listener(watch->server, &watch->window->listener) == 0;
    (void)!write(watch->start, "\n", 1);
    (void)close(watch->start);
    watch->start = -1;
}

static void on_event(struct watch *watch, const char *line)
{
    static const char begins[] = "window_begin ";
    static const char ends[] = "window_end ";
    int64_t ns;

    if (strcmp(line, "established") == 0) {
        on_established(watch);
    } else if (strncmp(line, begins, sizeof begins - 1) == 0 && text_parse_i64(line + sizeof begins - 1, &ns) == 0) {
        watch->window->begin_ns = ns;
        begin(watch);
    } else if (strncmp(line, ends, sizeof ends - 1) == 0 && text_parse_i64(line + sizeof ends - 1, &ns) == 0) {
        watch->window->end_ns = ns;
        end(watch);
    }
}

static void read_events(struct watch *watch)
{
    char byte;

    while (watch->events >= 0) {
        ssize_t n = read(watch->events, &byte, 1);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            (void)close(watch->events);
            watch->events = -1;
        } else if (byte == '\n') {
            watch->line[watch->line_len] = '\0';
            watch->line_len = 0;
            on_event(watch, watch->line);
        } else if (watch->line_len < sizeof watch->line - 1) {
            watch->line[watch->line_len++] = byte;
        }
    }
}

/* Until the tool has ended: events, the server's life, time, and the person at the keyboard. */
static int follow(struct watch *watch, const struct tool_job *job, struct err *err)
{
    int64_t window_ns = (int64_t)(job->seconds * (double)CLOCK_NS_PER_S);
    int64_t started_ns = clock_mono_ns();
    int64_t deadline_ns = started_ns + window_ns + 2 * job->timeout_ns + tool_patience_ns;
    char how[512];

    if (!watch->run->tool->has_events)
        begin(watch);
    for (;;) {
        struct pollfd fds[2] = {{.fd = watch->tool.pidfd, .events = POLLIN}, {.fd = watch->events, .events = POLLIN}};

        (void)poll(fds, 2, (int)(watch_every_ns / CLOCK_NS_PER_MS));
        read_events(watch);
        if (interrupt_resumed())
            progress_show(&watch->run->progress);
        if (!watch->run->tool->has_events && clock_mono_ns() - started_ns >= window_ns)
            end(watch);
        if (child_wait(&watch->tool, 0))
            break;
        if (child_cancelled())
            return err_fail(err, "interrupted");
        if (!server_is_alive(watch->server, how, sizeof how))
            return err_fail(err, "the server ended under load: %s", how);
        if (clock_mono_ns() > deadline_ns)
            return err_fail(err, "%s does not end; its %.0f s are long over", watch->run->tool->name, job->seconds);
    }
    read_events(watch);
    end(watch);
    if (!server_is_alive(watch->server, how, sizeof how))
        return err_fail(err, "the server ended under load: %s", how);
    return 0;
}

static int start_tool(struct watch *watch, struct tool_job *job, struct err *err)
{
    struct run *run = watch->run;
    struct env env = {0};
    struct child_fd fd = {.from = -1, .to = EVENTS_FD};
    struct child_spec spec = {.env = &env,
                              .cwd = run->work_dir,
                              .out = {.kind = CHILD_CAPTURE, .limit = OUTPUT_LIMIT},
                              .err = {.kind = CHILD_CAPTURE, .limit = 65536}};
    char **argv = NULL;
    int ends[2] = {-1, -1};
    int input[2] = {-1, -1};
    int result = -1;

    job->threads = cpus_count(&run->parts.split.generator);
    job->events_fd = -1;
    job->work_dir = run->work_dir;
    if (run->tool->has_events) {
        if (pipe2(ends, O_CLOEXEC) != 0)
            return err_sys(err, "no pipe for %s", run->tool->name);
        (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
        if (watch->measured && pipe2(input, O_CLOEXEC) == 0) {
            job->wait = true;
            spec.input = input[0];
            watch->start = input[1];
        }
        job->events_fd = EVENTS_FD;
        fd.from = ends[1];
        spec.fds = &fd;
        spec.fd_count = 1;
    }
    env_basic(&env);
    if (run->tool->make_argv(job, &argv, err) == 0) {
        spec.argv = (const char *const *)argv;
        result = place_start(&run->generator_place, &spec, &watch->tool, err);
        manifest_tool(run, watch->tool.record);
        for (char **arg = argv; *arg != NULL; arg++)
            free(*arg);
        free(argv);
    }
    if (ends[1] >= 0)
        (void)close(ends[1]);
    if (input[0] >= 0)
        (void)close(input[0]);
    watch->events = ends[0];
    env_free(&env);
    if (result != 0)
        err->kind = ERR_FAILED;
    return result;
}

static int read_result(struct watch *watch, const struct tool_job *job, struct err *err)
{
    const struct tool *tool = watch->run->tool;
    const struct child_status *status = &watch->tool.status;
    size_t len;
    bool cut;
    char *output = child_take(&watch->tool, 'o', &len, &cut);
    int result;

    if (status->code != 0 && !(status->code == 1 && tool->allows_status_1)) {
        struct text tail = {0};

        child_tail(&watch->tool, 'e', 1, &tail);
        if (tail.len == 0) /* some say what is wrong where the result should be */
            child_tail(&watch->tool, 'o', 1, &tail);
        result = err_fail(err, "%s %s%s%s", tool->name, child_status_text(&watch->tool), tail.len > 0 ? ": " : "",
                          text_string(&tail));
        text_free(&tail);
    } else if (len == 0) {
        result = err_fail(err, "%s %s and printed nothing", tool->name, child_status_text(&watch->tool));
    } else if (cut) {
        result = err_fail(err, "%s printed more than %d MiB", tool->name, OUTPUT_LIMIT >> 20);
    } else {
        result = tool->parse(job, output, len, &watch->window->tool, err);
        if (result != 0)
            (void)err_prefix(err, "%s", tool->name);
    }
    free(output);
    return result;
}

/* A second listener that came or went under load shows in either look; connections only in the first. */
static void look_at_listener(struct watch *watch)
{
    struct window *window = watch->window;
    struct listener_verdict after;

    if (server_listener(watch->server, &after) != 0)
        return;
    if (window->has_listener) {
        after.foreign_connections = window->listener.foreign_connections;
        after.unowned_connections = window->listener.unowned_connections;
        if (after.foreign_sockets == 0 && window->listener.foreign_sockets > 0) {
            after.foreign_sockets = window->listener.foreign_sockets;
            memcpy(after.foreign, window->listener.foreign, sizeof after.foreign);
        }
        after.ours = after.ours && window->listener.ours;
    }
    window->listener = after;
    window->has_listener = true;
}

/* What may be read only when the load has ended: it holds locks that the server needs. */
static void look_after(struct watch *watch, size_t server_side, size_t database_side)
{
    struct window *window = watch->window;
    struct machine_affinity database;

    sampler_memory(&watch->sampler, server_side, &window->memory);
    sampler_affinity(&watch->sampler, server_side, &window->affinity);
    if (database_side < SAMPLER_SIDES) {
        sampler_affinity(&watch->sampler, database_side, &database);
        if (window->affinity.wrong == 0 && database.wrong > 0)
            (void)snprintf(window->affinity.text, sizeof window->affinity.text, "%s", database.text);
        window->affinity.threads += database.threads;
        window->affinity.wrong += database.wrong;
    }
    look_at_listener(watch);
}

int window_run(struct run *run, struct server *server, struct tool_job *job, bool measured, struct window *window,
               struct err *err)
{
    struct watch watch = {
        .run = run, .server = server, .window = window, .events = -1, .start = -1, .measured = measured};
    size_t server_side;
    size_t database_side = SAMPLER_SIDES;
    int result;

    *window = (struct window){0};
    tool_result_init(&window->tool);
    (void)interrupt_paused();
    result = start_tool(&watch, job, err);
    if (result == 0) {
        sampler_init(&watch.sampler, &run->parts.split);
        server_side = place_sample(&run->server_place, &watch.sampler, server->child.pid);
        if (run->database != NULL && run->database->local)
            database_side = place_sample(&run->database_place, &watch.sampler, run->database->pid);
        (void)place_sample(&run->generator_place, &watch.sampler, watch.tool.pid);
        result = follow(&watch, job, err);
        end(&watch);
        if (result == 0 && measured)
            look_after(&watch, server_side, database_side);
        sampler_free(&watch.sampler);
    }
    if (result == 0)
        result = read_result(&watch, job, err);
    if (result == 0 && measured && !watch.ended)
        result = err_fail(err, "%s did not tell its window's borders", run->tool->name);
    window->paused = interrupt_paused();
    child_close(&watch.tool);
    if (watch.events >= 0)
        (void)close(watch.events);
    if (watch.start >= 0)
        (void)close(watch.start);
    return result;
}

void window_free(struct window *window)
{
    tool_result_free(&window->tool);
    machine_usage_free(&window->usage);
}
