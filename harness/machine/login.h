/*
 * login - the resource limits and CPUs that restbench was started with, for its children.
 *
 * restbench raises its own (descriptors) and pins itself; a child gets those of the login. They are saved before main()
 * runs, so that no order of calls can lose them.
 */
#ifndef MACHINE_LOGIN_H
#define MACHINE_LOGIN_H

#include <jansson.h>
#include <sys/resource.h>

#include "machine/cpus.h"

/* Sets the saved limits for this process; async-signal-safe. Returns 0, or -1 with errno. */
int login_restore(void);
/* The CPUs that restbench was started with, before it moved to some of them; borrowed. Empty: not known. */
const struct cpus *login_cpus(void);
/* A saved one. */
struct rlimit login_limit(int resource);
/* {"nofile": {"soft": 1024, "hard": null}, ...}; null: unlimited. */
json_t *login_limits_to_json(void);

#endif
