/*
 * outgoing - whom processes talk to: the far ends of the TCP connections that they hold, but for those to the port
 * that they serve themselves.
 *
 * It reads /proc/PID/fd of these processes and the machine's two tables of TCP sockets: outside measured windows.
 */
#ifndef MACHINE_OUTGOING_H
#define MACHINE_OUTGOING_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct outgoing {
    int *ports; /* of the far ends, each once, in rising order; the caller's: outgoing_free() */
    size_t count;
};

/* Established connections of `pids` whose own port is not `served_port`. -1: the tables cannot be read. */
int outgoing_find(const char *proc, const pid_t *pids, size_t pid_count, int served_port, struct outgoing *outgoing,
                  struct err *err);
void outgoing_free(struct outgoing *outgoing);

#endif
