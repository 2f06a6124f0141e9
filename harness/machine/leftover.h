/*
 * leftover - processes of a run that was killed: found at the next start, wherever they fled to, and ended.
 *
 * Every server, load tool and build carries RESTBENCH_RUN=PID-START in its environment: the pid of the restbench that
 * started it and that one's start time in clock ticks. Children inherit it through any number of forks and sessions,
 * and the kernel shows it (/proc/PID/environ) to their user and to root. A process whose restbench no longer lives is
 * left over; one without the variable is never touched. This is for machines where no cgroup can be made, and names
 * what is ended where one can (cgroup_find()).
 */
#ifndef MACHINE_LEFTOVER_H
#define MACHINE_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "machine/env.h"

/* Marks what will be started with this environment as ours. */
void leftover_mark(struct env *env);
/* Ends what dead runs left, waits at most `timeout_ns` for it to go, says which; returns how many still live. */
size_t leftover_end(long long timeout_ns);

/* Pure: the pid and start time in a block of "NAME=value\0..." as the kernel shows it; false: none of ours. */
bool leftover_parse(const char *block, size_t len, int *pid, unsigned long long *start);
/* True when the restbench of that pid and start time still runs. */
bool leftover_lives(int pid, unsigned long long start);

#endif
