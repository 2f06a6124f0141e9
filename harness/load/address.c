#include "load/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

static bool is_loopback(const struct sockaddr *socket)
{
    if (socket->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)socket)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)socket)->sin6_addr);
}

static void set(struct address *address, const struct addrinfo *info)
{
    char host[64] = "?";
    char port[8] = "?";

    memcpy(&address->socket, info->ai_addr, info->ai_addrlen);
    address->len = info->ai_addrlen;
    address->loopback = is_loopback(info->ai_addr);
    (void)getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(address->text, sizeof address->text, info->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* 0 when a connection was accepted, else an errno. */
static int try(const struct address *address, int64_t timeout_ns)
{
    int fd = socket(address->socket.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    socklen_t len = sizeof(int);
    int error = 0;

    if (fd < 0)
        return errno;
    if (connect(fd, (const struct sockaddr *)&address->socket, address->len) != 0 && errno != EINPROGRESS)
        error = errno;
    else if (poll(&poll_fd, 1, (int)(timeout_ns / CLOCK_NS_PER_MS) + 1) <= 0)
        error = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    (void)close(fd);
    return error;
}

static bool seen_before(const struct addrinfo *list, const struct addrinfo *info)
{
    for (; list != info; list = list->ai_next)
        if (list->ai_addrlen == info->ai_addrlen && memcmp(list->ai_addr, info->ai_addr, info->ai_addrlen) == 0)
            return true;
    return false;
}

static int choose(const struct addrinfo *list, int64_t timeout_ns, struct address *address, struct err *err)
{
    struct text tried = {0};

    set(address, list);
    if (list->ai_next == NULL)
        return 0;
    for (const struct addrinfo *info = list; info != NULL; info = info->ai_next) {
        int error;

        if (seen_before(list, info))
            continue;
        set(address, info);
        error = try(address, timeout_ns);
        if (error == 0) {
            text_free(&tried);
            return 0;
        }
        text_addf(&tried, "%s%s: %s", tried.len > 0 ? "; " : "", address->text, strerror(error));
    }
    (void)err_set(err, "no connection: %s", text_string(&tried));
    text_free(&tried);
    return -1;
}

int address_resolve(const char *host, const char *port, int64_t timeout_ns, struct address *address, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, port, &hints, &list);

    if (rc != 0)
        return err_set(err, "%s: the host cannot be resolved: %s", host,
                       rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    rc = choose(list, timeout_ns, address, err);
    freeaddrinfo(list);
    return rc;
}
