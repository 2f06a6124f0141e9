/*
 * postgres_adopt - a cluster that ran before a run began, moved to the run's CPUs and cgroup, and put back after it.
 *
 * A postmaster of our own is pinned before exec; one that somebody keeps running must not be restarted under its other
 * users. Every thread is moved, again until none came in between; what forks later inherits.
 */
#ifndef TARGET_POSTGRES_ADOPT_H
#define TARGET_POSTGRES_ADOPT_H

#include <sys/types.h>

#include "base/err.h"
#include "machine/cgroup.h"
#include "machine/cpus.h"

struct postgres_adopt {
    pid_t pid;        /* of the postmaster; 0: nothing was moved */
    char *data;       /* whose processes these are */
    struct cpus cpus; /* as they were; no mask: not moved */
    char *group;      /* the cgroup's folder that they were in; NULL: not moved */
};

/* `cpus`, `group` NULL: left as they are. A cgroup that cannot be had is no error: /proc still counts. */
int postgres_adopt(pid_t pid, const char *data, const struct cpus *cpus, const struct cgroup *group,
                   struct postgres_adopt *adopt, struct err *err);
/* Puts all back; frees. */
void postgres_adopt_end(struct postgres_adopt *adopt);

#endif
