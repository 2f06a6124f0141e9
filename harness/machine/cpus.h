/*
 * cpus - sets of CPUs, and how the allowed ones are split between the server's side and the generator's.
 *
 * A set has as many bits as the kernel's own masks (asked, never CPU_SETSIZE). struct cpus starts as {0}, an empty
 * set; cpus_free() ends it. Numbers are the kernel's; a machine or container may have any of them, with gaps.
 */
#ifndef MACHINE_CPUS_H
#define MACHINE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Linux has no build with more CPUs; a larger number in a list is a mistake. */
#define CPUS_MOST 65536

struct cpus {
    unsigned long *mask; /* as sched_setaffinity(2) wants it */
    size_t bytes;
};

void cpus_free(struct cpus *cpus);
void cpus_copy(const struct cpus *from, struct cpus *to);
void cpus_add(struct cpus *cpus, int cpu);
void cpus_remove(struct cpus *cpus, int cpu);
bool cpus_has(const struct cpus *cpus, int cpu);
int cpus_count(const struct cpus *cpus);
/* The lowest CPU of the set above `after` (-1: the first), -1 when there is none. */
int cpus_next(const struct cpus *cpus, int after);
bool cpus_equal(const struct cpus *a, const struct cpus *b);
bool cpus_contains(const struct cpus *all, const struct cpus *part);
bool cpus_overlap(const struct cpus *a, const struct cpus *b);

/* Reads "0-2,5" (as in /proc and --cpus); an empty set, a blank or a descending range is refused. */
int cpus_parse(const char *list, struct cpus *cpus, struct err *err);
/* "0-2,5", "" for an empty set; the caller's. */
char *cpus_format(const struct cpus *cpus);

/* The CPUs that this thread may run on. */
int cpus_allowed(struct cpus *cpus, struct err *err);
/* Pins this thread. */
int cpus_apply(const struct cpus *cpus, struct err *err);

/* Who runs where. Not pinned: both sets are the allowed one and nobody's affinity is touched. */
struct cpus_split {
    struct cpus server; /* the server and the database */
    struct cpus generator;
    bool pinned;
    char note[256]; /* what a person should know ("one CPU: runs unpinned"), else "" */
};

/*
 * Splits `allowed` as `wish` says: "auto" (of the allowed CPUs the last max(1, n/4) for the generator, the others for
 * server and database), "none", or "SERVER/GENERATOR" as two lists that do not overlap. Errors name the allowed set.
 */
int cpus_split(const struct cpus *allowed, const char *wish, struct cpus_split *split, struct err *err);
void cpus_split_free(struct cpus_split *split);

/*
 * CPUs of `a` that share a core with a CPU of `b` (SMT siblings): what one side does slows the other. `sys` is the
 * root of sysfs ("/sys"). Returns false when topology cannot be read.
 */
bool cpus_shared_cores(const char *sys, const struct cpus *a, const struct cpus *b, struct cpus *shared);

#endif
