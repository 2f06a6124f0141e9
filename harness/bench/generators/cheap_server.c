/*
 * cheap_server - the cheapest HTTP server that a generator can be measured against: one thread, edge-triggered epoll,
 * one recv and one send a request, a fixed answer. Its own count decides how many requests there were.
 *
 *     cheap_server BYTES [close]       prints "port N"; when standard input ends: "answers N connections N"
 *
 * Requests must have no body; an answer counts when its last byte is in the socket. With `close` it ends each
 * connection after its answer, so that the TIME_WAIT is the server's and no client runs out of ports.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_FDS 70000

struct connection {
    size_t unsent;    /* of the answer that is going out */
    unsigned matched; /* bytes of the head's end that the last read ended with */
    unsigned due;     /* answers owed beyond the one going out */
};

static struct connection connections[MAX_FDS];
static char *answer;
static size_t answer_len;
static int close_after;
static int epoll_fd;
static unsigned long answers, accepted;

static void end(int fd)
{
    memset(&connections[fd], 0, sizeof connections[fd]);
    close(fd);
}

/* Sends what is owed; returns -1 when the connection has ended. */
static int answer_due(int fd, struct connection *c)
{
    while (c->unsent > 0 || c->due > 0) {
        ssize_t n;

        if (c->unsent == 0) {
            c->unsent = answer_len;
            c->due--;
        }
        n = send(fd, answer + answer_len - c->unsent, c->unsent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0) {
            end(fd);
            return -1;
        }
        c->unsent -= (size_t)n;
        if (c->unsent > 0)
            return 0; /* EPOLLOUT will come: the buffer is full */
        answers++;
        if (close_after) {
            end(fd);
            return -1;
        }
    }
    return 0;
}

static void serve(int fd)
{
    static const char end_of_head[] = "\r\n\r\n";
    static char buffer[65536];
    struct connection *c = &connections[fd];

    for (;;) {
        ssize_t n = recv(fd, buffer, sizeof buffer, 0);

        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            end(fd);
            return;
        }
        if (n < 0)
            break;
        if (c->matched == 0 && n >= 4 && memcmp(buffer + n - 4, end_of_head, 4) == 0 &&
            memmem(buffer, (size_t)n - 4, end_of_head, 4) == NULL) {
            c->due++; /* one whole request: the usual case */
        } else {
            for (ssize_t i = 0; i < n; i++) {
                c->matched = buffer[i] == end_of_head[c->matched] ? c->matched + 1 : buffer[i] == '\r';
                if (c->matched == 4) {
                    c->matched = 0;
                    c->due++;
                }
            }
        }
        if (answer_due(fd, c) != 0)
            return;
        if (n < (ssize_t)sizeof buffer)
            return; /* edge-triggered: what comes later makes another event */
    }
    answer_due(fd, c);
}

static void accept_all(int listener)
{
    for (;;) {
        int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = fd};

        if (fd < 0)
            return;
        if (fd >= MAX_FDS) {
            close(fd);
            continue;
        }
        accepted++;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
}

static int listen_anywhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    /* The plainest congestion control for all that is accepted: pacing timers would be charged to the generator. */
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 65535) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
        perror("cheap_server");
        exit(2);
    }
    printf("port %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void make_answer(size_t bytes)
{
    char head[128];
    int len =
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n%s\r\n",
                 bytes, close_after ? "Connection: close\r\n" : "");

    answer_len = (size_t)len + bytes;
    answer = malloc(answer_len);
    if (answer == NULL)
        exit(2);
    memcpy(answer, head, (size_t)len);
    memset(answer + len, 'x', bytes);
}

int main(int argc, char **argv)
{
    struct epoll_event events[512], event = {.events = EPOLLIN};
    struct rlimit limit;
    int listener;

    if (argc < 2) {
        fprintf(stderr, "usage: cheap_server BYTES [close]\n");
        return 2;
    }
    close_after = argc > 2 && strcmp(argv[2], "close") == 0;
    make_answer(strtoul(argv[1], NULL, 10));
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    listener = listen_anywhere();
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    event.data.fd = STDIN_FILENO;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    event.data.fd = listener;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(epoll_fd, events, 512, -1);

        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;

            if (fd == STDIN_FILENO) {
                printf("answers %lu connections %lu\n", answers, accepted);
                return 0;
            }
            if (fd == listener)
                accept_all(listener);
            else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP))
                serve(fd);
            else
                answer_due(fd, &connections[fd]);
        }
    }
}
