/*
 * address - a host and port resolved once, before the clock; every connection of a run uses the one address.
 *
 * A name with several addresses is tried in the resolver's order: the first that accepts a connection is taken.
 */
#ifndef LOAD_ADDRESS_H
#define LOAD_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

struct address {
    struct sockaddr_storage socket;
    socklen_t len;
    bool loopback;
    char text[80]; /* "127.0.0.1:8080", "[::1]:8080" */
};

int address_resolve(const char *host, const char *port, int64_t timeout_ns, struct address *address, struct err *err);

#endif
