/* listener_owner - more about the sockets of a struct listener than the tables tell; for machine/listener alone. */
#ifndef MACHINE_LISTENER_OWNER_H
#define MACHINE_LISTENER_OWNER_H

#include "machine/listener.h"

/* Fills the owners of all sockets and connections. */
void listener_owner_find(const char *proc, struct listener *listener);

/* Clears `reaches` of sockets that take IPv6 alone. Asks the kernel, not a /proc. */
void listener_diag_v6_only(struct listener *listener);

#endif
