#include "target/database.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "target/postgres.h"

const struct database_counts database_counts_unknown = {
    .commits = DATABASE_UNKNOWN,
    .rollbacks = DATABASE_UNKNOWN,
    .statements = DATABASE_UNKNOWN,
    .rows_inserted = DATABASE_UNKNOWN,
    .rows_fetched = DATABASE_UNKNOWN,
    .rows_returned = DATABASE_UNKNOWN,
    .deadlocks = DATABASE_UNKNOWN,
    .checkpoints = DATABASE_UNKNOWN,
    .wal_bytes = DATABASE_UNKNOWN,
    .dead_tuples = DATABASE_UNKNOWN,
    .unremovable = DATABASE_UNKNOWN,
    .rows_in_table = DATABASE_UNKNOWN,
    .backends = DATABASE_UNKNOWN,
};

static int none_open(const struct database_spec *spec, struct database **database, struct err *err)
{
    (void)spec;
    (void)err;
    *database = text_alloc(sizeof **database);
    return 0;
}

static void none_close(struct database *database)
{
    free(database);
}

static int none_nothing(struct database *database, struct err *err)
{
    (void)database;
    (void)err;
    return 0;
}

static const struct database_ops none_ops = {
    .kind = "none",
    .open = none_open,
    .close = none_close,
    .prepare = none_nothing,
    .reset = none_nothing,
};

static const struct database_ops *const kinds[] = {&postgres_ops, &none_ops};

int database_open(const struct database_spec *spec, struct database **database, struct err *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i]->kind, spec->kind) != 0)
            continue;
        if (kinds[i]->open(spec, database, err) != 0)
            return -1;
        (*database)->ops = kinds[i];
        return 0;
    }
    return err_set(err, "database kind %s: database_counts_unknown; there are postgresql and none", spec->kind);
}

void database_close(struct database *database)
{
    if (database != NULL)
        database->ops->close(database);
}

static int64_t difference(int64_t earlier, int64_t later)
{
    if (earlier == DATABASE_UNKNOWN || later == DATABASE_UNKNOWN || later < earlier)
        return DATABASE_UNKNOWN;
    return later - earlier;
}

struct database_counts database_counts_since(const struct database_counts *earlier, const struct database_counts *later)
{
    return (struct database_counts){
        .mono_ns = later->mono_ns - earlier->mono_ns,
        .commits = difference(earlier->commits, later->commits),
        .rollbacks = difference(earlier->rollbacks, later->rollbacks),
        .statements = difference(earlier->statements, later->statements),
        .rows_inserted = difference(earlier->rows_inserted, later->rows_inserted),
        .rows_fetched = difference(earlier->rows_fetched, later->rows_fetched),
        .rows_returned = difference(earlier->rows_returned, later->rows_returned),
        .deadlocks = difference(earlier->deadlocks, later->deadlocks),
        .checkpoints = difference(earlier->checkpoints, later->checkpoints),
        .wal_bytes = difference(earlier->wal_bytes, later->wal_bytes),
        .dead_tuples = later->dead_tuples,
        .unremovable = later->unremovable,
        .rows_in_table = later->rows_in_table,
        .backends = later->backends,
    };
}

static void put_count(json_t *object, const char *key, int64_t value)
{
    json_put(object, key, value == DATABASE_UNKNOWN ? json_null() : json_integer(value));
}

static json_t *samples_json(const struct database_samples *samples)
{
    json_t *object;

    if (samples == NULL || samples->count == 0)
        return json_null();
    object = json_object();
    put_count(object, "count", samples->count);
    put_count(object, "failed", samples->failed);
    put_count(object, "active", samples->active);
    put_count(object, "commit", samples->commit);
    put_count(object, "lock", samples->lock);
    put_count(object, "other", samples->other);
    return object;
}

static void put_statements(json_t *object, const struct database_counts *since, int64_t transactions)
{
    const char *source = NULL;

    if (since->statements != DATABASE_UNKNOWN)
        source = "pg_stat_statements";
    else if (transactions != DATABASE_UNKNOWN)
        source = "pg_stat_database"; /* which knows transactions only: one statement each */
    put_count(object, "statements", since->statements != DATABASE_UNKNOWN ? since->statements : transactions);
    json_put(object, "statements_source", source != NULL ? json_string(source) : json_null());
}

json_t *database_to_json(const struct database_counts *begin, const struct database_counts *end,
                         const struct database_samples *samples)
{
    struct database_counts since =
        begin != NULL && end != NULL ? database_counts_since(begin, end) : database_counts_unknown;
    int64_t transactions = DATABASE_UNKNOWN;
    json_t *object = json_object();

    if (since.commits != DATABASE_UNKNOWN && since.rollbacks != DATABASE_UNKNOWN)
        transactions = since.commits + since.rollbacks;
    put_count(object, "transactions", transactions);
    put_count(object, "rollbacks", since.rollbacks);
    put_statements(object, &since, transactions);
    put_count(object, "rows_inserted", since.rows_inserted);
    put_count(object, "rows_fetched", since.rows_fetched);
    put_count(object, "rows_returned", since.rows_returned);
    put_count(object, "rows_in_table", since.rows_in_table);
    put_count(object, "connections_min", samples != NULL ? samples->connections_min : DATABASE_UNKNOWN);
    put_count(object, "connections_max", samples != NULL ? samples->connections_max : DATABASE_UNKNOWN);
    put_count(object, "deadlocks", since.deadlocks);
    put_count(object, "checkpoints", since.checkpoints);
    put_count(object, "wal_bytes", since.wal_bytes);
    put_count(object, "dead_tuples_at_start", begin != NULL ? begin->dead_tuples : DATABASE_UNKNOWN);
    put_count(object, "dead_tuples_unremovable", begin != NULL ? begin->unremovable : DATABASE_UNKNOWN);
    json_put(object, "samples", samples_json(samples));
    return object;
}
