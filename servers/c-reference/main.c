/* The reference server: one thread, one epoll, PostgreSQL through pipelined connections. The environment says
 * everything: HOST, PORT, DATABASE_URL, DB_POOL, JWT_SECRET. SIGTERM or SIGINT ends it, after the answers that are
 * being made, with status 0. It says nothing but why it could not start. */
#include "http.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, TICK_MS = 500, START_LIMIT_MS = 10000, DRAIN_LIMIT_MS = 2000 };

/* What an event's pointer points to begins with one of these. */
enum kind { KIND_LISTEN, KIND_SIGNAL, KIND_DB, KIND_HTTP };

static struct {
    int kind, fd;
    bool paused;
} listener = {KIND_LISTEN, -1, false}, signals = {KIND_SIGNAL, -1, false};

static int epoll;
static int64_t now_ms, tick_ms;
static bool stopping;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "c-reference: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    return 1;
}

static void watch(int op, int fd, void *what, unsigned events)
{
    struct epoll_event e = {.events = events, .data.ptr = what};
    epoll_ctl(epoll, op, fd, &e);
}

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
            http_accept(fd);
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
    http_on_tick(now_ms);
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
        case KIND_HTTP:
            http_on_event(what, event[i].events);
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
    http_reap();
}

static void drain(void)
{
    int64_t until_ms = now_ms + DRAIN_LIMIT_MS;
    close(listener.fd);
    listener.paused = false;
    watch(EPOLL_CTL_DEL, signals.fd, NULL, 0);
    http_drain();
    while (http_busy() && now_ms < until_ms)
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

    const char *wrong = http_init(epoll, KIND_HTTP, getenv("JWT_SECRET"));
    if (wrong)
        return fail(wrong, NULL);
    read_clocks();
    tick_ms = now_ms;
    http_on_tick(now_ms);
    int64_t until_ms = now_ms + START_LIMIT_MS;
    wrong = db_open(url, (int)links, epoll, KIND_DB, http_db_answer, now_ms);
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
