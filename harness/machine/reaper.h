/*
 * reaper - orphans of our children become ours, are found, ended and reaped.
 *
 * reaper_start() makes this process a child subreaper: whoever loses its parent below us becomes our child, however
 * often it forked. Children started by machine/child.h are owned: their exit status belongs to struct child.
 * Everything else that is our child is an orphan. (A process must not fork by other means and expect to wait.)
 */
#ifndef MACHINE_REAPER_H
#define MACHINE_REAPER_H

#include <sys/types.h>

#include "base/err.h"

int reaper_start(struct err *err);
/* Reaps orphans that have ended; returns how many. Cheap; call it between cells and while waiting. */
int reaper_collect(void);
/*
 * Kills and reaps orphans that are not in the session of an owned child, until none is left or `timeout_ns` has
 * passed; returns how many still live. For the end of a server's life, when no cgroup could take care of them.
 */
int reaper_kill_orphans(long long timeout_ns);

/* For machine/child: fork(2) whose child is owned before anybody can take it for an orphan; and the end of that. */
pid_t reaper_fork(void);
void reaper_disown(pid_t pid);

#endif
