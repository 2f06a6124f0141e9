/*
 * postgres_process - the processes of one cluster as the kernel shows them, whoever started them: found by the data
 * folder that each works in, never by name alone, so that another cluster is never touched.
 *
 * `data` is the absolute path of a data folder, links resolved.
 */
#ifndef TARGET_POSTGRES_PROCESS_H
#define TARGET_POSTGRES_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* What postmaster.pid says. */
struct postgres_pidfile {
    pid_t pid;
    int port;
    char socket_dir[128]; /* "" without one */
    bool ready;           /* accepts connections */
};

/* Returns -1 when the file is missing or half-written. */
int postgres_pidfile_read(const char *data, struct postgres_pidfile *file);
int postgres_pidfile_parse(const char *text, struct postgres_pidfile *file);

/* True when `pid` is a postgres that works in `data`. */
bool postgres_process_is(pid_t pid, const char *data);
/* All of them; the array is the caller's. */
size_t postgres_process_list(const char *data, pid_t **pids);
/* Waits until `pid` is gone or a zombie; true when it is. Works for processes that are not our children. */
bool postgres_process_wait(pid_t pid, int64_t timeout_ns);
/* Waits until nobody works in `data` any more; true when so. */
bool postgres_process_wait_all(const char *data, int64_t timeout_ns);
/* Kills whoever works in `data`, waits, removes their segments; returns how many are still there. */
size_t postgres_process_kill_all(const char *data, int64_t timeout_ns);

/* Names of the segments in /dev/shm that the processes of `data` have mapped, one a line; the caller's. */
char *postgres_process_segments(const char *data);
/* Removes those of the list that nobody has mapped. */
void postgres_process_remove_segments(const char *names);
/* All that `uid` has in /dev/shm, in the same form: before and after, the difference is what was made meanwhile. */
char *postgres_process_segments_of_user(uid_t uid);
/* Removes those of `after` that `before` lacks and nobody has mapped. */
void postgres_process_remove_new_segments(const char *before, const char *after);

#endif
