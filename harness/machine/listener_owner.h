/* listener_owner - which processes hold the sockets of a struct listener; for machine/listener alone. */
#ifndef MACHINE_LISTENER_OWNER_H
#define MACHINE_LISTENER_OWNER_H

#include "machine/listener.h"

/* Fills the owners of all sockets and connections. */
void listener_owner_find(const char *proc, struct listener *listener);

#endif
