/*
 * limits - the resource limits that restbench was started with, for its children.
 *
 * restbench raises its own (descriptors); a child gets those of the login. They are saved before main() runs, so that
 * no order of calls can lose them.
 */
#ifndef MACHINE_LIMITS_H
#define MACHINE_LIMITS_H

#include <jansson.h>
#include <sys/resource.h>

/* Sets the saved limits for this process; async-signal-safe. Returns 0, or -1 with errno. */
int limits_restore(void);
/* A saved one. */
struct rlimit limits_get(int resource);
/* {"nofile": {"soft": 1024, "hard": null}, ...}; null: unlimited. */
json_t *limits_to_json(void);

#endif
