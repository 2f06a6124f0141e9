#include "target/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "target/evidence.h"
#include "target/evidence_sampler.h"
#include "target/postgres_adopt.h"
#include "target/postgres_cluster.h"
#include "target/postgres_facts.h"
#include "target/postgres_table.h"
#include "target/pq.h"

#define STATEMENT_LIMIT_NS (60 * CLOCK_NS_PER_S)
#define OPENS 3
#define ROOM_LEAST ((int64_t)16 << 20) /* a segment of its log */

struct postgres {
    struct database base;
    struct postgres_cluster cluster; /* zeroed for one that already runs */
    bool private;
    bool broken;               /* a connection was lost since it was opened */
    struct pq_address address; /* who owns the table */
    struct pq_address admin;   /* of the maintenance database */
    struct pq pq;              /* to the table's database */
    struct pq look;            /* to another one, so that looking is not counted */
    struct postgres_table table;
    struct evidence evidence;
    struct evidence_sampler *sampler;
    struct postgres_adopt adopt;
    char *url;
};

static struct postgres *of(struct database *database)
{
    return (struct postgres *)database;
}

/* One that was closed to be accounted for is not lost. */
static bool postgres_lost(struct database *database)
{
    struct postgres *postgres = of(database);

    postgres->broken =
        postgres->broken || !pq_alive(&postgres->look) || (postgres->pq.conn != NULL && !pq_alive(&postgres->pq));
    return postgres->broken;
}

static int postgres_room(struct database *database, struct err *err)
{
    const struct postgres *postgres = of(database);
    struct statvfs disk;
    int64_t left;

    if (!postgres->private || statvfs(postgres->cluster.data, &disk) != 0)
        return 0;
    left = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    if (left >= ROOM_LEAST)
        return 0;
    return err_set(err, "%s: No space left on device for PostgreSQL (%.1f MiB)", postgres->cluster.data,
                   (double)left / (1 << 20));
}

static void postgres_close(struct database *database)
{
    struct postgres *postgres = of(database);

    postgres->cluster.crashed = postgres_lost(database);
    evidence_sampler_stop(postgres->sampler);
    pq_close(&postgres->pq);
    pq_close(&postgres->look);
    postgres_adopt_end(&postgres->adopt);
    if (postgres->private)
        postgres_cluster_free(&postgres->cluster);
    pq_address_free(&postgres->address);
    pq_address_free(&postgres->admin);
    free(postgres->url);
    free(postgres);
}

static int open_private(struct postgres *postgres, const struct database_spec *spec, struct err *err)
{
    struct postgres_start how = {.cpus = spec->cpus, .cgroup = spec->cgroup, .detached = spec->detached};

    if (postgres_cluster_find(spec->state_dir, &postgres->cluster, err) != 0)
        return -1;
    postgres->private = true;
    if (postgres_cluster_start(&postgres->cluster, &how, err) != 0)
        return -1;
    pq_address_copy(&postgres->cluster.owner, &postgres->address);
    pq_address_copy(&postgres->cluster.admin, &postgres->admin);
    postgres->url = pq_address_url(&postgres->cluster.server);
    postgres->base.local = true;
    postgres->base.pid = postgres->cluster.pid;
    postgres->base.started = postgres->cluster.started;
    if (postgres->cluster.started)
        return 0;
    /* One that a killed run left is taken over: it ends with this run. */
    postgres->cluster.started = postgres->base.started = !postgres->cluster.kept;
    return postgres_adopt(postgres->cluster.pid, postgres->cluster.data, spec->cpus, spec->cgroup, &postgres->adopt,
                          err);
}

static int open_external(struct postgres *postgres, const struct database_spec *spec, struct err *err)
{
    if (pq_address_parse(spec->url, &postgres->address, err) != 0)
        return -1;
    pq_address_copy(&postgres->address, &postgres->admin);
    free(postgres->admin.database);
    postgres->admin.database = text_dup("postgres");
    postgres->url = text_dup(spec->url);
    postgres->base.local = pq_address_is_local(&postgres->address);
    return 0;
}

static int connect_both(struct postgres *postgres, struct err *err)
{
    struct err second = {0};

    if (pq_open(&postgres->address, NULL, "table", &postgres->pq, err) != 0)
        return -1;
    if (pq_open(&postgres->admin, NULL, "evidence", &postgres->look, &second) == 0)
        return 0;
    if (postgres->private)
        return err_set(err, "%s", second.text);
    log_line("the database's counters are read from the measured database itself: %s", second.text);
    return pq_open(&postgres->address, NULL, "evidence", &postgres->look, err);
}

static void describe_to_all(struct postgres *postgres, const struct database_spec *spec)
{
    postgres->base.url = postgres->url;
    postgres->table = (struct postgres_table){
        .spec = spec,
        .pq = &postgres->pq,
        .admin = &postgres->look,
        .rows = -1,
        .unremovable = DATABASE_UNKNOWN,
    };
    postgres->evidence = (struct evidence){
        .look = &postgres->look,
        .pq = &postgres->pq,
        .database = postgres->address.database,
        .role = postgres->private ? POSTGRES_SERVER : postgres->address.user,
        .shares_role = !postgres->private,
        .table = spec->table,
        .rows = spec->rows,
        .look_counts = strcmp(PQdb(postgres->look.conn), postgres->address.database) == 0,
    };
    if (!postgres->private && postgres->base.local)
        postgres->base.pid = postgres_facts_postmaster(&postgres->look);
}

/* `*again`: a private one ran, and yet no connection came about; somebody killed it, or a part of it. */
static struct postgres *open_once(const struct database_spec *spec, bool *again, struct err *err)
{
    struct postgres *postgres = text_alloc(sizeof *postgres);
    int result = spec->url != NULL ? open_external(postgres, spec, err) : open_private(postgres, spec, err);

    if (result == 0)
        result = connect_both(postgres, err);
    if (result == 0)
        result = evidence_sampler_start(&postgres->admin, spec->sampler_cpus, &postgres->sampler, err);
    if (result == 0)
        return postgres;
    *again = postgres->cluster.pid != 0 && !child_cancelled();
    postgres_close(&postgres->base);
    return NULL;
}

static int postgres_open(const struct database_spec *spec, struct database **database, struct err *err)
{
    struct postgres *postgres = NULL;
    bool again = true;

    for (int i = 0; i < OPENS && again && postgres == NULL; i++) {
        if (i > 0)
            log_line("PostgreSQL is started again: %s", err->text);
        err_clear(err);
        postgres = open_once(spec, &again, err);
    }
    if (postgres == NULL)
        return -1;
    describe_to_all(postgres, spec);
    *database = &postgres->base;
    return 0;
}

/*
 * A connection that broke (PostgreSQL crashed and came back), or was closed to be accounted for, is opened again. One
 * that cannot be, where one could before, is a loss by itself: a dying PostgreSQL may refuse the new one before the old
 * ones end.
 */
static int ensure(struct postgres *postgres, struct err *err)
{
    int result = 0;

    (void)postgres_lost(&postgres->base);
    if (!pq_alive(&postgres->pq)) {
        evidence_close_own(&postgres->evidence);
        result = pq_open(&postgres->address, NULL, "table", &postgres->pq, err);
    }
    if (result == 0 && !pq_alive(&postgres->look)) {
        pq_close(&postgres->look);
        result = pq_open(&postgres->admin, NULL, "evidence", &postgres->look, err);
    }
    postgres->broken = postgres->broken || result != 0;
    return result;
}

static int postgres_prepare(struct database *database, struct err *err)
{
    struct postgres *postgres = of(database);

    return ensure(postgres, err) != 0 ? -1 : postgres_table_prepare(&postgres->table, err);
}

static int postgres_reset(struct database *database, struct err *err)
{
    struct postgres *postgres = of(database);

    if (postgres->private)
        postgres_cluster_bound_log(&postgres->cluster);
    return ensure(postgres, err) != 0 ? -1 : postgres_table_reset(&postgres->table, err);
}

static int postgres_value(struct database *database, const char *sql, char **value, struct err *err)
{
    struct postgres *postgres = of(database);

    *value = NULL;
    if (ensure(postgres, err) != 0 || pq_value(&postgres->pq, STATEMENT_LIMIT_NS, sql, 0, NULL, value, err) != 0)
        return -1;
    return *value != NULL ? 0 : err_set(err, "no row, or NULL, from: %.200s", sql);
}

static int postgres_execute(struct database *database, const char *sql, struct err *err)
{
    struct postgres *postgres = of(database);

    return ensure(postgres, err) != 0 ? -1 : pq_run(&postgres->pq, STATEMENT_LIMIT_NS, sql, err);
}

static int postgres_server_begin(struct database *database, struct err *err)
{
    struct postgres *postgres = of(database);

    return ensure(postgres, err) != 0 ? -1 : evidence_server_begin(&postgres->evidence, err);
}

static int postgres_server_end(struct database *database, int64_t expected, struct database_reconciliation *result,
                               struct err *err)
{
    struct postgres *postgres = of(database);

    return ensure(postgres, err) != 0 ? -1 : evidence_server_end(&postgres->evidence, expected, result, err);
}

static int postgres_counts(struct database *database, bool count_rows, struct database_counts *counts, struct err *err)
{
    struct postgres *postgres = of(database);

    if (ensure(postgres, err) != 0 || evidence_counts(&postgres->evidence, count_rows, counts, err) != 0)
        return -1;
    counts->unremovable = postgres->table.unremovable;
    return 0;
}

static int postgres_samples_begin(struct database *database, struct err *err)
{
    struct postgres *postgres = of(database);
    char *where = evidence_backends_where(&postgres->evidence);

    (void)err;
    evidence_sampler_begin(postgres->sampler, where);
    free(where);
    return 0;
}

static int postgres_samples_end(struct database *database, struct database_samples *samples, struct err *err)
{
    (void)err;
    evidence_sampler_end(of(database)->sampler, samples);
    return 0;
}

static void add_unseen(const struct postgres *postgres, json_t *object)
{
    json_t *unseen = json_array();

    if (postgres->base.pid == 0)
        (void)json_array_append_new(unseen, json_string(postgres->base.local
                                                            ? "CPU time: its processes cannot be seen from here"
                                                            : "CPU time: it runs on another host"));
    if (!postgres->private)
        (void)json_array_append_new(unseen, json_string("affinity: its processes are not pinned by restbench"));
    if (postgres->table.checkpoint_lacks)
        (void)json_array_append_new(unseen, json_string("checkpoint before writing tests: no right to it"));
    if (postgres->evidence.look_counts)
        (void)json_array_append_new(unseen, json_string("exact transactions: no other database to look from"));
    json_put(object, "unmeasured", unseen);
}

/* Without its command, which is made of the state folder's names; null: it ran already. */
static json_t *launch_json(json_t *record)
{
    json_t *launch = record != NULL ? json_copy(record) : json_null();

    (void)json_object_del(launch, "command");
    return launch;
}

static json_t *postgres_describe(struct database *database, struct err *err)
{
    struct postgres *postgres = of(database);
    json_t *facts =
        ensure(postgres, err) == 0 ? postgres_facts(&postgres->look, postgres->address.database, err) : NULL;
    json_t *object;

    if (facts == NULL)
        return NULL;
    /* The session of a server is not the one that looks: what only it gets is found by being one. */
    if (postgres_facts_session(postgres->url, json_object_get(facts, "settings"), err) != 0) {
        json_decref(facts);
        return NULL;
    }
    object = json_object();
    json_put(object, "kind", json_string(postgres_ops.kind));
    (void)json_object_update(object, facts);
    json_decref(facts);
    json_put(object, "private", json_boolean(postgres->private));
    json_put(object, "launch", launch_json(postgres->cluster.child.record));
    json_put(object, "host_local", json_boolean(postgres->base.local));
    json_put(object, "table", json_string(postgres->table.spec->table));
    json_put(object, "rows", postgres->table.rows >= 0 ? json_integer(postgres->table.rows) : json_null());
    json_put(object, "checksum",
             postgres->table.checksum[0] != '\0' ? json_string(postgres->table.checksum) : json_null());
    add_unseen(postgres, object);
    return object;
}

static char *postgres_stranger(struct database *database)
{
    struct postgres *postgres = of(database);
    struct err ignored = {0};

    /* Elsewhere strangers share the server's role, whose backends wait for each other all the time. */
    if (!postgres->private || ensure(postgres, &ignored) != 0)
        return NULL;
    return postgres_table_stranger(&postgres->table, POSTGRES_SERVER);
}

const struct database_ops postgres_ops = {
    .kind = "postgresql",
    .open = postgres_open,
    .close = postgres_close,
    .prepare = postgres_prepare,
    .reset = postgres_reset,
    .server_begin = postgres_server_begin,
    .server_end = postgres_server_end,
    .counts = postgres_counts,
    .samples_begin = postgres_samples_begin,
    .samples_end = postgres_samples_end,
    .value = postgres_value,
    .execute = postgres_execute,
    .describe = postgres_describe,
    .lost = postgres_lost,
    .room = postgres_room,
    .stranger = postgres_stranger,
};
