/*
 * load - restbench's generator: HTTP/1.1 requests over many connections, counted so that nothing gets lost.
 *
 *   struct load_options options; load_options_init(&options); ...
 *   load_open(&load, &options, &err)    checks everything, opens and establishes all connections
 *   load_run(&load, &err)               warm-up, window, drain; load.result holds what was counted
 *   load_close(&load)
 *
 * Times are CLOCK_MONOTONIC nanoseconds. The window is [begin, end): what is started or answered inside it counts; a
 * request that was open when it began (from the warm-up) is counted as started in it, one still open when it ends is
 * in flight. Identity: started = ok + errors + in flight.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "load/ring.h"
#include "load/tally.h"
#include "load/worker.h"

struct load;

struct load_options {
    const char *url;
    const char *method;
    const char *const *headers; /* "Name: value" */
    size_t header_count;
    const char *body; /* NULL: none */
    size_t body_len;
    const char *requests_file; /* a ring of requests; NULL: the one above */
    int64_t seed;
    const char *expected_body; /* NULL: bodies are not compared */
    size_t expected_len;
    int64_t check_every; /* compare one body in so many */
    int64_t connections;
    int64_t threads;     /* 0: the CPUs that it may run on */
    double rate;         /* requests per second; 0: closed loop */
    int64_t requests;    /* 0: timed */
    int64_t duration_ns; /* 0: counted, without an end by time */
    int64_t warmup_ns;
    int64_t timeout_ns;
    bool insecure;       /* any certificate will do */
    const char *ca_file; /* NULL: the system's certificates */
    bool close;
    bool wait;     /* print "ready", start on a line from standard input */
    int events_fd; /* -1: none */
    const char *engine;
    /* Called about five times a second while it runs; NULL: never. */
    void (*tick)(const struct load *load, int64_t now_ns);
};

struct load_second {
    uint64_t ok;
    uint64_t errors;
    double p50_us; /* NaN: no sample */
    double p99_us;
    struct histogram *pending; /* until every worker is past it */
};

struct load_result {
    struct tally total; /* of the window */
    uint64_t in_flight;
    uint64_t carried; /* open when the window began; part of started */
    uint64_t drained_ok;
    uint64_t warmup_ok;
    uint64_t established;
    int64_t oldest_in_flight_ns;
    int64_t begin_ns;
    int64_t end_ns;
    struct load_second *seconds;
    size_t second_count;
    struct histogram connect;
    uint64_t connection_min, connection_p50, connection_max; /* 2xx answers of a connection */
    double cpu_user_s;                                       /* of the window, all threads */
    double cpu_kernel_s;
    char *engine_reason;
    bool complete;
    int signal; /* that ended it; 0: none */
};

struct load {
    struct load_options options;
    struct load_plan plan;
    struct url url;
    struct request_headers headers;
    struct request request; /* the one, or */
    struct ring ring;       /* many */
    struct worker **workers;
    unsigned worker_count;
    const struct engine *engine;
    int signal_fd;
    bool stopping;
    struct load_result result;
};

void load_options_init(struct load_options *options);
int load_open(struct load *load, const struct load_options *options, struct err *err);
int load_run(struct load *load, struct err *err);
void load_close(struct load *load);

/* Parts of load.c in files of their own. */

/* Checks the options and makes the plan: URL, address, requests, limits. */
int load_prepare(struct load *load, struct err *err);
/* Takes the tallies that workers have published. */
void load_result_collect(struct load *load);
/* After the workers have ended. */
void load_result_finish(struct load *load);
void load_result_free(struct load_result *result);

#endif
