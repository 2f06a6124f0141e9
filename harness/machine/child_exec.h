/*
 * child_exec - what happens between fork and exec: only async-signal-safe calls, each failure reported through a pipe.
 *
 * For child.c alone. Everything is prepared before the fork; child_exec() runs in the new process and never returns.
 */
#ifndef MACHINE_CHILD_EXEC_H
#define MACHINE_CHILD_EXEC_H

#include <stdint.h>
#include <sys/types.h>

#include "machine/child.h"
#include "machine/cpus.h"

enum child_step {
    STEP_EXEC_NEXT, /* no failure: exec is tried now, `time_ns` says when */
    STEP_SESSION,
    STEP_DESCRIPTORS,
    STEP_CGROUP,
    STEP_CPUS,
    STEP_LIMITS,
    STEP_USER,
    STEP_FOLDER,
    STEP_EXEC,
};

struct child_report {
    enum child_step step;
    int error;
    int64_t time_ns;
};

struct child_plan {
    const struct child_spec *spec;
    const char *program;
    char *const *environment;
    pid_t parent;
    int report;       /* write end, close-on-exec */
    int *from;        /* 3 + fd_count descriptors of ours ... */
    const int *to;    /* ... and their numbers in the child, ascending from 0, 1, 2 */
    size_t fd_count;  /* all of them */
    int cgroup_procs; /* -1: none */
};

void child_exec(struct child_plan *plan) __attribute__((noreturn));

#endif
