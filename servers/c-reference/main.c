/* The reference server: one thread, one epoll, PostgreSQL through pipelined connections. The environment says
 * everything: HOST, PORT, DATABASE_URL, DB_POOL, JWT_SECRET. SIGTERM or SIGINT ends it, after the answers that are
 * being made, with status 0. It says nothing but why it could not start.
 *
 * A client's connection has buffers only while there is something in them, so an idle one costs its struct. One read
 * takes a request, one write sends its answer; answers to pipelined requests leave together. */
#include "http.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS = 512,
    READ_SIZE = 64 * 1024,
    READ_MIN = 4096,
    SPARE_MAX = 1024 * 1024,
    TICK_MS = 500,
    START_LIMIT_MS = 10000,
    DRAIN_LIMIT_MS = 2000,
    IDLE_LIMIT_MS = 75000,
    LINGER_LIMIT_MS = 2000,
};

/* What an event's pointer points to begins with one of these. */
enum kind { KIND_LISTEN, KIND_SIGNAL, KIND_DB, KIND_CONN };

struct conn {
    int kind, fd;
    struct conn *next, *prev; /* in the list of open ones; next alone in the list of closed ones */
    struct exchange x;
    int64_t active_ms;
    bool readable;   /* the socket may hold bytes that were not read */
    bool peer_ended; /* its end was announced, so read until it is seen */
    bool ended;      /* its end was read */
    bool lingering;  /* our end is closed, the rest of the input is thrown away */
    bool dead;
};

static struct {
    int kind, fd;
    bool paused;
} listener = {KIND_LISTEN, -1, false}, signals = {KIND_SIGNAL, -1, false};

static int epoll;
static int64_t now_ms, tick_ms;
static bool stopping;
static struct conn *open_conns, *closed_conns;
static struct buf spare_in, spare_out;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "c-reference: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    return 1;
}

static int watch(int op, int fd, void *what, unsigned events)
{
    struct epoll_event e = {.events = events, .data.ptr = what};
    return epoll_ctl(epoll, op, fd, &e);
}

/* ---- a client's connection ---- */

static void borrow(struct buf *b, struct buf *spare)
{
    if (!b->data) {
        *b = *spare;
        *spare = (struct buf){0};
    }
}

static void give_back(struct buf *b, struct buf *spare)
{
    if (!b->data || b->len > 0)
        return;
    if (spare->data || b->cap > SPARE_MAX)
        free(b->data);
    else
        *spare = *b;
    *b = (struct buf){0};
}

static void flush(struct conn *c)
{
    struct buf *b = &c->x.out;
    size_t sent = 0;
    while (sent < b->len && !c->dead) {
        ssize_t n = send(c->fd, b->data + sent, b->len - sent, MSG_NOSIGNAL);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            c->dead = true;
    }
    buf_drop(b, c->dead ? b->len : sent);
}

/* Reads once. Returns whether there may be more to do. */
static bool fill(struct conn *c)
{
    struct buf *b = &c->x.in;
    if (!c->readable || c->dead)
        return false;
    buf_reserve(b, b->len > 0 ? READ_MIN : READ_SIZE);
    size_t room = b->cap - b->len;
    ssize_t n = recv(c->fd, b->data + b->len, room, 0);
    if (n > 0) {
        b->len += (size_t)n;
        c->active_ms = now_ms;
        c->readable = (size_t)n == room || c->peer_ended;
        return true;
    }
    if (n < 0 && errno == EINTR)
        return true;
    c->readable = false;
    c->ended = n == 0;
    c->dead = n < 0 && errno != EAGAIN;
    return false;
}

static void conn_close(struct conn *c)
{
    close(c->fd);
    c->fd = -1;
    *(c->prev ? &c->prev->next : &open_conns) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->next = closed_conns;
    closed_conns = c;
}

/* Closing with unread input would reset the connection and could take the last answer with it. */
static void linger(struct conn *c)
{
    if (!c->lingering) {
        shutdown(c->fd, SHUT_WR);
        c->lingering = true;
        c->readable = true;
    }
    do
        c->x.in.len = 0;
    while (fill(c));
}

static void run(struct conn *c)
{
    struct exchange *x = &c->x;
    bool starved;
    borrow(&x->in, &spare_in);
    borrow(&x->out, &spare_out);
    do {
        starved = !c->dead && http_take(x);
        flush(c);
    } while (!c->dead && http_may_take(x) && (!starved || fill(c)));
    if (x->closing && !x->waiting && x->out.len == 0)
        linger(c);
    give_back(&x->in, &spare_in);
    give_back(&x->out, &spare_out);
    if (!x->waiting && (c->dead || (c->ended && x->out.len == 0)))
        conn_close(c);
}

static void conn_on_event(struct conn *c, unsigned events)
{
    if (c->fd < 0)
        return;
    c->dead |= (events & (EPOLLERR | EPOLLHUP)) != 0;
    c->peer_ended |= (events & EPOLLRDHUP) != 0;
    c->readable |= (events & (EPOLLIN | EPOLLRDHUP)) != 0;
    if (!c->x.waiting)
        run(c);
}

static void conn_on_answer(struct db_query *q, int status, const struct buf *body)
{
    struct conn *c = (struct conn *)((char *)q - offsetof(struct conn, x.query));
    c->x.waiting = false;
    borrow(&c->x.out, &spare_out);
    http_answer(&c->x, status, NULL, body->data, body->len);
    run(c);
}

static void conn_open(int fd)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c || watch(EPOLL_CTL_ADD, fd, c, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) != 0) {
        free(c);
        close(fd);
        return;
    }
    c->kind = KIND_CONN;
    c->fd = fd;
    c->active_ms = now_ms;
    c->next = open_conns;
    if (c->next)
        c->next->prev = c;
    open_conns = c;
}

/* Freed when no event of the round can mean it any more. */
static void free_closed(void)
{
    while (closed_conns) {
        struct conn *c = closed_conns;
        closed_conns = c->next;
        buf_free(&c->x.in);
        buf_free(&c->x.out);
        free(c);
    }
}

static void close_silent(void)
{
    for (struct conn *c = open_conns, *next; c; c = next) {
        next = c->next;
        if (!c->x.waiting && now_ms - c->active_ms > (c->lingering ? LINGER_LIMIT_MS : IDLE_LIMIT_MS))
            conn_close(c);
    }
}

/* Closes what is idle, and makes the others' answer their last one; returns whether there are others. */
static bool close_idle(void)
{
    for (struct conn *c = open_conns, *next; c; c = next) {
        next = c->next;
        c->x.close = true;
        c->x.closing = !c->x.waiting;
        if (!c->x.waiting && c->x.out.len == 0)
            conn_close(c);
    }
    return open_conns != NULL;
}

/* ---- the process ---- */

static void read_clocks(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    http_set_time(t.tv_sec);
}

static const char *listen_at(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found, *a;
    int wrong = getaddrinfo(host, port, &hints, &found), one = 1;
    if (wrong)
        return gai_strerror(wrong);
    for (a = found; a; a = a->ai_next) {
        listener.fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
        setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        /* Accepted sockets inherit it: an answer must not wait for the one before it to be acknowledged. */
        setsockopt(listener.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (bind(listener.fd, a->ai_addr, a->ai_addrlen) == 0 && listen(listener.fd, SOMAXCONN) == 0)
            break;
        wrong = errno;
        close(listener.fd);
    }
    freeaddrinfo(found);
    if (!a)
        return strerror(wrong);
    watch(EPOLL_CTL_ADD, listener.fd, &listener, EPOLLIN);
    return NULL;
}

static void accept_all(void)
{
    for (;;) {
        int fd = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            conn_open(fd);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
            /* No descriptor or memory left: let them wait in the backlog until the next tick. */
            listener.paused = true;
            watch(EPOLL_CTL_MOD, listener.fd, &listener, 0);
        }
        return;
    }
}

static void tick(void)
{
    if (now_ms - tick_ms < TICK_MS)
        return;
    tick_ms = now_ms;
    db_on_tick(now_ms);
    close_silent();
    if (listener.paused) {
        listener.paused = false;
        watch(EPOLL_CTL_MOD, listener.fd, &listener, EPOLLIN);
    }
}

static void round_of_events(void)
{
    static struct epoll_event event[EVENTS];
    int n = epoll_wait(epoll, event, EVENTS, TICK_MS);
    read_clocks();
    for (int i = 0; i < n; i++) {
        void *what = event[i].data.ptr;
        switch (*(enum kind *)what) {
        case KIND_CONN:
            conn_on_event(what, event[i].events);
            break;
        case KIND_DB:
            db_on_event(what, event[i].events);
            break;
        case KIND_LISTEN:
            accept_all();
            break;
        case KIND_SIGNAL:
            stopping = true;
        }
    }
    tick();
    free_closed();
}

static void drain(void)
{
    int64_t until_ms = now_ms + DRAIN_LIMIT_MS;
    close(listener.fd);
    listener.paused = false;
    watch(EPOLL_CTL_DEL, signals.fd, NULL, 0);
    while (close_idle() && now_ms < until_ms)
        round_of_events();
}

int main(void)
{
    const char *host = getenv("HOST"), *port = getenv("PORT"), *url = getenv("DATABASE_URL"), *pool = getenv("DB_POOL");
    char *end = NULL;
    long links = pool ? strtol(pool, &end, 10) : 16;
    if (!port || !*port)
        return fail("PORT is not set", NULL);
    if (!url || !*url)
        return fail("DATABASE_URL is not set", NULL);
    if (pool && (end == pool || *end || links < 1 || links > 1000))
        return fail("DB_POOL", "not a number from 1 to 1000");

    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || signals.fd < 0)
        return fail("epoll", strerror(errno));
    watch(EPOLL_CTL_ADD, signals.fd, &signals, EPOLLIN);

    const char *wrong = http_init(getenv("JWT_SECRET"));
    if (wrong)
        return fail(wrong, NULL);
    read_clocks();
    tick_ms = now_ms;
    int64_t until_ms = now_ms + START_LIMIT_MS;
    wrong = db_open(url, (int)links, epoll, KIND_DB, conn_on_answer, now_ms);
    if (wrong)
        return fail(wrong, NULL);
    while (db_ready() < links && !stopping) {
        round_of_events();
        if (now_ms > until_ms)
            return fail("no connection to the database", db_last_error());
    }
    if (!stopping && (wrong = listen_at(host && *host ? host : "127.0.0.1", port)) != NULL)
        return fail("cannot listen", wrong);
    while (!stopping)
        round_of_events();
    drain();
    db_close();
    return 0;
}
