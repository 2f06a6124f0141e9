/*
 * Edge-triggered epoll. A connection is registered once; after that a request costs one send and one recv. A recv that
 * fills less than the buffer has drained the socket, so the EAGAIN is never fetched; the end of a connection is seen by
 * EPOLLRDHUP, which comes with the data or as an edge of its own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "load/dial.h"
#include "load/flow.h"

#define BATCH 256
/* Full buffers read from one connection before the others have their turn. */
#define READS_IN_A_ROW 8

/* Connections that are dialled before the first of them gets its request: well below a millisecond. */
#define DIAL_GROUP 16

#define ENDED (EPOLLRDHUP | EPOLLHUP | EPOLLERR)

struct state {
    int epoll_fd;
    bool coarse; /* there is no epoll_pwait2 */
    uint32_t again_count;
    struct conn **again; /* connections that have more to read than their turn allowed */
    struct conn *dialled[DIAL_GROUP];
    unsigned dialled_count;
    struct epoll_event events[BATCH];
};

static int engine_open(struct worker *worker, struct err *err)
{
    struct state *state = text_alloc(sizeof *state);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

    worker->engine_state = state;
    /* Twice: a connection may be due for another turn while the list is walked. */
    state->again = text_alloc(2 * (size_t)worker->conn_count * sizeof(struct conn *));
    state->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (state->epoll_fd < 0)
        return err_sys(err, "epoll");
    if (epoll_ctl(state->epoll_fd, EPOLL_CTL_ADD, worker->wake_fd, &event) != 0)
        return err_sys(err, "epoll");
    return 0;
}

static void engine_close(struct worker *worker)
{
    struct state *state = worker->engine_state;

    if (state == NULL)
        return;
    for (uint32_t i = 0; i < worker->conn_count; i++)
        if (worker->conns[i].fd >= 0)
            (void)close(worker->conns[i].fd);
    if (state->epoll_fd >= 0)
        (void)close(state->epoll_fd);
    free(state->again);
    free(state);
    worker->engine_state = NULL;
}

static void watch(struct worker *worker, struct conn *conn, int operation, bool out)
{
    struct state *state = worker->engine_state;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = conn};

    if (out)
        event.events |= EPOLLOUT;
    conn->wants_out = out;
    /* Fails only when memory is gone; then the deadline ends what waits for this connection. */
    (void)epoll_ctl(state->epoll_fd, operation, conn->fd, &event);
}

/*
 * On loopback a connection is open when connect() returns, though it does not say so: sending shows it. Returns 0, or
 * the errno; EAGAIN: it is not open yet.
 */
static int send_at_once(struct worker *worker, struct conn *conn)
{
    ssize_t n;

    if (!flow_start_early(worker, conn))
        return EAGAIN;
    n = send(conn->fd, conn->out, conn->out_len, MSG_NOSIGNAL);
    if (n > 0) {
        flow_start_kept(worker, conn);
        conn->sent = (size_t)n;
        worker->tally->bytes_written += (size_t)n;
        return 0;
    }
    n = errno;
    flow_start_undo(worker, conn);
    return (int)n;
}

static void start_dialled(struct worker *worker, struct conn *conn, bool again)
{
    int error = send_at_once(worker, conn);

    if (error == 0 || error == EAGAIN) {
        bool out = error == EAGAIN || conn->sent < conn->out_len;

        if (!again || (out && !conn->wants_out))
            watch(worker, conn, again ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, out);
    } else if (error == ECONNRESET || error == EPIPE) {
        /* It was open, and has ended. */
        conn->state = CONN_IDLE;
        flow_end(worker, conn, error);
    } else {
        flow_connect_failed(worker, conn, error);
    }
}

/* They may be dialled again meanwhile, which begins the next group. */
static void start_group(struct worker *worker)
{
    struct state *state = worker->engine_state;
    struct conn *group[DIAL_GROUP];
    unsigned count = state->dialled_count;

    memcpy(group, state->dialled, count * sizeof *group);
    state->dialled_count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!group[i]->dialled)
            continue;
        group[i]->dialled = false;
        start_dialled(worker, group[i], true);
    }
}

/*
 * The server wakes up for a request that brings its connection with it (save_ack). Where requests follow each other
 * faster than it can answer it wakes up once for all of them, and waking a CPU is dear; hence they go out in groups.
 */
static void engine_connect(struct worker *worker, struct conn *conn)
{
    struct state *state = worker->engine_state;
    const struct address *address = &worker->plan->address;
    bool again = conn->fd >= 0;

    if (!again) {
        conn->fd = dial_socket(worker->plan, SOCK_NONBLOCK);
        if (conn->fd < 0) {
            flow_connect_failed(worker, conn, errno);
            return;
        }
    }
    if (connect(conn->fd, (const struct sockaddr *)&address->socket, address->len) != 0 && errno != EINPROGRESS) {
        flow_connect_failed(worker, conn, errno);
        return;
    }
    conn->connected_ns = worker_clock_ns();
    if (!conn->saves_ack) {
        start_dialled(worker, conn, again);
        return;
    }
    conn->dialled = true;
    state->dialled[state->dialled_count++] = conn;
    if (state->dialled_count == DIAL_GROUP)
        start_group(worker);
}

static void engine_drop(struct worker *worker, struct conn *conn)
{
    (void)worker;
    if (conn->fd >= 0)
        (void)close(conn->fd);
    conn->fd = -1;
    conn->saves_ack = false;
    conn->dialled = false;
}

/*
 * The request follows at once and acknowledges the SYN-ACK itself, so that a connection costs a packet less. A request
 * that does not follow is waited for 200 ms, then the kernel acknowledges; hence not for a first connection.
 */
static void save_ack(struct conn *conn)
{
    const int second = 1;

    if (conn->saves_ack)
        return;
    (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &second, sizeof second);
    conn->saves_ack = true;
}

static void engine_redial(struct worker *worker, struct conn *conn)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

    /* Our FIN is answered before shutdown() returns on loopback, only there. */
    if (!worker->plan->address.loopback || shutdown(conn->fd, SHUT_WR) != 0 ||
        connect(conn->fd, &nobody, sizeof nobody) != 0)
        engine_drop(worker, conn);
    else if (worker->plan->rate == 0)
        save_ack(conn);
}

static void engine_send(struct worker *worker, struct conn *conn)
{
    ssize_t n = send(conn->fd, conn->out + conn->sent, conn->out_len - conn->sent, MSG_NOSIGNAL);

    while (__builtin_expect(n > 0, 1)) {
        conn->sent += (size_t)n;
        worker->tally->bytes_written += (size_t)n;
        if (conn->sent < conn->out_len)
            break;
        if (__builtin_expect(conn->tls == NULL, 1) || !flow_refill(worker, conn))
            return;
        n = send(conn->fd, conn->out, conn->out_len, MSG_NOSIGNAL);
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR && conn->sent == 0 && conn->fresh && conn->tls == NULL) {
        flow_unsent(worker, conn);
        return;
    }
    /* The rest when there is room; a broken pipe is left to the reading side, where an answer may lie. */
    if (!conn->wants_out)
        watch(worker, conn, EPOLL_CTL_MOD, true);
}

static void read_again(struct worker *worker, struct conn *conn)
{
    struct state *state = worker->engine_state;

    for (uint32_t i = 0; i < state->again_count; i++)
        if (state->again[i] == conn)
            return;
    state->again[state->again_count++] = conn;
}

/* MSG_TRUNC passes bytes over without copying them. By number: a sanitizer's recv() would look for the buffer. */
static ssize_t receive(const struct worker *worker, const struct conn *conn, size_t want, bool skip)
{
    if (skip)
        return syscall(SYS_recvfrom, conn->fd, NULL, want, MSG_TRUNC, NULL, NULL);
    return recv(conn->fd, worker->buffer, want, 0);
}

static void readable(struct worker *worker, struct conn *conn)
{
    for (int reads = 0; reads < READS_IN_A_ROW; reads++) {
        bool skip;
        size_t want = flow_wanted(worker, conn, &skip);
        ssize_t n = receive(worker, conn, want, skip);
        bool drained = n < (ssize_t)want;

        if (n <= 0) {
            if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
            flow_end(worker, conn, n < 0 ? errno : 0);
            return;
        }
        switch (skip ? flow_skipped(worker, conn, (size_t)n) : flow_received(worker, conn, worker->buffer, (size_t)n)) {
        case FLOW_NEXT:
            if (flow_start(worker, conn))
                engine_send(worker, conn);
            if (drained)
                return;
            break;
        case FLOW_WAIT:
            if (drained && !conn->ended)
                return;
            break;
        default:
            return;
        }
    }
    read_again(worker, conn);
}

static void connected(struct worker *worker, struct conn *conn, uint32_t events)
{
    int error = 0;
    socklen_t len = sizeof error;

    if ((events & (EPOLLERR | EPOLLHUP)) != 0 && getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error != 0)
        flow_connect_failed(worker, conn, error);
    else
        flow_opened(worker, conn);
}

static void handle(struct worker *worker, struct conn *conn, uint32_t events)
{
    if (conn->state == CONN_CONNECTING) {
        connected(worker, conn, events);
    } else if ((events & EPOLLOUT) != 0 && conn->sent < conn->out_len &&
               (conn->state == CONN_BUSY || conn->state == CONN_HANDSHAKE)) {
        engine_send(worker, conn);
    }
    /* It may have been closed and opened again by now: the events are those of the old socket. */
    if (conn->state == CONN_CONNECTING)
        return;
    if (conn->state == CONN_CLOSING && (events & ENDED) != 0) {
        flow_end(worker, conn, 0);
    } else if (conn->fd >= 0 && (events & (EPOLLIN | ENDED)) != 0) {
        if ((events & ENDED) != 0)
            conn->ended = true;
        readable(worker, conn);
    }
}

static int wait_events(struct state *state, int64_t until_ns, int64_t now_ns)
{
    int64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {wait_ns / CLOCK_NS_PER_S, wait_ns % CLOCK_NS_PER_S};
    int n;

    if (!state->coarse) {
        n = epoll_pwait2(state->epoll_fd, state->events, BATCH, until_ns == INT64_MAX ? NULL : &timeout, NULL);
        if (n >= 0 || errno != ENOSYS)
            return n;
        state->coarse = true;
    }
    /* Kernels before 5.11 wait in whole milliseconds: never late, so the last one is spent asking. */
    return epoll_wait(state->epoll_fd, state->events, BATCH,
                      until_ns == INT64_MAX ? -1
                      : wait_ns > INT32_MAX ? 1000
                                            : (int)(wait_ns / CLOCK_NS_PER_MS));
}

static void engine_turn(struct worker *worker, int64_t until_ns)
{
    struct state *state = worker->engine_state;
    uint32_t again_count = state->again_count;
    int n;

    while (state->dialled_count > 0)
        start_group(worker);
    n = wait_events(state, again_count > 0 ? 0 : until_ns, worker->now_ns);
    for (int i = 0; i < n; i++) {
        struct conn *conn = state->events[i].data.ptr;

        if (i + 1 < n)
            worker_fetch(state->events[i + 1].data.ptr);
        if (conn == NULL) {
            uint64_t count;

            worker->woken = read(worker->wake_fd, &count, sizeof count) > 0;
        } else if (conn->fd >= 0) {
            handle(worker, conn, state->events[i].events);
        }
    }
    if (again_count > 0) {
        uint32_t added;

        for (uint32_t i = 0; i < again_count; i++) {
            struct conn *conn = state->again[i];

            state->again[i] = NULL;
            if (conn->fd >= 0 && conn->state != CONN_CONNECTING)
                readable(worker, conn);
        }
        added = state->again_count - again_count;
        memmove(state->again, state->again + again_count, added * sizeof(struct conn *));
        state->again_count = added;
    }
}

const struct engine engine_epoll = {
    .name = "epoll",
    .open = engine_open,
    .close = engine_close,
    .connect = engine_connect,
    .send = engine_send,
    .drop = engine_drop,
    .redial = engine_redial,
    .turn = engine_turn,
};
