/*
 * tool - a load generator as a child process: our own, or somebody else's. One way to call, one result.
 *
 * A driver is a row of the table in tool.c: how its argv is made from a job, and how what it printed becomes a
 * result. Drivers start nothing: the conductor runs the child, pinned and accounted like every other.
 * Rates and latencies are of 2xx answers only. What a tool does not tell is NaN, never 0; what had to be corrected, or
 * cannot be trusted, is said in `notes`.
 */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tool_job {
    const char *url;
    const char *method;
    const char *const *headers; /* "Name: value", NULL-terminated */
    const char *body_path;      /* NULL: none */
    const char *ring_path;      /* many requests instead (load/ring.h): only for a tool that has_ring; NULL: none */
    int64_t connections;
    double seconds;
    double rate_per_s; /* 0: closed loop */
    int64_t timeout_ns;
    int threads;             /* CPUs that it may use */
    const char *expect_path; /* expected body, one in `expect_every` answers is compared; NULL: none */
    int64_t expect_every;
    int events_fd;        /* the child's number of it; -1: none */
    bool wait;            /* start on a line from standard input, when the connections are established */
    const char *work_dir; /* for files that a tool needs (scripts); emptied by the caller */
};

struct tool_result {
    double window_s; /* real length of the measured window */
    double requests_per_s;
    double p50_ms;
    double p99_ms;
    double mean_ms;
    double max_ms;
    double responses_2xx;
    double errors; /* of every kind, inside the window */
    double
        unanswered; /* requests sent whose fate at the server is not known: in flight and not drained, timed out, cut */
    double drained_2xx; /* 2xx answers after the window's end */
    double mismatches;
    double started;
    double per_connection_min; /* requests */
    double per_connection_mean;
    double *per_second; /* 2xx answers of each whole second; free with tool_result_free() */
    size_t per_second_count;
    json_t *report; /* what the tool said, as JSON: goes into the details */
    json_t *notes;  /* array of strings */
};

struct tool {
    const char *name;
    const char *program;  /* looked up in PATH; NULL: restbench itself */
    bool has_events;      /* tells the window's borders */
    bool has_ring;        /* can send many different requests */
    bool allows_status_1; /* exits 1 when requests failed, with a whole result */
    const char *const *version_argv;
    const char *version_pattern;
    /* A NULL-terminated argv, the caller's (each string and the array). */
    int (*make_argv)(const struct tool_job *job, char ***argv, struct err *err);
    /* From its whole stdout; strict: a fault is an error, never a zero. */
    int (*parse)(const struct tool_job *job, const char *output, size_t len, struct tool_result *result,
                 struct err *err);
};

/* By name; an unknown one is an error that lists them. */
const struct tool *tool_find(const char *name, struct err *err);

/* Everything NaN or empty. */
void tool_result_init(struct tool_result *result);
void tool_result_free(struct tool_result *result);

#endif
