#include "target/evidence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

#define LIMIT_NS (10 * CLOCK_NS_PER_S)
#define COUNT_LIMIT_NS (60 * CLOCK_NS_PER_S)
#define LEAVE_LIMIT_NS (3 * CLOCK_NS_PER_S)
#define FORCED_LIMIT_NS (10 * CLOCK_NS_PER_S)
#define SETTLE_LIMIT_NS (5 * CLOCK_NS_PER_S)
/* Longer than the half second for which PostgreSQL 14 and older answer from an old file. */
#define SETTLED_NS (700 * CLOCK_NS_PER_MS)
#define STEP_NS (50 * CLOCK_NS_PER_MS)

#define NOT_OURS "left(application_name, 10) <> 'restbench '"

char *evidence_backends_where(const struct evidence *evidence)
{
    char *database = pq_literal(evidence->database);
    char *role = pq_literal(evidence->role);
    char *since = pq_literal(evidence->since[0] != '\0' ? evidence->since : "-infinity");
    char *where = text_format("datname = %s AND usename = %s AND backend_type = 'client backend' AND backend_start >= "
                              "%s::timestamptz%s",
                              database, role, since, evidence->shares_role ? " AND " NOT_OURS : "");

    free(database);
    free(role);
    free(since);
    return where;
}

static int read_counters(struct evidence *evidence, struct database_counts *counts, struct err *err)
{
    const char *checkpoints = PQserverVersion(evidence->look->conn) >= 170000
                                  ? "(SELECT num_timed + num_requested FROM pg_stat_checkpointer)"
                                  : "(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)";
    char *where = evidence_backends_where(evidence);
    char *sql = text_format("SELECT xact_commit, xact_rollback, tup_inserted, tup_fetched, tup_returned, deadlocks, %s "
                            "AS checkpoints, CASE WHEN pg_is_in_recovery() THEN NULL ELSE "
                            "(pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint END AS wal_bytes, "
                            "(SELECT count(*) FROM pg_stat_activity WHERE %s) AS backends "
                            "FROM pg_stat_database WHERE datname = $1",
                            checkpoints, where);
    const char *params[] = {evidence->database};
    PGresult *result = NULL;
    int status = pq_query(evidence->look, LIMIT_NS, sql, 1, params, &result, err);

    *counts = database_counts_unknown;
    counts->mono_ns = clock_mono_ns();
    free(sql);
    free(where);
    if (status != 0)
        return -1;
    counts->commits = pq_int(result, 0, "xact_commit", DATABASE_UNKNOWN);
    counts->rollbacks = pq_int(result, 0, "xact_rollback", DATABASE_UNKNOWN);
    counts->rows_inserted = pq_int(result, 0, "tup_inserted", DATABASE_UNKNOWN);
    counts->rows_fetched = pq_int(result, 0, "tup_fetched", DATABASE_UNKNOWN);
    counts->rows_returned = pq_int(result, 0, "tup_returned", DATABASE_UNKNOWN);
    counts->deadlocks = pq_int(result, 0, "deadlocks", DATABASE_UNKNOWN);
    counts->checkpoints = pq_int(result, 0, "checkpoints", DATABASE_UNKNOWN);
    counts->wal_bytes = pq_int(result, 0, "wal_bytes", DATABASE_UNKNOWN);
    counts->backends = pq_int(result, 0, "backends", DATABASE_UNKNOWN);
    PQclear(result);
    return 0;
}

static void read_statements(struct evidence *evidence, struct database_counts *counts)
{
    static const char sql[] =
        "SELECT sum(calls)::bigint AS calls FROM pg_stat_statements s JOIN pg_database d ON d.oid "
        "= s.dbid JOIN pg_roles r ON r.oid = s.userid WHERE d.datname = $1 AND r.rolname = $2";
    const char *params[] = {evidence->database, evidence->role};
    struct err ignored = {0};
    PGresult *result = NULL;

    if (evidence->no_statements)
        return;
    if (pq_query(evidence->look, LIMIT_NS, sql, 2, params, &result, &ignored) != 0) {
        evidence->no_statements = true;
        return;
    }
    counts->statements = pq_int(result, 0, "calls", 0);
    PQclear(result);
}

static int read_table(struct evidence *evidence, bool count_rows, struct database_counts *counts, struct err *err)
{
    char *name = pq_identifier(evidence->table);
    char *sql =
        text_format("SELECT (SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = to_regclass($1)) AS dead%s%s",
                    count_rows ? ", (SELECT count(*) FROM " : "", count_rows ? name : "");
    char *whole = text_format("%s%s", sql, count_rows ? ") AS rows" : "");
    const char *params[] = {name};
    PGresult *result = NULL;
    int status = pq_query(evidence->pq, COUNT_LIMIT_NS, whole, 1, params, &result, err);
    int64_t rows;

    free(whole);
    free(sql);
    free(name);
    if (status != 0)
        return -1;
    counts->dead_tuples = pq_int(result, 0, "dead", DATABASE_UNKNOWN);
    rows = pq_int(result, 0, "rows", DATABASE_UNKNOWN);
    counts->rows_in_table = rows != DATABASE_UNKNOWN ? rows - evidence->rows : DATABASE_UNKNOWN;
    PQclear(result);
    return 0;
}

int evidence_counts(struct evidence *evidence, bool count_rows, struct database_counts *counts, struct err *err)
{
    if (read_counters(evidence, counts, err) != 0)
        return -1;
    read_statements(evidence, counts);
    return read_table(evidence, count_rows, counts, err);
}

static int count_where(struct evidence *evidence, const char *what, const char *where, int64_t *count, struct err *err)
{
    char *sql = text_format("SELECT %s FROM pg_stat_activity WHERE %s", what, where);
    char *value = NULL;
    int result = pq_value(evidence->look, LIMIT_NS, sql, 0, NULL, &value, err);

    *count = 0;
    if (result == 0 && (value == NULL || text_parse_i64(value, count) != 0))
        result = err_set(err, "pg_stat_activity: not a number: %s", value != NULL ? value : "NULL");
    free(value);
    free(sql);
    return result;
}

/* 0: none is left; 1: the limit was reached. */
static int wait_backends(struct evidence *evidence, const char *where, int64_t timeout_ns, struct err *err)
{
    int64_t deadline_ns = clock_mono_ns() + timeout_ns;
    int64_t count;

    for (;;) {
        if (count_where(evidence, "count(*)", where, &count, err) != 0)
            return -1;
        if (count == 0 || clock_mono_ns() >= deadline_ns)
            return count == 0 ? 0 : 1;
        clock_sleep_ns(STEP_NS);
    }
}

static int end_backends(struct evidence *evidence, struct database_reconciliation *result, struct err *err)
{
    char *where = evidence_backends_where(evidence);
    int left = wait_backends(evidence, where, LEAVE_LIMIT_NS, err);

    if (left > 0) {
        left = count_where(evidence, "count(*) FILTER (WHERE pg_terminate_backend(pid))", where,
                           &result->ended_by_force, err);
        if (left == 0)
            left = wait_backends(evidence, where, FORCED_LIMIT_NS, err);
        if (left > 0)
            left = err_set(err, "connections of the server that ended are still open in PostgreSQL");
    }
    free(where);
    return left;
}

static int look_for_others(struct evidence *evidence, bool *others, struct err *err)
{
    char *database = pq_literal(evidence->database);
    char *where = text_format("datname = %s AND backend_type = 'client backend' AND " NOT_OURS, database);
    int64_t count;
    int result = count_where(evidence, "count(*)", where, &count, err);

    *others = count > 0;
    free(where);
    free(database);
    return result;
}

void evidence_close_own(struct evidence *evidence)
{
    if (evidence->pq->conn != NULL && !evidence->pq->lost)
        evidence->own_pid = PQbackendPID(evidence->pq->conn);
    evidence->own += evidence->pq->transactions;
    pq_close(evidence->pq);
}

/* Closes our connection and waits until what it did is published: a backend does that before it leaves the list. */
static int settle_own(struct evidence *evidence, struct err *err)
{
    char where[32];
    int left;

    evidence_close_own(evidence);
    (void)snprintf(where, sizeof where, "pid = %d", evidence->own_pid);
    left = wait_backends(evidence, where, LEAVE_LIMIT_NS, err);
    if (left >= 0 && PQserverVersion(evidence->look->conn) < 150000)
        clock_sleep_ns(SETTLED_NS);
    return left < 0 ? -1 : 0;
}

int evidence_server_begin(struct evidence *evidence, struct err *err)
{
    char *now = NULL;

    if (settle_own(evidence, err) != 0 ||
        pq_value(evidence->look, LIMIT_NS, "SELECT clock_timestamp()", 0, NULL, &now, err) != 0)
        return -1;
    (void)snprintf(evidence->since, sizeof evidence->since, "%s", now != NULL ? now : "");
    free(now);
    evidence->own_begin = evidence->own;
    return read_counters(evidence, &evidence->base, err);
}

/* False: PostgreSQL crashed since evidence_server_begin(), and its counters began anew. */
static bool since_begin(const struct evidence *evidence, const struct database_counts *now,
                        struct database_reconciliation *result)
{
    struct database_counts since = database_counts_since(&evidence->base, now);

    if (since.commits == DATABASE_UNKNOWN || since.rollbacks == DATABASE_UNKNOWN)
        return false;
    result->transactions = since.commits + since.rollbacks - (evidence->own - evidence->own_begin);
    result->rows_inserted = since.rows_inserted;
    return true;
}

int evidence_server_end(struct evidence *evidence, int64_t expected, struct database_reconciliation *result,
                        struct err *err)
{
    int64_t begin_ns = clock_mono_ns();
    int64_t changed_ns;
    int64_t before = -1;

    *result = (struct database_reconciliation){.transactions = DATABASE_UNKNOWN, .rows_inserted = DATABASE_UNKNOWN};
    if (settle_own(evidence, err) != 0 || end_backends(evidence, result, err) != 0 ||
        look_for_others(evidence, &result->shared, err) != 0)
        return -1;
    result->shared = result->shared || evidence->look_counts;
    changed_ns = clock_mono_ns();
    for (int64_t deadline_ns = changed_ns + SETTLE_LIMIT_NS; clock_mono_ns() < deadline_ns; clock_sleep_ns(STEP_NS)) {
        struct database_counts now;

        if (read_counters(evidence, &now, err) != 0)
            return -1;
        if (!since_begin(evidence, &now, result) || (expected > 0 && result->transactions >= expected))
            break;
        if (result->transactions != before)
            changed_ns = clock_mono_ns();
        else if (clock_mono_ns() - changed_ns >= SETTLED_NS)
            break;
        before = result->transactions;
    }
    result->waited_ms = (clock_mono_ns() - begin_ns) / CLOCK_NS_PER_MS;
    return 0;
}
