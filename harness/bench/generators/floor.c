/*
 * floor - what no generator can be cheaper than: epoll, one send and as many recv as an answer needs, no parsing, no
 * clock, no histogram. It trusts that every answer is as long as the first one.
 *
 *     floor PORT CONNECTIONS SECONDS [close]       prints "requests N"
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_FDS 70000

static char request[256];
static size_t request_len, answer_len;
static size_t got[MAX_FDS];
static int fds[MAX_FDS];
static int epoll_fd, close_each;
static struct sockaddr_in address = {.sin_family = AF_INET};
static unsigned long requests;
static volatile sig_atomic_t over;

static void stop(int signal)
{
    (void)signal;
    over = 1;
}

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

static void begin(int fd)
{
    got[fd] = 0;
    if (send(fd, request, request_len, MSG_NOSIGNAL) != (ssize_t)request_len)
        fail("floor: send");
}

/* A connection that does not block yet: its request goes out when EPOLLOUT says that it is there. */
static int dial(int flags)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    if (fd < 0 || fd >= MAX_FDS)
        fail("floor: socket");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (!close_each)
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4); /* as restbench: nothing to do, at the least cost */
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno != EINPROGRESS)
        fail("floor: connect");
    return fd;
}

static void watch(int fd, uint32_t what)
{
    struct epoll_event event = {.events = what | EPOLLET, .data.fd = fd};

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        fail("floor: epoll_ctl");
}

/* On a new connection: head and length of an answer, so that later ones need no parsing. */
static void measure_answer(void)
{
    char buffer[65536], *end = NULL;
    size_t len = 0;
    int fd = dial(0);

    begin(fd);
    while (end == NULL || len < answer_len) {
        ssize_t n = recv(fd, buffer + len, sizeof buffer - 1 - len, 0);

        if (n <= 0)
            fail("floor: the first answer");
        len += (size_t)n;
        buffer[len] = '\0';
        end = strstr(buffer, "\r\n\r\n");
        if (end != NULL)
            answer_len = (size_t)(end + 4 - buffer) + strtoul(strstr(buffer, "Content-Length: ") + 16, NULL, 10);
    }
    close(fd);
}

static void next(int fd)
{
    requests++;
    if (!close_each) {
        if (!over)
            begin(fd);
        return;
    }
    close(fd);
    if (!over)
        watch(dial(SOCK_NONBLOCK), EPOLLIN | EPOLLOUT);
}

static void readable(int fd)
{
    static char buffer[65536];
    ssize_t n;

    do {
        n = recv(fd, buffer, sizeof buffer, 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0 && (!close_each || got[fd] != answer_len))
            fail("floor: an answer was cut");
        if (n > 0)
            got[fd] += (size_t)n;
    } while (n == (ssize_t)sizeof buffer || (close_each && n > 0)); /* then the FIN, which often is there already */
    if (n == 0 || got[fd] == answer_len)
        next(fd);
}

int main(int argc, char **argv)
{
    struct epoll_event events[512];
    struct rlimit limit;
    int connections;

    if (argc < 4 || atoi(argv[2]) < 1 || atoi(argv[2]) > MAX_FDS - 100) {
        fprintf(stderr, "usage: floor PORT CONNECTIONS SECONDS [close]\n");
        return 2;
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)atoi(argv[1]));
    connections = atoi(argv[2]);
    close_each = argc > 4;
    request_len = (size_t)snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n", argv[1]);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    measure_answer();
    signal(SIGALRM, stop);
    alarm((unsigned)atoi(argv[3]));
    for (int i = 0; i < connections; i++) {
        fds[i] = dial(close_each ? SOCK_NONBLOCK : 0);
        watch(fds[i], EPOLLIN | (close_each ? (uint32_t)EPOLLOUT : 0));
    }
    for (int i = 0; i < connections && !close_each; i++)
        begin(fds[i]);
    while (!over) {
        int count = epoll_wait(epoll_fd, events, 512, -1);

        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;

            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                readable(fd);
            else if (events[i].events & EPOLLOUT)
                begin(fd);
        }
    }
    printf("requests %lu\n", requests);
    return 0;
}
