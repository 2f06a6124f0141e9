#include "load/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* Fits into one segment of any path. */
#define SMALL_REQUEST 1024

/*
 * A request that goes out in one piece before its answer gains nothing from options, so that a connection for one
 * request is spared them. Congestion control has nothing to do for requests this small; the plainest one costs least.
 */
int dial_socket(const struct load_plan *plan, int flags)
{
    int fd = socket(plan->address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    int one = 1;

    if (fd < 0)
        return -1;
    if (plan->largest_request > SMALL_REQUEST)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    else if (!plan->close)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    return fd;
}
