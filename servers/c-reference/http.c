#include "http.h"
#include "request.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_SIZE = 256 * 1024,
    OUT_PAUSE = 256 * 1024, /* a client that does not read its answers is not read from either */
    IDLE_LIMIT_MS = 75000,
    LINGER_LIMIT_MS = 2000,
};

struct conn {
    int event_kind;
    int fd;
    struct db_query query;
    struct conn *next, *prev; /* in the list of open ones; next alone in the list of closed ones */
    struct buf in, out;
    size_t need;    /* bytes of input that the next request has at least */
    size_t scanned; /* of a chunked body */
    int64_t active_ms;
    bool readable;   /* the socket may hold bytes that were not read */
    bool peer_ended; /* its end was announced, so read until it is seen */
    bool ended;      /* its end was read */
    bool waiting;    /* for the database */
    bool head;       /* the request that is being answered is a HEAD */
    bool http10;
    bool close;     /* after the answer that is being made */
    bool closing;   /* no more requests */
    bool lingering; /* our end is closed, the rest of the input is thrown away */
    bool continued; /* 100 was sent for the next request */
    bool dead;
};

static struct {
    int epoll, event_kind;
    struct conn *open, *closed;
    bool draining;
    int64_t now_ms, now_s;
    struct buf out;
    char date[64];
    size_t date_len;
    struct batch batch;
    char *in;
} http;

/* ---- answers ---- */

static void put_answer(struct conn *c, int status, const char *extra, const char *body, size_t len)
{
    static const struct {
        int status;
        const char *line;
    } lines[] = {
        {200, "200 OK"},
        {400, "400 Bad Request"},
        {401, "401 Unauthorized"},
        {404, "404 Not Found"},
        {405, "405 Method Not Allowed"},
        {413, "413 Content Too Large"},
        {417, "417 Expectation Failed"},
        {431, "431 Request Header Fields Too Large"},
        {500, "500 Internal Server Error"},
        {501, "501 Not Implemented"},
        {503, "503 Service Unavailable"},
        {505, "505 HTTP Version Not Supported"},
    };
    struct buf *b = &http.out;
    const char *line = "500 Internal Server Error";
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].status == status) {
            line = lines[i].line;
            break;
        }
    }
    buf_lit(b, "HTTP/1.1 ");
    buf_put(b, line, strlen(line));
    buf_put(b, http.date, http.date_len);
    if (extra)
        buf_put(b, extra, strlen(extra));
    if (http.draining)
        c->close = true;
    if (c->close)
        buf_lit(b, "Connection: close\r\n");
    else if (c->http10)
        buf_lit(b, "Connection: keep-alive\r\n");
    buf_lit(b, "Content-Type: application/json\r\nContent-Length: ");
    buf_uint(b, len, 1);
    buf_lit(b, "\r\n\r\n");
    if (!c->head)
        buf_put(b, body, len);
    c->closing |= c->close;
}

static void put_error(struct conn *c, int status, const char *extra, const char *what)
{
    char body[128];
    int n = snprintf(body, sizeof body, "{\"error\":\"%s\"}", what);
    put_answer(c, status, extra, body, (size_t)n);
}

/* The request cannot be told from what follows it, so nothing after it is read. */
static void refuse(struct conn *c, int status, const char *what)
{
    c->close = true;
    c->head = false;
    put_error(c, status, NULL, what);
}

/* ---- the endpoints ---- */

static void wait_for_database(struct conn *c, bool sent)
{
    if (!sent) {
        put_error(c, 503, NULL, "no database connection");
        return;
    }
    c->waiting = true;
}

static void handle_insert(struct conn *c, char *body, size_t len)
{
    const char *wrong = json_read_batch(body, len, &http.batch);
    if (wrong)
        put_error(c, 400, NULL, wrong);
    else
        wait_for_database(c, db_insert(&c->query, &http.batch));
}

static void handle(struct conn *c, const struct request *r, char *body, size_t body_len)
{
    static const char ping[] = "{\"ok\":true}", prefix[] = "/clienti/";
    int64_t number = 1;
    c->head = r->method == METHOD_HEAD;
    c->http10 = r->http10;
    c->close = !r->keep_alive;
    bool get = r->method == METHOD_GET || r->method == METHOD_HEAD;
    if (!request_may_pass(r, http.now_s)) {
        put_error(c, 401, "WWW-Authenticate: Bearer\r\n", "a valid token is needed");
    } else if (request_path_is(r, "/ping")) {
        if (get)
            put_answer(c, 200, NULL, ping, sizeof ping - 1);
        else
            put_error(c, 405, "Allow: GET, HEAD\r\n", "method not allowed");
    } else if (request_path_is(r, "/clienti")) {
        if (!get)
            put_error(c, 405, "Allow: GET, HEAD\r\n", "method not allowed");
        else if (!request_query_number(r, "pagina", &number))
            put_error(c, 400, NULL, "pagina is not a positive integer");
        else /* a page beyond what OFFSET can say is past the end as much as the last one that it can */
            wait_for_database(c, db_select_page(&c->query, number > INT64_MAX / 50 ? INT64_MAX : (number - 1) * 50));
    } else if (request_path_is(r, "/clienti/batch") && !get) {
        if (r->method == METHOD_POST)
            handle_insert(c, body, body_len);
        else
            put_error(c, 405, "Allow: POST\r\n", "method not allowed");
    } else if (r->path_len > sizeof prefix - 1 && memcmp(r->path, prefix, sizeof prefix - 1) == 0 &&
               !memchr(r->path + sizeof prefix - 1, '/', r->path_len - (sizeof prefix - 1))) {
        if (!get)
            put_error(c, 405, "Allow: GET, HEAD\r\n", "method not allowed");
        else if (!request_number(r->path + sizeof prefix - 1, r->path_len - (sizeof prefix - 1), &number))
            put_error(c, 400, NULL, "id is not a positive integer");
        else
            wait_for_database(c, db_select_one(&c->query, number));
    } else {
        put_error(c, 404, NULL, "not found");
    }
}

/* ---- input ---- */

static bool paused(const struct conn *c)
{
    return http.out.len + c->out.len >= OUT_PAUSE;
}

/* Takes whole requests from data while they can be answered at once; returns the bytes used. */
static size_t feed(struct conn *c, char *data, size_t len)
{
    size_t used = 0;
    while (used < len && !c->waiting && !c->closing && !paused(c)) {
        struct request r;
        size_t left = len - used;
        if (left < c->need)
            break;
        int wrong = request_parse(data + used, left, &r);
        if (wrong == REQUEST_INCOMPLETE)
            break;
        if (wrong) {
            refuse(c, wrong, "the request cannot be read");
            break;
        }
        char *body = data + used + r.head_len;
        size_t body_left = left - r.head_len, body_len = r.content_len, raw_len = r.content_len;
        bool complete = body_left >= raw_len;
        if (r.chunked) {
            wrong = request_scan_chunks(body, body_left, &c->scanned, &complete);
            raw_len = c->scanned;
            if (wrong) {
                refuse(c, wrong, "the body cannot be read");
                break;
            }
        } else {
            c->need = complete ? 0 : r.head_len + raw_len;
        }
        if (!complete) {
            if (r.expect_continue && !c->continued)
                buf_lit(&http.out, "HTTP/1.1 100 Continue\r\n\r\n");
            c->continued |= r.expect_continue;
            break;
        }
        if (r.chunked)
            body_len = request_join_chunks(body, raw_len);
        used += r.head_len + raw_len;
        c->scanned = 0;
        c->continued = false;
        handle(c, &r, body, body_len);
    }
    return used;
}

static void conn_close(struct conn *c)
{
    if (c->fd < 0)
        return;
    close(c->fd);
    c->fd = -1;
    if (c->prev)
        c->prev->next = c->next;
    else
        http.open = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->next = http.closed;
    http.closed = c;
}

static void flush(struct conn *c)
{
    struct buf *b = &http.out;
    if (c->out.len > 0) {
        buf_put(&c->out, b->data, b->len);
        buf_clear(b);
        b = &c->out;
    }
    size_t sent = 0;
    while (sent < b->len && !c->dead) {
        ssize_t n = send(c->fd, b->data + sent, b->len - sent, MSG_NOSIGNAL);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            break;
        else if (errno != EINTR)
            c->dead = true;
    }
    if (c->dead)
        sent = b->len;
    if (b == &http.out && sent < b->len) {
        buf_put(&c->out, b->data + sent, b->len - sent);
    } else if (b == &c->out) {
        memmove(b->data, b->data + sent, b->len - sent);
        b->len -= sent;
        if (b->len == 0)
            buf_free(b);
    }
    buf_clear(&http.out);
}

/* Reads once. Returns whether there may be more to do. */
static bool fill(struct conn *c)
{
    char *at = http.in;
    size_t size = READ_SIZE;
    if (c->in.len > 0 && !c->lingering) {
        size_t want = c->need > c->in.len ? c->need - c->in.len : 0;
        buf_reserve(&c->in, want < 4096 ? 4096 : want > READ_SIZE ? READ_SIZE : want);
        at = c->in.data + c->in.len;
        size = c->in.cap - c->in.len;
    }
    ssize_t n = recv(c->fd, at, size, 0);
    if (n <= 0) {
        if (n < 0 && errno == EINTR)
            return true;
        c->readable = false;
        if (n == 0)
            c->ended = true;
        else if (errno != EAGAIN && errno != EWOULDBLOCK)
            c->dead = true;
        return false;
    }
    c->active_ms = http.now_ms;
    if ((size_t)n < size && !c->peer_ended)
        c->readable = false;
    if (c->lingering)
        return true;
    if (at == http.in) {
        size_t used = feed(c, at, (size_t)n);
        if (used < (size_t)n && !c->closing)
            buf_put(&c->in, at + used, (size_t)n - used);
    } else {
        c->in.len += (size_t)n;
    }
    return true;
}

static void run(struct conn *c)
{
    bool more;
    if (c->out.len > 0)
        flush(c);
    do {
        while (!c->dead && !c->waiting && !c->closing && !paused(c)) {
            if (c->in.len > 0) {
                size_t used = feed(c, c->in.data, c->in.len);
                memmove(c->in.data, c->in.data + used, c->in.len - used);
                c->in.len -= used;
                if (c->in.len == 0)
                    buf_free(&c->in);
                if (used > 0)
                    continue;
                if (c->closing)
                    break;
            }
            if (!c->readable || !fill(c))
                break;
        }
        more = paused(c);
        flush(c);
    } while (more && c->out.len == 0 && !c->dead);
    if (!c->dead && c->closing && !c->waiting && c->out.len == 0 && !c->lingering) {
        /* Closing with unread input would reset the connection and could take the answer with it. */
        shutdown(c->fd, SHUT_WR);
        c->lingering = true;
        c->readable = true;
        buf_free(&c->in);
    }
    while (c->lingering && !c->dead && c->readable && fill(c))
        ;
    if (c->ended && !c->waiting && c->out.len == 0)
        c->dead = true;
    if (c->dead && !c->waiting)
        conn_close(c);
}

void http_db_answer(struct db_query *q, int status, const struct buf *body)
{
    struct conn *c = (struct conn *)((char *)q - offsetof(struct conn, query));
    c->waiting = false;
    if (!c->dead)
        put_answer(c, status, NULL, body->data, body->len);
    run(c);
}

void http_on_event(void *conn, unsigned events)
{
    struct conn *c = conn;
    if (c->fd < 0)
        return;
    if (events & (EPOLLERR | EPOLLHUP))
        c->dead = true;
    if (events & EPOLLRDHUP)
        c->peer_ended = true;
    if (events & (EPOLLIN | EPOLLRDHUP))
        c->readable = true;
    if (!c->waiting)
        run(c);
}

void http_accept(int fd)
{
    struct conn *c = calloc(1, sizeof *c);
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
    if (!c || epoll_ctl(http.epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
        free(c);
        close(fd);
        return;
    }
    c->event_kind = http.event_kind;
    c->fd = fd;
    c->active_ms = http.now_ms;
    c->next = http.open;
    if (c->next)
        c->next->prev = c;
    http.open = c;
}

void http_set_time(int64_t now_s)
{
    if (now_s == http.now_s)
        return;
    http.now_s = now_s;
    time_t t = (time_t)now_s;
    struct tm tm;
    gmtime_r(&t, &tm);
    http.date_len = strftime(http.date, sizeof http.date, "\r\nDate: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
}

void http_on_tick(int64_t now_ms)
{
    http.now_ms = now_ms;
    for (struct conn *c = http.open, *next; c; c = next) {
        next = c->next;
        if (!c->waiting && now_ms - c->active_ms > (c->lingering ? LINGER_LIMIT_MS : IDLE_LIMIT_MS))
            conn_close(c);
    }
}

void http_reap(void)
{
    while (http.closed) {
        struct conn *c = http.closed;
        http.closed = c->next;
        buf_free(&c->in);
        buf_free(&c->out);
        free(c);
    }
}

void http_drain(void)
{
    http.draining = true;
    for (struct conn *c = http.open, *next; c; c = next) {
        next = c->next;
        if (!c->waiting && c->in.len == 0 && c->out.len == 0)
            conn_close(c);
    }
}

bool http_busy(void)
{
    for (struct conn *c = http.open; c; c = c->next)
        if (c->waiting || c->out.len > 0)
            return true;
    return false;
}

const char *http_init(int epoll, int event_kind, const char *secret)
{
    http.epoll = epoll;
    http.event_kind = event_kind;
    http.in = malloc(READ_SIZE);
    if (!http.in)
        return "out of memory";
    return request_init(secret);
}
