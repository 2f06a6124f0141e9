/*
 * peers - does a server make its answers itself? A test server talks to its clients and to the database; one that
 * passes its requests on to a process that we did not start would be measured without that process's CPU and memory.
 */
#ifndef TARGET_PEERS_H
#define TARGET_PEERS_H

#include "base/err.h"

struct server;

/*
 * 0 when every TCP connection that the server's processes hold now leads to a client, to `database_port` or to one of
 * themselves, or when it cannot be told. -1 (ERR_FAILED): the error names the process at the other end.
 */
int peers_check(const struct server *server, int database_port, struct err *err);

#endif
