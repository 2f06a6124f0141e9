/*
 * lock - one run at a time: on a state folder, and on a CPU.
 *
 * The state folder's lock is flock(2) on STATE/run/lock; a CPU's is a listening socket with an abstract name, so that
 * runs with different state folders see each other too. Both are close-on-exec and vanish with the process, however it
 * ends: a killed run leaves nothing behind. Both tell the pid of the holder.
 */
#ifndef STUDY_LOCK_H
#define STUDY_LOCK_H

#include <stddef.h>

#include "base/err.h"
#include "machine/cpus.h"

struct lock {
    int state_fd;
    int *cpu_fds;
    size_t cpu_count;
};

/* Takes the state folder's lock, or says which pid holds it. */
int lock_state(const char *state_dir, struct lock *lock, struct err *err);
/* Takes every CPU of the set, or says which pid measures on which. */
int lock_cpus(const struct cpus *cpus, struct lock *lock, struct err *err);
void lock_free(struct lock *lock);

/* The pid that holds a state folder's lock; 0: nobody. */
long lock_holder(const char *state_dir);

#endif
