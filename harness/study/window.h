/*
 * window - one run of a load tool against a server, and what the machine did meanwhile.
 *
 * The tool is a child on the generator's CPUs, in its own cgroup. When it tells the borders of its window the sampler
 * reads at them; else from its start to its end. While it runs, the server is watched: one that dies ends the window.
 */
#ifndef STUDY_WINDOW_H
#define STUDY_WINDOW_H

#include "machine/sampler.h"
#include "study/run_state.h"
#include "target/server.h"

struct window {
    struct tool_result tool;
    struct machine_usage usage;
    int64_t begin_ns; /* CLOCK_MONOTONIC; 0 when the tool does not tell */
    int64_t end_ns;
    bool has_samples;
    struct database_samples samples;
    struct machine_memory memory;     /* of the server, after the load */
    struct machine_affinity affinity; /* of server and database */
    bool has_listener;
    struct listener_verdict listener; /* sockets after the load, connections before it */
    struct drift_probe probe_before;  /* cell.c's: the fixed job before and after it */
    struct drift_probe probe_after;
    double conductor_cpu_s; /* what restbench itself used meanwhile, on the generator's CPUs */
    bool paused;            /* restbench was stopped and continued meanwhile */
};

/*
 * `job->events_fd` and `threads` are filled here. `measured` false: a warm-up, of which only window->tool counts.
 * Ends with window_free(), also after an error.
 */
int window_run(struct run *run, struct server *server, struct tool_job *job, bool measured, struct window *window,
               struct err *err);
void window_free(struct window *window);

#endif
