/*
 * listener - who listens on a TCP port of this machine, and whose processes its connections end in.
 *
 * listener_find() reads both /proc/net/tcp and tcp6 (a dual-stack listener stands in tcp6 alone; a machine without
 * IPv6 has no such file) and finds the processes that hold each socket, through descriptors that they opened or
 * inherited. It walks /proc/PID/fd of all processes: outside measured windows. Sockets of other network namespaces are
 * not seen; owners that we may not look into are missing from a socket's list.
 */
#ifndef MACHINE_LISTENER_H
#define MACHINE_LISTENER_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct listener_socket {
    char address[INET6_ADDRSTRLEN];
    bool ipv6;
    bool wildcard; /* reachable through every address, not only loopback */
    bool reaches;  /* a connection to 127.0.0.1 may end here */
    uint64_t inode;
    pid_t *owners;
    size_t owner_count;
};

struct listener {
    int port;
    struct listener_socket *sockets; /* listening on the port */
    size_t count;
    /* Established connections to the port: their server ends. */
    struct listener_socket *connections;
    size_t connection_count;
};

/* `proc` is the root ("/proc"). -1: the tables cannot be read. */
int listener_find(const char *proc, int port, struct listener *listener, struct err *err);
void listener_free(struct listener *listener);

/* What the port looks like to a server whose processes are `pids`. */
struct listener_verdict {
    bool found;                 /* somebody listens where 127.0.0.1 reaches */
    bool ours;                  /* found, and every such socket is held by our processes alone */
    bool wildcard;              /* ours listens on a wildcard address */
    size_t foreign_sockets;     /* listening sockets that somebody else holds, too */
    size_t foreign_connections; /* connections that end in other processes */
    size_t unowned_connections; /* accepted by nobody yet, or not to be looked into */
    char foreign[256];          /* "process 123 (python3 squatter.py) on 0.0.0.0": one line, escaped; "" none */
};

void listener_judge(const char *proc, const struct listener *listener, const pid_t *pids, size_t pid_count,
                    struct listener_verdict *verdict);
/* The object "listener" of the details: {"ours","foreign":[text],"wildcard",...} */
json_t *listener_verdict_to_json(const struct listener_verdict *verdict);

/* 0 when nobody listens where 127.0.0.1:port reaches; else -1 and a line that names process and command. */
int listener_port_free(const char *proc, int port, struct err *err);

/* One line of /proc/net/tcp or tcp6; pure. -1: not a socket's line. */
struct listener_line {
    unsigned char address[16]; /* network order; IPv4 in the first four bytes */
    int port;
    int peer_port;
    int state; /* 1 established, 10 listen */
    uint64_t inode;
};
int listener_parse_line(const char *line, bool ipv6, struct listener_line *parsed);

#endif
