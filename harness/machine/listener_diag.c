/* Whether a listener on [::] takes IPv4 too: only the kernel's socket diagnosis tells, /proc/net/tcp6 does not. */
#include "machine/listener_owner.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LISTEN 10

static bool ask(int fd)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {
        .head = {.nlmsg_len = sizeof request,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.sdiag_family = AF_INET6, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1U << LISTEN},
    };

    return send(fd, &request, sizeof request, 0) == (ssize_t)sizeof request;
}

static bool is_v6_only(const struct nlmsghdr *message)
{
    const struct inet_diag_msg *body = NLMSG_DATA(message);
    const struct rtattr *attribute = (const struct rtattr *)(body + 1);
    int left = (int)NLMSG_PAYLOAD(message, sizeof *body);

    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == INET_DIAG_SKV6ONLY && RTA_PAYLOAD(attribute) >= 1)
            return *(const unsigned char *)RTA_DATA(attribute) != 0;
    return false;
}

static void note_v6_only(const struct nlmsghdr *message, struct listener *listener)
{
    const struct inet_diag_msg *body = NLMSG_DATA(message);

    if (message->nlmsg_len < NLMSG_LENGTH(sizeof *body) || !is_v6_only(message))
        return;
    for (size_t i = 0; i < listener->count; i++)
        if (listener->sockets[i].ipv6 && listener->sockets[i].inode == body->idiag_inode)
            listener->sockets[i].reaches = false;
}

void listener_diag_v6_only(struct listener *listener)
{
    struct timeval limit = {.tv_sec = 2};
    union {
        struct nlmsghdr head;
        char bytes[32768];
    } answer;
    bool done = false;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    /* Where it cannot be asked (a filter, a kernel without it), [::] is taken to reach IPv4, as it does by default. */
    if (fd < 0)
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    done = !ask(fd);
    while (!done) {
        ssize_t n = recv(fd, &answer, sizeof answer, 0);
        size_t left = n > 0 ? (size_t)n : 0;

        done = n <= 0;
        for (const struct nlmsghdr *message = &answer.head; NLMSG_OK(message, left);
             message = NLMSG_NEXT(message, left)) {
            if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) {
                done = true;
                break;
            }
            note_v6_only(message, listener);
        }
    }
    (void)close(fd);
}
