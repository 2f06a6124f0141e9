/* dial - a socket for one connection, with the options that make a request cheap; for both engines. */
#ifndef LOAD_DIAL_H
#define LOAD_DIAL_H

#include "load/worker.h"

/* A TCP socket for the plan's address; `flags` as SOCK_NONBLOCK. -1 and errno when there is none. */
int dial_socket(const struct load_plan *plan, int flags);

#endif
