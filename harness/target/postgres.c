#include "target/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "target/postgres_cluster.h"
#include "target/postgres_table.h"
#include "target/pq.h"

#define STATEMENT_LIMIT_NS (60 * CLOCK_NS_PER_S)

struct postgres {
    struct database base;
    struct postgres_cluster cluster; /* zeroed for one that already runs */
    bool private;
    struct pq_address address; /* who owns the table */
    struct pq_address admin;   /* of the maintenance database */
    struct pq pq;              /* to the table's database */
    struct pq look;            /* to another one, so that looking is not counted */
    struct postgres_table table;
    char *url;
};

static struct postgres *of(struct database *database)
{
    return (struct postgres *)database;
}

static void postgres_close(struct database *database)
{
    struct postgres *postgres = of(database);

    pq_close(&postgres->pq);
    pq_close(&postgres->look);
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
    return 0;
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

static int postgres_open(const struct database_spec *spec, struct database **database, struct err *err)
{
    struct postgres *postgres = text_alloc(sizeof *postgres);
    int result = spec->url != NULL ? open_external(postgres, spec, err) : open_private(postgres, spec, err);

    if (result == 0)
        result = connect_both(postgres, err);
    if (result != 0) {
        postgres_close(&postgres->base);
        return -1;
    }
    postgres->base.url = postgres->url;
    postgres->table = (struct postgres_table){
        .spec = spec,
        .pq = &postgres->pq,
        .admin = &postgres->look,
        .rows = -1,
    };
    *database = &postgres->base;
    return 0;
}

/* A connection that broke (PostgreSQL crashed and came back) is opened again. */
static int ensure(struct postgres *postgres, struct err *err)
{
    if (postgres->pq.lost || postgres->pq.conn == NULL) {
        pq_close(&postgres->pq);
        if (pq_open(&postgres->address, NULL, "table", &postgres->pq, err) != 0)
            return -1;
    }
    if (postgres->look.lost || postgres->look.conn == NULL) {
        pq_close(&postgres->look);
        return pq_open(&postgres->admin, NULL, "evidence", &postgres->look, err);
    }
    return 0;
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

const struct database_ops postgres_ops = {
    .kind = "postgresql",
    .open = postgres_open,
    .close = postgres_close,
    .prepare = postgres_prepare,
    .reset = postgres_reset,
    .value = postgres_value,
    .execute = postgres_execute,
};
