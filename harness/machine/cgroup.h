/*
 * cgroup - one cgroup v2 group a side: its cpu.stat counts every process that was ever in it, exited or orphaned, in
 * microseconds and without any controller, and cgroup.kill ends them all.
 *
 * cgroup_find() says where groups can be made (a v2 mount, pure or hybrid; our own place in it when it is delegated),
 * else why not. Groups are named restbench-PID-START-NAME, START being the start time of PID in clock ticks, so that a
 * later run recognises what a killed one left. cgroup_make() makes one, cgroup_remove() ends what lives in it and
 * removes it. Nobody but machine/ knows these paths.
 */
#ifndef MACHINE_CGROUP_H
#define MACHINE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct cgroup_base {
    char *path;       /* the folder where our groups are made; NULL: none can be made */
    char reason[256]; /* why there is none; "" when there is one */
};

struct cgroup {
    char *path; /* NULL: no group */
};

/* Seconds with microsecond resolution; NAN when the kernel did not say. */
struct cgroup_cpu {
    double user_s;
    double kernel_s;
    double total_s;
};

/* Also removes what dead runs of restbench left there. Never fails: `base` tells. */
void cgroup_find(struct cgroup_base *base);
void cgroup_base_free(struct cgroup_base *base);

int cgroup_make(const struct cgroup_base *base, const char *name, struct cgroup *group, struct err *err);
/* A descriptor for its cgroup.procs, for a process that moves itself in; -1 with errno. */
int cgroup_open_procs(const struct cgroup *group);
bool cgroup_is_empty(const struct cgroup *group);
/* The processes in the group and below; the array is the caller's. */
size_t cgroup_pids(const struct cgroup *group, pid_t **pids);
int cgroup_cpu(const struct cgroup *group, struct cgroup_cpu *cpu);
/* Kills all in it and waits until it is empty, at most `timeout_ns`. */
int cgroup_kill(const struct cgroup *group, long long timeout_ns, struct err *err);
/* Kills, removes the folder, frees. A group that cannot be removed is an error, and freed all the same. */
int cgroup_remove(struct cgroup *group, struct err *err);

/* Pure parsers of files of the kernel. */
void cgroup_parse_cpu(const char *cpu_stat, struct cgroup_cpu *cpu);
/* Where the v2 hierarchy is mounted (from mountinfo) and our place in it (from /proc/self/cgroup); NULL: none. */
char *cgroup_parse_base(const char *mountinfo, const char *self_cgroup);

#endif
