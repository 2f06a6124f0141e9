#include "db.h"

#include <errno.h>
#include <libpq-fe.h>
#include <sys/epoll.h>

static const struct {
    const char *name, *sql;
    int params;
    Oid types[BATCH_COLUMNS];
} statement[] = {
    [QUERY_ONE] = {"one",
                   "SELECT id, ragione_sociale, citta, email, saldo, creato FROM clienti WHERE id = $1",
                   1,
                   {20}},
    [QUERY_PAGE] =
        {"page",
         "SELECT id, ragione_sociale, citta, email, saldo, creato FROM clienti ORDER BY id LIMIT 50 OFFSET $1",
         1,
         {20}},
    [QUERY_INSERT] = {"insert",
                      "INSERT INTO clienti (ragione_sociale, citta, email, saldo, creato)"
                      " SELECT * FROM unnest($1, $2, $3, $4, $5)",
                      BATCH_COLUMNS,
                      {1009, 1009, 1009, 1231, 1115}},
};
enum { STATEMENTS = sizeof statement / sizeof statement[0] };

enum { DIAL_LIMIT_MS = 5000, REDIAL_MS = 500, LINKS_MAX = 1000 };

struct link {
    int event_kind;
    enum { LINK_DOWN, LINK_DIALLING, LINK_PREPARING, LINK_READY } state;
    PGconn *pg;
    int fd;
    unsigned watched;
    int queued;
    int64_t since_ms;
    bool failed;
    struct db_query *first, **last;
};

static struct {
    struct link *link;
    int links, ready, turn, epoll;
    const char *url;
    db_answer *answer;
    int64_t now_ms;
    struct buf body;
    char error[256];
} db;

/* ---- rows as JSON ---- */

static void put_string(struct buf *b, const char *s, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    buf_reserve(b, 2 + 6 * len);
    char *w = b->data + b->len;
    *w++ = '"';
    for (const char *end = s + len; s < end; s++) {
        unsigned char c = (unsigned char)*s;
        if (c >= 0x20 && c != '"' && c != '\\') {
            *w++ = (char)c;
        } else if (c >= 0x20) {
            *w++ = '\\';
            *w++ = (char)c;
        } else {
            memcpy(w, "\\u00", 4);
            w[4] = hex[c >> 4];
            w[5] = hex[c & 15];
            w += 6;
        }
    }
    *w++ = '"';
    b->len = (size_t)(w - b->data);
}

/* PostgreSQL's numeric: groups of four decimal digits, the first worth 10000^weight; scale digits behind the point. */
static void put_numeric(struct buf *b, const char *p)
{
    int groups = be16_get(p), weight = (int16_t)be16_get(p + 2), sign = be16_get(p + 4), scale = be16_get(p + 6);
    if (sign & 0x8000) { /* NaN and the infinities are no JSON numbers */
        buf_lit(b, "null");
        return;
    }
    if (sign)
        buf_lit(b, "-");
    buf_uint(b, weight >= 0 && groups > 0 ? be16_get(p + 8) : 0, 1);
    for (int g = 1; g <= weight; g++)
        buf_uint(b, g < groups ? be16_get(p + 8 + 2 * g) : 0, 4);
    if (scale == 0)
        return;
    buf_lit(b, ".");
    size_t end = b->len + (size_t)scale;
    for (int g = weight + 1; b->len < end; g++)
        buf_uint(b, g >= 0 && g < groups ? be16_get(p + 8 + 2 * g) : 0, 4);
    b->len = end;
}

/* Microseconds since 2000-01-01 without a zone: calendar arithmetic only, no local time anywhere. */
static void put_timestamp(struct buf *b, int64_t us)
{
    if (us == INT64_MAX || us == INT64_MIN) {
        buf_lit(b, "null");
        return;
    }
    int64_t day_us = 86400000000, days = us / day_us - (us % day_us < 0), rest = us - days * day_us;
    int64_t z = days + 730425, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153, month = mp < 10 ? mp + 3 : mp - 9, year = yoe + era * 400 + (month <= 2);
    buf_lit(b, "\"");
    if (year < 0)
        buf_lit(b, "-");
    buf_uint(b, (uint64_t)(year < 0 ? -year : year), 4);
    buf_lit(b, "-");
    buf_uint(b, (uint64_t)month, 2);
    buf_lit(b, "-");
    buf_uint(b, (uint64_t)(doy - (153 * mp + 2) / 5 + 1), 2);
    buf_lit(b, "T");
    buf_uint(b, (uint64_t)(rest / 3600000000), 2);
    buf_lit(b, ":");
    buf_uint(b, (uint64_t)(rest / 60000000 % 60), 2);
    buf_lit(b, ":");
    buf_uint(b, (uint64_t)(rest / 1000000 % 60), 2);
    if (rest % 1000000) {
        buf_lit(b, ".");
        buf_uint(b, (uint64_t)(rest % 1000000), 6);
    }
    buf_lit(b, "\"");
}

static void put_row(struct buf *b, const PGresult *r, int row)
{
    int64_t id = (int64_t)be64_get(PQgetvalue(r, row, 0));
    buf_lit(b, "{\"id\":");
    if (id < 0)
        buf_lit(b, "-");
    buf_uint(b, id < 0 ? -(uint64_t)id : (uint64_t)id, 1);
    buf_lit(b, ",\"ragione_sociale\":");
    put_string(b, PQgetvalue(r, row, 1), (size_t)PQgetlength(r, row, 1));
    buf_lit(b, ",\"citta\":");
    put_string(b, PQgetvalue(r, row, 2), (size_t)PQgetlength(r, row, 2));
    buf_lit(b, ",\"email\":");
    if (PQgetisnull(r, row, 3))
        buf_lit(b, "null");
    else
        put_string(b, PQgetvalue(r, row, 3), (size_t)PQgetlength(r, row, 3));
    buf_lit(b, ",\"saldo\":");
    put_numeric(b, PQgetvalue(r, row, 4));
    buf_lit(b, ",\"creato\":");
    put_timestamp(b, (int64_t)be64_get(PQgetvalue(r, row, 5)));
    buf_lit(b, "}");
}

static int put_error(struct buf *b, const PGresult *r)
{
    const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
    /* Class 22 is a value, 23 a constraint that the table refuses: the request's fault. 40, 53, 55 and 57 pass. */
    if (state && state[0] == '2' && (state[1] == '2' || state[1] == '3')) {
        const char *message = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
        buf_lit(b, "{\"error\":");
        put_string(b, message ? message : "refused", message ? strlen(message) : 7);
        buf_lit(b, "}");
        return 400;
    }
    buf_lit(b, "{\"error\":\"database\"}");
    return state && (state[0] == '4' || state[0] == '5') ? 503 : 500;
}

static int put_result(struct buf *b, const struct db_query *q, PGresult *r)
{
    ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        return put_error(b, r);
    if (q->kind == QUERY_INSERT) {
        const char *rows = PQcmdTuples(r);
        buf_lit(b, "{\"inserted\":");
        buf_put(b, rows, strlen(rows));
        buf_lit(b, "}");
        return 200;
    }
    int rows = PQntuples(r);
    if (q->kind == QUERY_ONE) {
        if (rows == 0) {
            buf_lit(b, "{\"error\":\"not found\"}");
            return 404;
        }
        put_row(b, r, 0);
        return 200;
    }
    buf_lit(b, "[");
    for (int i = 0; i < rows; i++) {
        if (i)
            buf_lit(b, ",");
        put_row(b, r, i);
    }
    buf_lit(b, "]");
    return 200;
}

/* ---- links ---- */

static void watch(struct link *l, unsigned events)
{
    struct epoll_event e = {.events = events, .data.ptr = l};
    int op = l->fd < 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd = PQsocket(l->pg);
    if (l->fd >= 0 && l->watched == events)
        return;
    l->watched = events;
    l->fd = fd;
    if (epoll_ctl(db.epoll, op, fd, &e) != 0)
        l->failed = true;
}

/* While dialling libpq may close one socket and open another under the same number. */
static void unwatch(struct link *l)
{
    if (l->fd >= 0)
        epoll_ctl(db.epoll, EPOLL_CTL_DEL, l->fd, NULL);
    l->fd = -1;
}

static void discard_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

static void link_down(struct link *l)
{
    if (l->pg && PQerrorMessage(l->pg)[0])
        snprintf(db.error, sizeof db.error, "%.*s", (int)strcspn(PQerrorMessage(l->pg), "\n"), PQerrorMessage(l->pg));
    if (l->state == LINK_READY)
        db.ready--;
    unwatch(l);
    PQfinish(l->pg);
    l->pg = NULL;
    l->state = LINK_DOWN;
    l->failed = false;
    l->since_ms = db.now_ms;
    struct db_query *q = l->first;
    l->first = NULL;
    l->last = &l->first;
    l->queued = 0;
    while (q) {
        struct db_query *next = q->next;
        buf_clear(&db.body);
        buf_lit(&db.body, "{\"error\":\"the database connection was lost\"}");
        db.answer(q, 503, &db.body);
        q = next;
    }
}

static void link_dial(struct link *l)
{
    const char *key[] = {"fallback_application_name", "dbname", "client_encoding", NULL};
    const char *value[] = {"c-reference", db.url, "UTF8", NULL};
    l->pg = PQconnectStartParams(key, value, 1);
    l->since_ms = db.now_ms;
    l->state = LINK_DIALLING;
    if (!l->pg || PQstatus(l->pg) == CONNECTION_BAD) {
        link_down(l);
        return;
    }
    PQsetNoticeProcessor(l->pg, discard_notice, NULL);
    watch(l, EPOLLOUT);
}

static void link_prepare(struct link *l)
{
    l->state = LINK_PREPARING;
    bool sent = PQsetnonblocking(l->pg, 1) == 0 && PQenterPipelineMode(l->pg);
    for (int i = 0; sent && i < STATEMENTS; i++)
        sent = PQsendPrepare(l->pg, statement[i].name, statement[i].sql, statement[i].params, statement[i].types);
    if (!sent || !PQpipelineSync(l->pg))
        l->failed = true;
    else
        watch(l, EPOLLIN);
}

static void link_poll(struct link *l)
{
    unwatch(l);
    switch (PQconnectPoll(l->pg)) {
    case PGRES_POLLING_READING:
        watch(l, EPOLLIN);
        break;
    case PGRES_POLLING_WRITING:
        watch(l, EPOLLOUT);
        break;
    case PGRES_POLLING_OK:
        link_prepare(l);
        break;
    default:
        l->failed = true;
    }
}

/* Takes the answers that are complete. A query's result, a NULL, then the result of its Sync; only the first matters
 * here, since a Sync can say nothing that the connection's state does not. */
static void link_results(struct link *l)
{
    bool was_null = false;
    while (!PQisBusy(l->pg) && (l->first || l->state == LINK_PREPARING)) {
        PGresult *r = PQgetResult(l->pg);
        if (PQstatus(l->pg) == CONNECTION_BAD || (!r && was_null)) {
            PQclear(r);
            break;
        }
        was_null = !r;
        if (!r)
            continue;
        ExecStatusType status = PQresultStatus(r);
        if (l->state == LINK_PREPARING) {
            if (status == PGRES_FATAL_ERROR)
                l->failed = true;
            else if (status == PGRES_PIPELINE_SYNC && !l->failed) {
                l->state = LINK_READY;
                db.ready++;
            }
            if (l->failed) {
                PQclear(r);
                break;
            }
        } else if (status != PGRES_PIPELINE_SYNC) {
            /* Unlinked before the answer: it may send the connection's next query, also through this link. */
            struct db_query *q = l->first;
            l->first = q->next;
            if (!l->first)
                l->last = &l->first;
            l->queued--;
            buf_clear(&db.body);
            db.answer(q, put_result(&db.body, q, r), &db.body);
        }
        PQclear(r);
    }
}

void db_on_event(void *link, unsigned events)
{
    struct link *l = link;
    if (l->state == LINK_DOWN)
        return;
    if (l->state == LINK_DIALLING) {
        link_poll(l);
    } else {
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
            if (!PQconsumeInput(l->pg))
                l->failed = true;
            link_results(l);
        }
        if (!l->failed) {
            int left = PQflush(l->pg);
            if (left < 0)
                l->failed = true;
            else
                watch(l, left ? EPOLLIN | EPOLLOUT : EPOLLIN);
        }
    }
    if (l->failed || PQstatus(l->pg) == CONNECTION_BAD)
        link_down(l);
}

void db_on_tick(int64_t now_ms)
{
    db.now_ms = now_ms;
    for (int i = 0; i < db.links; i++) {
        struct link *l = &db.link[i];
        if (l->failed ||
            ((l->state == LINK_DIALLING || l->state == LINK_PREPARING) && now_ms - l->since_ms > DIAL_LIMIT_MS))
            link_down(l);
        if (l->state == LINK_DOWN && now_ms - l->since_ms >= REDIAL_MS)
            link_dial(l);
    }
}

/* ---- queries ---- */

/* The link with the fewest queries; among equals the next in turn, so that all take part. */
static struct link *pick(void)
{
    struct link *best = NULL;
    for (int i = 0; i < db.links; i++) {
        struct link *l = &db.link[(db.turn + i) % db.links];
        if (l->state == LINK_READY && !l->failed && (!best || l->queued < best->queued)) {
            best = l;
            if (l->queued == 0)
                break;
        }
    }
    if (best)
        db.turn = (int)(best - db.link + 1) % db.links;
    return best;
}

static bool send(struct db_query *q, const char *const *values, const int *lengths)
{
    static const int binary[BATCH_COLUMNS] = {1, 1, 1, 1, 1};
    struct link *l = pick();
    if (!l)
        return false;
    if (!PQsendQueryPrepared(l->pg, statement[q->kind].name, statement[q->kind].params, values, lengths, binary, 1)) {
        l->failed = true;
        return false;
    }
    q->next = NULL;
    *l->last = q;
    l->last = &q->next;
    l->queued++;
    if (!PQpipelineSync(l->pg)) /* sends; the answer will be 503 from db_on_tick */
        l->failed = true;
    else if (PQflush(l->pg) > 0)
        watch(l, EPOLLIN | EPOLLOUT);
    return true;
}

static bool send_int(struct db_query *q, int64_t v)
{
    uint64_t be = __builtin_bswap64((uint64_t)v);
    return send(q, (const char *const[]){(const char *)&be}, (const int[]){sizeof be});
}

bool db_select_one(struct db_query *q, int64_t id)
{
    q->kind = QUERY_ONE;
    return send_int(q, id);
}

bool db_select_page(struct db_query *q, int64_t offset)
{
    q->kind = QUERY_PAGE;
    return send_int(q, offset);
}

bool db_insert(struct db_query *q, const struct batch *b)
{
    const char *values[BATCH_COLUMNS];
    int lengths[BATCH_COLUMNS];
    q->kind = QUERY_INSERT;
    for (int i = 0; i < BATCH_COLUMNS; i++) {
        values[i] = b->column[i].data;
        lengths[i] = (int)b->column[i].len;
    }
    return send(q, values, lengths);
}

const char *db_open(const char *url, int links, int epoll, int event_kind, db_answer *answer, int64_t now_ms)
{
    if (links < 1 || links > LINKS_MAX)
        return "DB_POOL is not a number from 1 to 1000";
    db.link = calloc((size_t)links, sizeof *db.link);
    if (!db.link)
        return "out of memory";
    db.links = links;
    db.epoll = epoll;
    db.url = url;
    db.answer = answer;
    db.now_ms = now_ms;
    for (int i = 0; i < links; i++) {
        struct link *l = &db.link[i];
        l->event_kind = event_kind;
        l->fd = -1;
        l->last = &l->first;
        link_dial(l);
    }
    return NULL;
}

int db_ready(void)
{
    return db.ready;
}

const char *db_last_error(void)
{
    return db.error;
}

void db_close(void)
{
    for (int i = 0; i < db.links; i++)
        PQfinish(db.link[i].pg);
    free(db.link);
    buf_free(&db.body);
    db.links = 0;
}
