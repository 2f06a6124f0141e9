/* A private cluster and a server played by plain connections; skipped where PostgreSQL is not installed. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "target/database.h"
#include "target/postgres_bin.h"
#include "target/pq.h"

#define ROWS 1000
#define LIMIT_NS (30 * CLOCK_NS_PER_S)

static char folder[] = "/tmp/test_database.XXXXXX";
static struct database_spec spec = {.kind = "postgresql", .table = "things", .rows = ROWS};
static struct database *database; /* NULL: no PostgreSQL here */

static char *write_sql(const char *name, const char *sql)
{
    struct err err = {0};
    char *path = fsx_join(folder, name);

    assert_int_equal(fsx_write_new(path, sql, strlen(sql), 0644, &err), 0);
    return path;
}

static int start(void **state)
{
    struct postgres_bin bin;
    struct err err = {0};

    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    spec.state_dir = folder;
    spec.schema_path = write_sql("schema.sql", "CREATE TABLE things (id BIGINT PRIMARY KEY, n INT)");
    spec.seed_path = write_sql("seed.sql", "INSERT INTO things SELECT i, i FROM generate_series(1, 1000) i");
    spec.reset_path = write_sql("reset.sql", "DELETE FROM things WHERE id > 1000; VACUUM ANALYZE things; CHECKPOINT");
    spec.checksum_path = write_sql("sum.sql", "SELECT count(*) AS rows, sum(n) AS checksum, 500500 AS expected FROM "
                                              "things WHERE id <= 1000");
    if (postgres_bin_find(0, &bin, &err) != 0)
        return 0;
    postgres_bin_free(&bin);
    if (database_open(&spec, &database, &err) != 0 || database->ops->prepare(database, &err) != 0) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int stop(void **state)
{
    struct err err = {0};

    (void)state;
    database_close(database);
    free((void *)spec.schema_path);
    free((void *)spec.seed_path);
    free((void *)spec.reset_path);
    free((void *)spec.checksum_path);
    return fsx_remove_tree(folder, &err);
}

/* A connection as a server has it. */
static void serve(struct pq *pq)
{
    struct pq_address address;
    struct err err = {0};

    assert_int_equal(pq_address_parse(database->url, &address, &err), 0);
    if (pq_open(&address, NULL, "test server", pq, &err) != 0)
        fail_msg("%s", err.text);
    pq_address_free(&address);
}

static void must(int result, const struct err *err)
{
    if (result != 0)
        fail_msg("%s", err->text);
}

static void a_servers_transactions_are_counted_exactly(void **state)
{
    struct database_reconciliation sums;
    struct err err = {0};
    struct pq server[3];
    int64_t did = 0;

    (void)state;
    if (database == NULL)
        skip();
    must(database->ops->server_begin(database, &err), &err);
    for (int i = 0; i < 3; i++)
        serve(&server[i]);
    must(database->ops->reset(database, &err), &err);
    for (int i = 0; i < 60; i++) {
        char *sql = text_format("INSERT INTO things SELECT %d + j, j FROM generate_series(1, 100) j", ROWS + i * 100);

        must(pq_run(&server[i % 3], LIMIT_NS, sql, &err), &err);
        free(sql);
    }
    for (int i = 0; i < 3; i++) {
        did += server[i].transactions;
        pq_close(&server[i]);
    }
    must(database->ops->server_end(database, did, &sums, &err), &err);
    /* VACUUM ANALYZE is several transactions, of which we know one. */
    assert_in_range(sums.transactions, did, did + 6);
    assert_in_range(sums.rows_inserted, 6000, 6100);
    assert_int_equal(sums.ended_by_force, 0);
    assert_false(sums.shared);
}

static void counts_of_a_phase(void **state)
{
    struct database_counts begin;
    struct database_counts end;
    struct database_counts since;
    struct database_reconciliation sums;
    struct err err = {0};
    struct pq server;
    json_t *object;

    (void)state;
    if (database == NULL)
        skip();
    must(database->ops->server_begin(database, &err), &err);
    must(database->ops->reset(database, &err), &err);
    serve(&server);
    must(database->ops->counts(database, true, &begin, &err), &err);
    assert_int_equal(begin.rows_in_table, 0);
    assert_int_equal(begin.backends, 1);
    must(pq_run(&server, LIMIT_NS, "INSERT INTO things SELECT 1000 + i, i FROM generate_series(1, 700) i", &err), &err);
    must(pq_run(&server, LIMIT_NS, "CHECKPOINT", &err) == 0 ? -1 : 0, &err); /* a server may not */
    must(database->ops->execute(database, "DELETE FROM things WHERE id > 1600", &err), &err);
    must(database->ops->counts(database, true, &end, &err), &err);
    since = database_counts_since(&begin, &end);
    assert_int_equal(since.rows_in_table, 600);
    assert_true(since.wal_bytes > 700 * 20);
    assert_int_equal(since.checkpoints, 0);
    assert_int_equal(since.statements, DATABASE_UNKNOWN);
    object = database_to_json(&begin, &end, NULL);
    assert_true(json_is_null(json_object_get(object, "samples")));
    assert_true(json_is_null(json_object_get(object, "connections_max")));
    assert_int_equal(json_integer_value(json_object_get(object, "rows_in_table")), 600);
    json_decref(object);
    pq_close(&server);
    must(database->ops->server_end(database, 1, &sums, &err), &err);
}

static void rows_that_an_old_snapshot_keeps_are_known(void **state)
{
    struct database_counts counts;
    struct err err = {0};
    struct pq reader;

    (void)state;
    if (database == NULL)
        skip();
    must(database->ops->execute(database, "INSERT INTO things SELECT 7000 + i, i FROM generate_series(1, 500) i", &err),
         &err);
    must(database->ops->reset(database, &err), &err);
    must(database->ops->counts(database, true, &counts, &err), &err);
    assert_int_equal(counts.unremovable, 0);
    must(database->ops->execute(database, "INSERT INTO things SELECT 7000 + i, i FROM generate_series(1, 500) i", &err),
         &err);
    serve(&reader);
    must(pq_run(&reader, LIMIT_NS, "BEGIN ISOLATION LEVEL REPEATABLE READ", &err), &err);
    must(pq_run(&reader, LIMIT_NS, "SELECT 1", &err), &err);
    must(database->ops->reset(database, &err), &err);
    must(database->ops->counts(database, true, &counts, &err), &err);
    assert_int_equal(counts.rows_in_table, 0);
    assert_in_range(counts.unremovable, 500, 2000);
    pq_close(&reader);
    must(database->ops->reset(database, &err), &err);
    must(database->ops->counts(database, true, &counts, &err), &err);
    assert_int_equal(counts.unremovable, 0);
}

static void samples_see_locks_and_connections(void **state)
{
    struct database_samples samples;
    struct database_reconciliation sums;
    struct err err = {0};
    struct pq holder;
    struct pq waiter;
    int64_t deadline_ns;

    (void)state;
    if (database == NULL)
        skip();
    must(database->ops->server_begin(database, &err), &err);
    serve(&holder);
    serve(&waiter);
    must(pq_run(&holder, LIMIT_NS, "BEGIN", &err), &err);
    must(pq_run(&holder, LIMIT_NS, "LOCK TABLE things", &err), &err);
    assert_int_equal(PQsendQuery(waiter.conn, "SELECT count(*) FROM things"), 1);
    deadline_ns = clock_mono_ns() + LIMIT_NS;
    do {
        must(database->ops->samples_begin(database, &err), &err);
        clock_sleep_ns(CLOCK_NS_PER_S / 2);
        must(database->ops->samples_end(database, &samples, &err), &err);
    } while (samples.lock == 0 && clock_mono_ns() < deadline_ns);
    assert_true(samples.count > 0);
    assert_true(samples.lock > 0 && samples.lock <= samples.active && samples.commit == 0);
    assert_int_equal(samples.connections_max, 2);
    pq_close(&holder);
    pq_close(&waiter);
    must(database->ops->server_end(database, 1, &sums, &err), &err);
    must(database->ops->samples_begin(database, &err), &err);
    must(database->ops->samples_end(database, &samples, &err), &err);
    if (samples.count == 0)
        assert_int_equal(samples.connections_min, DATABASE_UNKNOWN);
}

static void backends_that_stay_are_ended(void **state)
{
    struct database_reconciliation sums;
    struct err err = {0};
    struct pq server;

    (void)state;
    if (database == NULL)
        skip();
    must(database->ops->server_begin(database, &err), &err);
    serve(&server);
    must(pq_run(&server, LIMIT_NS, "BEGIN", &err), &err);
    must(pq_run(&server, LIMIT_NS, "LOCK TABLE things", &err), &err);
    must(database->ops->server_end(database, 0, &sums, &err), &err);
    assert_int_equal(sums.ended_by_force, 1);
    must(database->ops->reset(database, &err), &err);
    pq_close(&server);
}

static void machine_json_says_what_it_is(void **state)
{
    struct err err = {0};
    json_t *object;
    json_t *settings;

    (void)state;
    if (database == NULL)
        skip();
    object = database->ops->describe(database, &err);
    must(object != NULL ? 0 : -1, &err);
    settings = json_object_get(object, "settings");
    assert_string_equal(json_get_string(settings, "lc_collate"), "C.UTF-8");
    assert_string_equal(json_get_string(settings, "server_encoding"), "UTF8");
    assert_string_equal(json_get_string(settings, "fsync"), "on");
    assert_string_equal(json_get_string(settings, "synchronous_commit"), "on");
    assert_string_equal(json_get_string(settings, "shared_buffers"), "128MB");
    assert_non_null(strstr(json_get_string(settings, "timezone"), "UTC"));
    assert_true(json_is_true(json_object_get(object, "private")));
    assert_int_equal(json_integer_value(json_object_get(object, "rows")), ROWS);
    assert_string_equal(json_get_string(object, "checksum"), "500500");
    assert_int_equal(json_array_size(json_object_get(object, "unmeasured")), 0);
    json_decref(object);
}

static void a_crash_is_survived_and_its_counters_unknown(void **state)
{
    struct database_reconciliation sums;
    struct err err = {0};
    char *pid;
    int64_t number;

    (void)state;
    if (database == NULL)
        skip();
    must(database->ops->execute(database, "INSERT INTO things VALUES (5000, 1)", &err), &err);
    must(database->ops->server_begin(database, &err), &err);
    must(database->ops->value(database, "SELECT pg_backend_pid()", &pid, &err), &err);
    assert_int_equal(text_parse_i64(pid, &number), 0);
    free(pid);
    assert_int_equal(kill((pid_t)number, SIGKILL), 0); /* PostgreSQL restarts all of its children */
    assert_int_equal(database->ops->execute(database, "SELECT 1", &err), -1);
    for (int64_t deadline_ns = clock_mono_ns() + LIMIT_NS; clock_mono_ns() < deadline_ns;) {
        err_clear(&err);
        if (database->ops->execute(database, "SELECT 1", &err) == 0)
            break;
        clock_sleep_ns(100 * CLOCK_NS_PER_MS);
    }
    assert_string_equal(err.text, "");
    must(database->ops->server_end(database, 1, &sums, &err), &err);
    if (sums.transactions != DATABASE_UNKNOWN) /* PostgreSQL 15 and later begin anew; the counters were small */
        assert_true(sums.transactions >= 0);
    must(database->ops->reset(database, &err), &err);
}

static void unknown_stays_unknown(void **state)
{
    struct database_counts earlier = {
        .commits = 10, .rollbacks = DATABASE_UNKNOWN, .wal_bytes = 7, .statements = DATABASE_UNKNOWN};
    struct database_counts later = {.commits = 4, .rollbacks = 3, .wal_bytes = 9, .dead_tuples = DATABASE_UNKNOWN};
    struct database_counts since = database_counts_since(&earlier, &later);
    json_t *object = database_to_json(&earlier, &later, NULL);
    json_t *nothing = database_to_json(NULL, NULL, NULL);
    const char *key;
    json_t *value;

    (void)state;
    assert_int_equal(since.commits, DATABASE_UNKNOWN);
    assert_int_equal(since.rollbacks, DATABASE_UNKNOWN);
    assert_int_equal(since.wal_bytes, 2);
    assert_int_equal(since.dead_tuples, DATABASE_UNKNOWN);
    assert_true(json_is_null(json_object_get(object, "transactions")));
    assert_true(json_is_null(json_object_get(object, "statements_source")));
    json_object_foreach (nothing, key, value)
        assert_true(json_is_null(value));
    json_decref(object);
    json_decref(nothing);
}

static void a_study_without_a_database(void **state)
{
    struct database_spec without = {.kind = "none"};
    struct database_spec strange = {.kind = "firebird"};
    struct database *none = NULL;
    struct err err = {0};

    (void)state;
    must(database_open(&without, &none, &err), &err);
    assert_null(none->url);
    must(none->ops->prepare(none, &err), &err);
    must(none->ops->reset(none, &err), &err);
    assert_null(none->ops->counts);
    database_close(none);
    assert_int_equal(database_open(&strange, &none, &err), -1);
    assert_non_null(strstr(err.text, "firebird"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_stays_unknown),
        cmocka_unit_test(a_study_without_a_database),
        cmocka_unit_test(a_servers_transactions_are_counted_exactly),
        cmocka_unit_test(counts_of_a_phase),
        cmocka_unit_test(rows_that_an_old_snapshot_keeps_are_known),
        cmocka_unit_test(samples_see_locks_and_connections),
        cmocka_unit_test(backends_that_stay_are_ended),
        cmocka_unit_test(machine_json_says_what_it_is),
        cmocka_unit_test(a_crash_is_survived_and_its_counters_unknown),
    };

    return cmocka_run_group_tests_name("database", tests, start, stop);
}
