/*
 * account - the CPU time of one side from /proc: what its live processes used, and what reached them from children that
 * ended and were waited for.
 *
 * account_read() takes a reading of a side's processes; account_between() makes the time between two of them. This is
 * the second source beside the side's cgroup, and the only one where no cgroup can be made. What it cannot know it
 * says: a child whose parent ignores SIGCHLD, or whose parent was gone, leaves no trace when it ends.
 */
#ifndef MACHINE_ACCOUNT_H
#define MACHINE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/procfs.h"

/* A process with what its threads say. */
struct account_process {
    struct procfs_stat stat;
    uint64_t run_ns;      /* of its live threads */
    uint64_t thread_hash; /* of their numbers */
    bool run_known;
    bool ignores_sigchld;
    int64_t involuntary; /* switches of its live threads; -1 unknown */
};

struct account_reading {
    struct account_process *processes;
    size_t count;
};

struct account_usage {
    double user_s;
    double kernel_s;
    double total_s;
    double resolution_s;
    double involuntary; /* context switches of processes that were there at both ends */
    bool adds_up;
    char note[200]; /* why it does not add up; "" */
};

/* Reads what `all` (the processes of the machine) has of a side: `root`'s tree and `members`. Reads no smaps. */
void account_read(const char *proc, const struct procfs_list *all, pid_t root, const pid_t *members,
                  size_t member_count, struct account_reading *reading);
void account_free(struct account_reading *reading);
/* Pure. */
void account_between(const struct account_reading *before, const struct account_reading *after, double tick_s,
                     struct account_usage *usage);

#endif
