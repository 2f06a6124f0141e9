/*
 * limits - what the system allows, checked before the run: descriptors and local ports.
 */
#ifndef LOAD_LIMITS_H
#define LOAD_LIMITS_H

#include <stdint.h>

#include "base/err.h"

/* Raises the soft limit of open files as far as `connections` need; one line when the hard limit is too low. */
int limits_raise(int64_t connections, struct err *err);
/* One address has at most so many local ports for one server; 0: unknown. */
int64_t limits_local_ports(void);
/* The CPUs that this process may run on, at least 1. */
int limits_cpus(void);

#endif
