#include "machine/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { FIRST = 15433, COUNT = 17000, TRIES = 200, STEP = 31 };

static bool is_free(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;

    if (fd >= 0)
        (void)close(fd);
    return bound;
}

int port_choose(void)
{
    /* Two processes that ask at one moment shall not begin at one port. */
    unsigned start = (unsigned)clock_mono_ns() ^ (unsigned)getpid() * 2654435761u;

    for (unsigned i = 0; i < TRIES; i++) {
        int port = FIRST + (int)((start / 7 + i * STEP) % COUNT);

        if (is_free(port))
            return port;
    }
    return 0;
}
