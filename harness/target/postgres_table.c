#include "target/postgres_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "target/sql_file.h"

#define STATEMENT_LIMIT_NS (120 * CLOCK_NS_PER_S)
#define LOOK_LIMIT_NS (5 * CLOCK_NS_PER_S)
#define VACUUMS 2
#define VACUUM_PAUSE_NS (300 * CLOCK_NS_PER_MS)
#define MARK "restbench: rows made up for measuring, may be replaced at any time"

/* Of a session `a`. */
#define DESCRIBED                                                                                                      \
    "format('process %s (%s, user %s, %s): %s', a.pid, coalesce(nullif(a.application_name, ''), 'no name'),"           \
    " a.usename, a.state, left(regexp_replace(a.query, '\\s+', ' ', 'g'), 120))"

static const char denied[] = "42501";       /* insufficient_privilege */
static const char lock_timeout[] = "55P03"; /* lock_not_available */
static const char canceled[] = "57014";     /* query_canceled: statement_timeout */

char *postgres_table_blocker(struct postgres_table *table)
{
    static const char oid_sql[] = "SELECT to_regclass($1)::oid";
    static const char sql[] =
        "SELECT " DESCRIBED " FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)"
        " WHERE l.locktype = 'relation' AND l.granted AND l.relation = $1::oid"
        " AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = $2)"
        " AND a.pid <> $3::int ORDER BY array_position(ARRAY['AccessExclusiveLock', 'ExclusiveLock',"
        " 'ShareRowExclusiveLock', 'ShareLock', 'ShareUpdateExclusiveLock'], l.mode), a.xact_start LIMIT 1";
    /* Who may see everybody's queries is asked, when there is one. */
    struct pq *asked = table->admin != NULL ? table->admin : table->pq;
    char *name = pq_identifier(table->spec->table);
    char *own = text_format("%d", PQbackendPID(table->pq->conn));
    const char *names[] = {name};
    char *oid = NULL;
    struct err ignored = {0};
    char *found = NULL;

    if (pq_value(table->pq, LOOK_LIMIT_NS, oid_sql, 1, names, &oid, &ignored) == 0 && oid != NULL) {
        const char *params[] = {oid, PQdb(table->pq->conn), own};

        (void)pq_value(asked, LOOK_LIMIT_NS, sql, 3, params, &found, &ignored);
    }
    free(oid);
    free(own);
    free(name);
    return found != NULL ? found : text_dup("");
}

char *postgres_table_stranger(struct postgres_table *table, const char *role)
{
    static const char sql[] =
        "SELECT " DESCRIBED " FROM pg_catalog.pg_stat_activity w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) b"
        " JOIN pg_catalog.pg_stat_activity a ON a.pid = b WHERE w.datname = $1 AND w.usename = $2"
        " AND w.wait_event_type = 'Lock' AND a.usename <> $2 ORDER BY a.xact_start LIMIT 1";
    const char *params[] = {PQdb(table->pq->conn), role};
    struct err ignored = {0};
    char *found = NULL;

    if (table->admin != NULL)
        (void)pq_value(table->admin, LOOK_LIMIT_NS, sql, 2, params, &found, &ignored);
    return found;
}

static int explain(struct postgres_table *table, const char *sqlstate, const char *where, struct err *err)
{
    char *blocker;

    (void)err_prefix(err, "%s", where);
    if (strcmp(sqlstate, lock_timeout) != 0 && strcmp(sqlstate, canceled) != 0)
        return -1;
    blocker = postgres_table_blocker(table);
    if (blocker[0] != '\0') {
        struct err named = {.kind = err->kind};

        (void)snprintf(named.text, sizeof named.text, "%.700s; in the way: %.300s", err->text, blocker);
        *err = named;
    }
    free(blocker);
    return -1;
}

/* What the owner of the table may not do (CHECKPOINT), another of ours may. */
static int run_denied(struct postgres_table *table, const char *sql, struct err *err)
{
    struct err second = {0};

    if (table->admin != NULL && pq_run(table->admin, STATEMENT_LIMIT_NS, sql, &second) == 0) {
        err_clear(err);
        return 0;
    }
    if (strncmp(sql, "CHECKPOINT", strlen("CHECKPOINT")) != 0)
        return -1;
    if (!table->checkpoint_lacks)
        log_line("no CHECKPOINT before writing tests: the database's user has no right to it");
    table->checkpoint_lacks = true;
    err_clear(err);
    return 0;
}

/*
 * Dead rows that VACUUM had to leave because a transaction that is still open may need them. When every page is visible
 * to all there are none; else the statistics have VACUUM's own count, as long as nothing that came late is added to it.
 */
static int look_for_unremovable(struct postgres_table *table, struct err *err)
{
    static const char sql[] = "SELECT CASE WHEN c.relallvisible >= c.relpages THEN 0 ELSE s.n_dead_tup END"
                              " FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_stat_all_tables s ON s.relid = c.oid"
                              " WHERE c.oid = to_regclass($1)";
    char *name = pq_identifier(table->spec->table);
    const char *params[] = {name};
    char *value = NULL;
    int result = pq_value(table->pq, LOOK_LIMIT_NS, sql, 1, params, &value, err);

    if (result == 0 && (value == NULL || text_parse_i64(value, &table->unremovable) != 0))
        table->unremovable = DATABASE_UNKNOWN;
    free(value);
    free(name);
    return result;
}

/* Again when something was left: autovacuum's own transaction may have been open for a moment. */
static int run_vacuum(struct postgres_table *table, const char *sql, struct err *err)
{
    for (int i = 0; i < VACUUMS; i++) {
        if (i > 0)
            clock_sleep_ns(VACUUM_PAUSE_NS);
        /* What this session deleted is counted now, not behind VACUUM's back. */
        if (PQserverVersion(table->pq->conn) >= 150000 &&
            pq_run(table->pq, LOOK_LIMIT_NS, "SELECT pg_stat_force_next_flush()", err) != 0)
            return -1;
        if (pq_run(table->pq, STATEMENT_LIMIT_NS, sql, err) != 0 || look_for_unremovable(table, err) != 0)
            return -1;
        if (table->unremovable == 0 || table->unremovable == DATABASE_UNKNOWN)
            break;
    }
    return 0;
}

static int run_statement(struct postgres_table *table, const char *sql, struct err *err)
{
    if (strncasecmp(sql, "VACUUM", strlen("VACUUM")) == 0)
        return run_vacuum(table, sql, err);
    return pq_run(table->pq, STATEMENT_LIMIT_NS, sql, err);
}

static int run_file(struct postgres_table *table, const char *path, struct err *err)
{
    struct sql_file file;
    int result = 0;

    table->unremovable = DATABASE_UNKNOWN;
    if (sql_file_load(path, &file, err) != 0)
        return -1;
    for (size_t i = 0; i < file.count && result == 0; i++) {
        char *where = text_format("%s:%d", path, file.statements[i].line);

        result = run_statement(table, file.statements[i].text, err);
        if (result != 0 && strcmp(table->pq->sqlstate, denied) == 0)
            result = run_denied(table, file.statements[i].text, err);
        if (result != 0) {
            char sqlstate[sizeof table->pq->sqlstate];

            memcpy(sqlstate, table->pq->sqlstate, sizeof sqlstate);
            result = explain(table, sqlstate, where, err);
        }
        free(where);
    }
    sql_file_free(&file);
    return result;
}

/* Sets *exists; an error when there is one that is not ours. */
static int look(struct postgres_table *table, bool *exists, struct err *err)
{
    static const char sql[] = "SELECT coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_catalog.pg_class c"
                              " WHERE c.oid = to_regclass($1)";
    char *name = pq_identifier(table->spec->table);
    const char *params[] = {name};
    char *comment = NULL;
    int result = pq_value(table->pq, LOOK_LIMIT_NS, sql, 1, params, &comment, err);

    free(name);
    *exists = comment != NULL;
    if (result == 0 && comment != NULL && strncmp(comment, "restbench", strlen("restbench")) != 0)
        result = err_set(err,
                         "%s: a table %s is there that restbench did not make; it is left alone. Use another database, "
                         "or drop the table",
                         table->pq->shown, table->spec->table);
    free(comment);
    return result;
}

static void keep_checksum(struct postgres_table *table, const PGresult *result)
{
    int field = PQfnumber(result, "checksum");

    table->rows = pq_int(result, 0, "rows", -1);
    (void)snprintf(table->checksum, sizeof table->checksum, "%s",
                   field >= 0 && PQntuples(result) > 0 ? PQgetvalue(result, 0, field) : "");
}

/* 0: these are the rows; 1: they differ, `why` says how; -1. */
static int verify(struct postgres_table *table, struct text *why, struct err *err)
{
    struct sql_file file;
    PGresult *result;
    int field;

    if (sql_file_load(table->spec->checksum_path, &file, err) != 0)
        return -1;
    if (file.count != 1) {
        (void)err_set(err, "%s: %zu statements where one query is needed", file.name, file.count);
        sql_file_free(&file);
        return -1;
    }
    if (pq_query(table->pq, STATEMENT_LIMIT_NS, file.statements[0].text, 0, NULL, &result, err) != 0) {
        sql_file_free(&file);
        /* An older form of the table has other columns. */
        if (strncmp(table->pq->sqlstate, "42", 2) == 0 && strcmp(table->pq->sqlstate, denied) != 0) {
            text_add(why, err->text);
            err_clear(err);
            return 1;
        }
        return explain(table, table->pq->sqlstate, table->spec->checksum_path, err);
    }
    sql_file_free(&file);
    keep_checksum(table, result);
    field = PQfnumber(result, "expected");
    if (table->rows != table->spec->rows)
        text_addf(why, "%lld rows instead of %lld", (long long)table->rows, (long long)table->spec->rows);
    else if (field >= 0 && strcmp(PQgetvalue(result, 0, field), table->checksum) != 0)
        text_addf(why, "checksum %.16s instead of %.16s", table->checksum, PQgetvalue(result, 0, field));
    PQclear(result);
    return why->len > 0 ? 1 : 0;
}

/* In one transaction: a table of ours never stands there without its mark. */
static int make_schema(struct postgres_table *table, struct err *err)
{
    char *name = pq_identifier(table->spec->table);
    char *literal = pq_literal(MARK);
    char *comment = text_format("COMMENT ON TABLE %s IS %s", name, literal);
    struct err ignored = {0};
    int result = pq_run(table->pq, LOOK_LIMIT_NS, "BEGIN", err);

    if (result == 0)
        result = run_file(table, table->spec->schema_path, err);
    if (result == 0 && pq_run(table->pq, LOOK_LIMIT_NS, comment, err) != 0)
        result = err_prefix(err, "%s makes no table %s", table->spec->schema_path, table->spec->table);
    if (result == 0)
        result = pq_run(table->pq, LOOK_LIMIT_NS, "COMMIT", err);
    if (result != 0 && !table->pq->lost)
        (void)pq_run(table->pq, LOOK_LIMIT_NS, "ROLLBACK", &ignored);
    free(comment);
    free(literal);
    free(name);
    return result;
}

static int drop(struct postgres_table *table, struct err *err)
{
    char *name = pq_identifier(table->spec->table);
    char *sql = text_format("DROP TABLE %s", name);
    int result = pq_run(table->pq, STATEMENT_LIMIT_NS, sql, err);

    if (result != 0) {
        char sqlstate[sizeof table->pq->sqlstate];

        memcpy(sqlstate, table->pq->sqlstate, sizeof sqlstate);
        result = explain(table, sqlstate, "making the table again", err);
    }
    free(sql);
    free(name);
    return result;
}

static int make(struct postgres_table *table, struct err *err)
{
    struct text why = {0};
    int result = make_schema(table, err);

    if (result == 0)
        result = run_file(table, table->spec->seed_path, err);
    if (result == 0)
        result = verify(table, &why, err);
    if (result > 0)
        result = err_set(err, "%s does not make what %s expects: %s", table->spec->seed_path,
                         table->spec->checksum_path, text_string(&why));
    text_free(&why);
    table->reseeded = true;
    return result;
}

int postgres_table_prepare(struct postgres_table *table, struct err *err)
{
    struct text why = {0};
    bool exists;
    int differs;

    table->reseeded = false;
    if (look(table, &exists, err) != 0)
        return -1;
    if (!exists)
        return make(table, err) != 0 ? -1 : postgres_table_reset(table, err);
    differs = verify(table, &why, err);
    if (differs > 0) {
        log_line("table %s is made again: %s", table->spec->table, text_string(&why));
        differs = drop(table, err) != 0 ? -1 : make(table, err);
    }
    text_free(&why);
    return differs != 0 ? -1 : postgres_table_reset(table, err);
}

int postgres_table_reset(struct postgres_table *table, struct err *err)
{
    return run_file(table, table->spec->reset_path, err);
}
