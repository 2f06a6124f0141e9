#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/home.h"
#include "base/log.h"
#include "base/opts.h"
#include "base/text.h"
#include "cli/commands.h"
#include "study/config.h"
#include "study/interrupt.h"
#include "study/lock.h"
#include "target/database.h"
#include "target/postgres_cluster.h"

struct db_args {
    const char *state;
    const char *database;
    const char *study;
};

struct db {
    const struct db_args *args;
    char *url; /* of --database */
    char *state_dir;
};

static int print_state(struct postgres_cluster *cluster)
{
    if (!cluster->exists)
        printf("no cluster in %s yet; restbench db start makes one\n", cluster->dir);
    else if (cluster->pid == 0)
        printf("stopped; its data: %s\n", cluster->data);
    else
        printf("runs: process %d, 127.0.0.1:%d, %s; its log: %s\n", (int)cluster->pid, cluster->port,
               cluster->kept ? "until restbench db stop" : "for a run", cluster->log);
    return 0;
}

static int db_start(struct db *db, struct postgres_cluster *cluster, struct err *err)
{
    struct postgres_start how = {.detached = true};

    (void)db;
    return postgres_cluster_start(cluster, &how, err) != 0 ? -1 : print_state(cluster);
}

/* A run measures with this cluster: it is not to be pulled from under it. */
static int refuse_during_run(const struct db *db, struct err *err)
{
    long pid = lock_holder(db->state_dir);

    return pid == 0 ? 0 : err_set(err, "db stop: a run (process %ld) uses this PostgreSQL; end it first", pid);
}

static int db_stop(struct db *db, struct postgres_cluster *cluster, struct err *err)
{
    if (refuse_during_run(db, err) != 0)
        return -1;
    return postgres_cluster_stop(cluster, err) != 0 ? -1 : print_state(cluster);
}

static int db_status(struct db *db, struct postgres_cluster *cluster, struct err *err)
{
    (void)db;
    (void)err;
    return print_state(cluster);
}

static int db_url(struct db *db, struct postgres_cluster *cluster, struct err *err)
{
    char *url;

    (void)db;
    if (cluster->pid == 0)
        return err_set(err, "the private PostgreSQL does not run; restbench db start starts it");
    url = pq_address_url(&cluster->owner);
    puts(url);
    free(url);
    return 0;
}

static int seed_study(struct db *db, const struct study *study, struct err *err)
{
    struct database_spec spec = {
        .kind = "postgresql",
        .url = db->url,
        .state_dir = db->state_dir,
        .table = study->table,
        .rows = study->rows,
        .schema_path = study->schema_path,
        .seed_path = study->seed_path,
        .reset_path = study->reset_path,
        .checksum_path = study->checksum_path,
    };
    struct database *database;
    int result;

    if (!study->has_database)
        return err_set(err, "%s: a study without a database; there is nothing to seed", study->file);
    if (database_open(&spec, &database, err) != 0)
        return -1;
    result = database->ops->prepare(database, err);
    database_close(database);
    if (result == 0)
        printf("table %s: %lld rows, as %s expects them\n", study->table, (long long)study->rows, study->checksum_path);
    return result;
}

static int db_seed(struct db *db, struct postgres_cluster *cluster, struct err *err)
{
    char *file = db->args->study != NULL ? text_dup(db->args->study) : home_file("config/study.json", err);
    struct study study = {0};
    struct lock lock = {.state_fd = -1};
    int result = file != NULL ? config_load(file, &study, err) : -1;

    (void)cluster;
    if (result == 0 && db->url == NULL)
        result = lock_state(db->state_dir, &lock, err); /* nor may a run begin with what is about to be stopped */
    if (result == 0)
        result = seed_study(db, &study, err);
    lock_free(&lock);
    config_free(&study);
    free(file);
    return result;
}

static const struct action {
    const char *name;
    int (*act)(struct db *db, struct postgres_cluster *cluster, struct err *err);
    bool private; /* is about the private cluster alone */
} actions[] = {
    {"start", db_start, true}, {"stop", db_stop, true},  {"status", db_status, true},
    {"url", db_url, true},     {"seed", db_seed, false},
};

static const struct action *find_action(const char *name, struct err *err)
{
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (strcmp(actions[i].name, name) == 0)
            return &actions[i];
    (void)err_set(err, "db %s: unknown; there are start, stop, status, url and seed", name);
    return NULL;
}

static int act(const struct action *action, struct db *db, struct err *err)
{
    struct postgres_cluster cluster;
    int result;

    if (db->url != NULL)
        return action->private
                   ? err_set(err, "db %s is about the private PostgreSQL; leave --database out", action->name)
                   : action->act(db, NULL, err);
    db->state_dir = home_state(db->args->state, err);
    if (db->state_dir == NULL || postgres_cluster_find(db->state_dir, &cluster, err) != 0)
        return -1;
    result = action->act(db, &cluster, err);
    postgres_cluster_free(&cluster);
    return result;
}

static int db_main(int argc, char **argv);

static const struct opt db_opts[] = {
    {0, "state", "DIR", OPT_STRING, offsetof(struct db_args, state), "state folder, which holds the cluster"},
    {0, "database", "URL", OPT_STRING, offsetof(struct db_args, database), "seed: a PostgreSQL that already runs"},
    {0, "study", "FILE", OPT_STRING, offsetof(struct db_args, study),
     "seed: the study whose table is made (config/study.json)"},
    {0},
};

const struct command cmd_db = {
    .name = "db",
    .summary = "the private PostgreSQL: start, stop, status, url, seed",
    .usage = "[OPTIONS] start|stop|status|url|seed",
    .description =
        "start  makes the cluster when there is none, and starts it until `db stop`: as an unprivileged user when "
        "root\n"
        "       asks, on a free port of 127.0.0.1, with PostgreSQL's default configuration.\n"
        "stop   stops it. What it holds is kept.\n"
        "status says whether it runs.\n"
        "url    prints the URL of the table's owner, with the password: for psql, or a server started by hand.\n"
        "seed   makes the study's table, or verifies it by count and checksum and puts it right. A cluster that does\n"
        "       not run is started for it and stopped again.\n\n"
        "`run` does all of that by itself. $RESTBENCH_PG_BIN names the folder of the PostgreSQL to use, when the "
        "newest\n"
        "one that is found (versions 13 to 18) is not wanted.",
    .opts = db_opts,
    .main = db_main,
};

static int db_main(int argc, char **argv)
{
    struct db_args args = {0};
    struct db db = {.args = &args};
    struct err err = {0};
    const struct action *action;
    int operands;
    int result;

    switch (opts_parse(&cmd_db, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (args.database != NULL) {
        db.url = text_dup(args.database);
        pq_hide_password((char *)args.database);
    }
    interrupt_catch();
    if (operands != 1)
        result = err_set(&err, "db: one of start, stop, status, url and seed is needed");
    else
        result = (action = find_action(argv[1], &err)) != NULL ? act(action, &db, &err) : -1;
    free(db.url);
    free(db.state_dir);
    interrupt_raise();
    return result == 0 ? 0 : opts_exit(&err);
}
