#include "target/pq.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/child.h"

#define OPEN_LIMIT_NS (15 * CLOCK_NS_PER_S)
#define LOCK_LIMIT "10s"
/* What a server that still answers gets beyond its own limit, before the connection is given up. */
#define GRACE_NS (10 * CLOCK_NS_PER_S)
#define CANCEL_NS (100 * CLOCK_NS_PER_MS)

/* One statement, so that it is one transaction. lc_messages is for superusers: others get what the server speaks. */
static const char session[] =
    "SELECT set_config('lock_timeout', '" LOCK_LIMIT "', false), set_config('timezone', 'UTC', false),"
    " set_config('datestyle', 'ISO, YMD', false), set_config('extra_float_digits', '1', false),"
    " set_config('standard_conforming_strings', 'on', false), set_config('client_min_messages', 'warning', false),"
    " set_config('max_parallel_workers_per_gather', '0', false),"
    " CASE WHEN (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)"
    " THEN set_config('lc_messages', 'C', false) END";

static void on_notice(void *argument, const char *message)
{
    (void)argument;
    log_detail("postgresql: %.*s", (int)strcspn(message, "\n"), message);
}

/* 1: ready, 0: the deadline has passed, or somebody pressed Ctrl-C. */
static int wait_socket(PGconn *conn, short events, int64_t deadline_ns)
{
    for (;;) {
        struct pollfd ready = {.fd = PQsocket(conn), .events = events};
        int64_t left_ns = deadline_ns - clock_mono_ns();
        int count;

        if (left_ns <= 0 || child_cancelled())
            return 0;
        count =
            poll(&ready, 1, left_ns < CANCEL_NS ? (int)(left_ns / CLOCK_NS_PER_MS) + 1 : CANCEL_NS / CLOCK_NS_PER_MS);
        if (count > 0)
            return 1;
        if (count < 0 && errno != EINTR)
            return 0;
    }
}

static int one_line_error(struct pq *pq, const char *what, const char *message, struct err *err)
{
    struct text text = {0};
    size_t len = strlen(message);

    while (len > 0 && message[len - 1] == '\n')
        len--;
    for (size_t i = 0; i < len; i++)
        text_add_char(&text, message[i] == '\n' || message[i] == '\t' ? ' ' : message[i]);
    (void)err_set(err, "PostgreSQL at %s: %s%s", pq->shown, what, text_string(&text));
    text_free(&text);
    return -1;
}

static int connect_wait(struct pq *pq, struct err *err)
{
    int64_t deadline_ns = clock_mono_ns() + OPEN_LIMIT_NS;
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    if (PQstatus(pq->conn) == CONNECTION_BAD)
        return one_line_error(pq, "", PQerrorMessage(pq->conn), err);
    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED)
            return one_line_error(pq, "", PQerrorMessage(pq->conn), err);
        if (!wait_socket(pq->conn, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline_ns))
            return child_cancelled() ? err_fail(err, "interrupted")
                                     : err_set(err, "PostgreSQL at %s: no connection within %d s", pq->shown,
                                               (int)(OPEN_LIMIT_NS / CLOCK_NS_PER_S));
        status = PQconnectPoll(pq->conn);
    }
    return 0;
}

static PGconn *connect_start(const struct pq_address *address, const char *database, const char *purpose)
{
    /* A keyword replaces what the URL in front says: only those go in that the URL does not decide. */
    struct pq_address to = *address;
    const char *keywords[8] = {"dbname", "application_name", "client_encoding"};
    const char *values[8] = {NULL, NULL, "UTF8"};
    char *application = text_format("restbench %s", purpose);
    char *url;
    int count = 3;
    PGconn *conn;

    if (database != NULL)
        to.database = (char *)database;
    url = pq_address_url(&to);
    values[0] = url;
    values[1] = application;
    if (address->rest == NULL || strstr(address->rest, "passfile=") == NULL) {
        keywords[count] = "passfile";
        values[count++] = "/dev/null/none"; /* libpq warns of a file that is not a plain one */
    }
    if (address->rest == NULL && pq_address_is_local(address)) {
        keywords[count] = "sslmode";
        values[count++] = "disable";
        keywords[count] = "gssencmode";
        values[count++] = "disable";
    }
    conn = PQconnectStartParams(keywords, values, 1);
    free(url);
    free(application);
    return conn;
}

int pq_open(const struct pq_address *address, const char *database, const char *purpose, struct pq *pq, struct err *err)
{
    *pq = (struct pq){.transactions = 1, .limit_ms = -1};
    pq->shown = pq_address_shown(address);
    pq->conn = connect_start(address, database, purpose);
    if (pq->conn == NULL)
        (void)err_set(err, "PostgreSQL at %s: out of memory", pq->shown);
    if (pq->conn == NULL || connect_wait(pq, err) != 0 || PQsetnonblocking(pq->conn, 1) != 0) {
        pq_close(pq);
        return -1;
    }
    (void)PQsetNoticeProcessor(pq->conn, on_notice, NULL);
    if (pq_run(pq, OPEN_LIMIT_NS, session, err) != 0) {
        pq_close(pq);
        return -1;
    }
    return 0;
}

void pq_close(struct pq *pq)
{
    if (pq->conn != NULL)
        PQfinish(pq->conn);
    free(pq->shown);
    *pq = (struct pq){0};
}

void pq_explain_shm(struct err *err)
{
    struct statvfs shm;
    size_t len = strlen(err->text);

    if (strstr(err->text, "shared memory segment") == NULL || statvfs("/dev/shm", &shm) != 0)
        return;
    (void)snprintf(err->text + len, sizeof err->text - len, "; /dev/shm has %.1f MiB, %.1f free",
                   (double)shm.f_blocks * (double)shm.f_frsize / (1 << 20),
                   (double)shm.f_bavail * (double)shm.f_frsize / (1 << 20));
}

static int statement_error(struct pq *pq, PGresult *result, struct err *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
    struct text text = {0};

    (void)snprintf(pq->sqlstate, sizeof pq->sqlstate, "%s", state != NULL ? state : "");
    text_add(&text, primary != NULL ? primary : PQresultErrorMessage(result));
    if (detail != NULL)
        text_addf(&text, "; %s", detail);
    if (hint != NULL)
        text_addf(&text, "; %s", hint);
    if (state != NULL)
        text_addf(&text, " (SQLSTATE %s)", state);
    (void)one_line_error(pq, "", text_string(&text), err);
    pq_explain_shm(err);
    text_free(&text);
    return -1;
}

static int lose(struct pq *pq, const char *what, struct err *err)
{
    pq->lost = true;
    if (child_cancelled())
        return err_fail(err, "interrupted");
    return one_line_error(pq, what, what[0] != '\0' ? "" : PQerrorMessage(pq->conn), err);
}

/* All results of the statement are read; the last one is kept. */
static int receive(struct pq *pq, int64_t deadline_ns, PGresult **result, struct err *err)
{
    PGresult *last = NULL;
    int flushed;

    while ((flushed = PQflush(pq->conn)) > 0)
        if (!wait_socket(pq->conn, POLLIN | POLLOUT, deadline_ns) || PQconsumeInput(pq->conn) == 0)
            return lose(pq, "does not take the statement", err);
    if (flushed < 0)
        return lose(pq, "", err);
    for (;;) {
        PGresult *next;

        while (PQisBusy(pq->conn)) {
            if (!wait_socket(pq->conn, POLLIN, deadline_ns)) {
                PQclear(last);
                return lose(pq, "no answer within its limit: it hangs", err);
            }
            if (PQconsumeInput(pq->conn) == 0) {
                PQclear(last);
                return lose(pq, "", err);
            }
        }
        next = PQgetResult(pq->conn);
        if (next == NULL)
            break;
        PQclear(last);
        last = next;
    }
    if (last == NULL || (PQresultStatus(last) != PGRES_COMMAND_OK && PQresultStatus(last) != PGRES_TUPLES_OK)) {
        int failed = last != NULL ? statement_error(pq, last, err) : lose(pq, "", err);

        PQclear(last);
        pq->lost = pq->lost || PQstatus(pq->conn) == CONNECTION_BAD;
        return failed;
    }
    *result = last;
    return 0;
}

bool pq_alive(struct pq *pq)
{
    struct pollfd ready = {.events = POLLIN};

    if (pq->conn == NULL || pq->lost)
        return false;
    ready.fd = PQsocket(pq->conn);
    /* Between statements nothing comes but the end of the connection, perhaps with a word before it. */
    for (int i = 0; i < 4 && poll(&ready, 1, 0) > 0 && !pq->lost; i++)
        pq->lost = PQconsumeInput(pq->conn) == 0 || PQstatus(pq->conn) == CONNECTION_BAD;
    return !pq->lost;
}

static int query(struct pq *pq, int64_t limit_ns, const char *sql, int count, const char *const *params,
                 PGresult **result, struct err *err)
{
    int64_t deadline_ns = clock_mono_ns() + limit_ns + GRACE_NS;

    pq->sqlstate[0] = '\0';
    if (pq->lost)
        return err_set(err, "PostgreSQL at %s: the connection is lost", pq->shown);
    if (PQsendQueryParams(pq->conn, sql, count, NULL, params, NULL, NULL, 0) == 0)
        return lose(pq, "", err);
    pq->transactions++;
    return receive(pq, deadline_ns, result, err);
}

int pq_query(struct pq *pq, int64_t limit_ns, const char *sql, int count, const char *const *params, PGresult **result,
             struct err *err)
{
    int64_t limit_ms = limit_ns / CLOCK_NS_PER_MS;
    PGresult *own = NULL;

    if (limit_ms != pq->limit_ms) {
        char set[64];

        (void)snprintf(set, sizeof set, "SET statement_timeout = %lld", (long long)limit_ms);
        if (query(pq, limit_ns, set, 0, NULL, &own, err) != 0)
            return -1;
        PQclear(own);
        pq->limit_ms = limit_ms;
    }
    if (query(pq, limit_ns, sql, count, params, result != NULL ? result : &own, err) != 0)
        return -1;
    if (result == NULL)
        PQclear(own);
    return 0;
}

int pq_run(struct pq *pq, int64_t limit_ns, const char *sql, struct err *err)
{
    return pq_query(pq, limit_ns, sql, 0, NULL, NULL, err);
}

int pq_value(struct pq *pq, int64_t limit_ns, const char *sql, int count, const char *const *params, char **value,
             struct err *err)
{
    PGresult *result;

    *value = NULL;
    if (pq_query(pq, limit_ns, sql, count, params, &result, err) != 0)
        return -1;
    if (PQntuples(result) > 0 && PQnfields(result) > 0 && !PQgetisnull(result, 0, 0))
        *value = text_dup(PQgetvalue(result, 0, 0));
    PQclear(result);
    return 0;
}

int64_t pq_int(const PGresult *result, int row, const char *column, int64_t unknown)
{
    int field = PQfnumber(result, column);
    int64_t value;

    if (field < 0 || row >= PQntuples(result) || PQgetisnull(result, row, field) ||
        text_parse_i64(PQgetvalue(result, row, field), &value) != 0)
        return unknown;
    return value;
}
