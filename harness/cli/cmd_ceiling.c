#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "machine/place.h"
#include "results/record.h"
#include "study/alone.h"
#include "study/config.h"
#include "study/config_database.h"
#include "study/interrupt.h"
#include "study/lock.h"
#include "target/pq.h"

#define SAME_DAY_MOST 1000

struct ceiling_args {
    const char *study;
    const char *tests;
    const char *state;
    const char *data;
    const char *database;
    const char *cpus;
    int64_t seconds_ns;
    int64_t warmup_ns;
};

/* What is open while it runs. */
struct ceiling {
    const struct ceiling_args *args;
    struct study study;
    struct machine machine;
    struct place place;
    struct lock lock;
    struct database_spec spec; /* borrowed by the database */
    struct database *database;
    struct alone alone;
    bool *tests;
    char *url;
    char *state_dir;
};

/* Nothing is started before everything that can be missing is there. */
static int prepare(struct ceiling *ceiling, struct err *err)
{
    const struct ceiling_args *args = ceiling->args;
    char *file = args->study != NULL ? text_dup(args->study) : home_file("config/study.json", err);
    int status = file != NULL ? config_load(file, &ceiling->study, err) : -1;

    free(file);
    if (status != 0)
        return -1;
    if (!ceiling->study.has_database)
        return err_set(err, "%s: a study without a database has no ceiling", ceiling->study.file);
    ceiling->alone = (struct alone){
        .study = &ceiling->study,
        .machine = &ceiling->machine,
        .place = &ceiling->place,
        .warmup_seconds =
            args->warmup_ns >= 0 ? (double)args->warmup_ns / CLOCK_NS_PER_S : ceiling->study.warmup_seconds,
        .seconds = args->seconds_ns > 0 ? (double)args->seconds_ns / CLOCK_NS_PER_S : ceiling->study.phases[0].seconds,
    };
    if (config_choose_tests(&ceiling->study, args->tests, &ceiling->tests, err) != 0 ||
        alone_open(&ceiling->alone, err) != 0 || (ceiling->state_dir = home_state(args->state, err)) == NULL)
        return -1;
    ceiling->alone.tests = ceiling->tests;
    ceiling->alone.work_dir = ceiling->state_dir;
    if (alone_count(&ceiling->alone) == 0)
        return err_set(err, "no test to measure: %s has none%s%s with a script in %s", ceiling->study.file,
                       args->tests != NULL ? " that matches " : "", args->tests != NULL ? args->tests : "",
                       ceiling->alone.scripts);
    return 0;
}

static int open_all(struct ceiling *ceiling, struct err *err)
{
    const struct ceiling_args *args = ceiling->args;

    if (prepare(ceiling, err) != 0 ||
        machine_open(args->cpus != NULL ? args->cpus : ceiling->study.cpus, &ceiling->machine, err) != 0)
        return -1;
    if (ceiling->machine.split.note[0] != '\0')
        log_line("%s", ceiling->machine.split.note);
    place_open(&ceiling->machine, "postgres", false, NULL, &ceiling->place);
    if (lock_state(ceiling->state_dir, &ceiling->lock, err) != 0 ||
        (getenv("RESTBENCH_SHARE_CPUS") == NULL && /* as in `run`: for tests */
         lock_cpus(&ceiling->machine.allowed, &ceiling->lock, err) != 0))
        return -1;
    ceiling->spec = config_database_spec(&ceiling->study, ceiling->url, ceiling->state_dir);
    ceiling->spec.cpus = ceiling->place.cpus;
    ceiling->spec.cgroup = &ceiling->place.cgroup;
    if (database_open(&ceiling->spec, &ceiling->database, err) != 0 ||
        ceiling->database->ops->prepare(ceiling->database, err) != 0)
        return -1;
    ceiling->alone.database = ceiling->database;
    return 0;
}

static void close_all(struct ceiling *ceiling)
{
    struct err ignored = {0};

    database_close(ceiling->database);
    if (ceiling->place.name[0] != '\0')
        (void)place_close(&ceiling->place, &ignored);
    lock_free(&ceiling->lock);
    machine_close(&ceiling->machine);
    alone_close(&ceiling->alone);
    config_free(&ceiling->study);
    free(ceiling->tests);
    free(ceiling->state_dir);
}

/* Beside a run's CSV, where its report finds it, or by the day. Never over another file. */
static char *choose_file(const struct ceiling_args *args, const char *csv, const char *utc, struct err *err)
{
    char *path;

    if (csv != NULL) {
        path = record_beside(csv, "_ceiling.json");
        if (!fsx_exists(path))
            return path;
        (void)err_set(err, "%s: is there already; it is not overwritten", path);
        free(path);
        return NULL;
    }
    if (fsx_mkdirs(args->data != NULL ? args->data : "data", 0755, err) != 0)
        return NULL;
    for (int i = 1; i < SAME_DAY_MOST; i++) {
        char number[16] = "";

        if (i > 1)
            (void)snprintf(number, sizeof number, "_%d", i);
        path = text_format("%s/%.10s_ceiling%s.json", args->data != NULL ? args->data : "data", utc, number);
        if (!fsx_exists(path))
            return path;
        free(path);
    }
    (void)err_set(err, "%d ceilings of one day are enough", SAME_DAY_MOST);
    return NULL;
}

static int measure(const struct ceiling_args *args, const char *csv, char *url, struct err *err)
{
    struct ceiling ceiling = {.args = args, .url = url, .lock = {.state_fd = -1}};
    char utc[CLOCK_UTC_SIZE];
    char *path;
    int status = -1;

    clock_format_utc(clock_wall_ns(), utc);
    path = choose_file(args, csv, utc, err);
    if (path != NULL)
        status = open_all(&ceiling, err);
    if (status == 0)
        status = alone_measure(&ceiling.alone, path, err);
    if (status == 0)
        puts(path);
    close_all(&ceiling);
    free(path);
    return status;
}

static int ceiling_main(int argc, char **argv);

static const struct opt opts[] = {
    {0, "study", "FILE", OPT_STRING, offsetof(struct ceiling_args, study), "the study (config/study.json)"},
    {0, "tests", "PATTERN", OPT_STRING, offsetof(struct ceiling_args, tests), "only tests whose name or title matches"},
    {0, "seconds", "S", OPT_SECONDS, offsetof(struct ceiling_args, seconds_ns), "of each test (as the study)"},
    {0, "warmup", "S", OPT_SECONDS, offsetof(struct ceiling_args, warmup_ns), "before each test (as the study)"},
    {0, "cpus", "SERVER/GENERATOR", OPT_STRING, offsetof(struct ceiling_args, cpus),
     "PostgreSQL on the first, pgbench on the second"},
    {0, "database", "URL", OPT_STRING, offsetof(struct ceiling_args, database), "a PostgreSQL that already runs"},
    {0, "data", "DIR", OPT_STRING, offsetof(struct ceiling_args, data), "where the result goes (data)"},
    {0, "state", "DIR", OPT_STRING, offsetof(struct ceiling_args, state), "state folder"},
    {0},
};

const struct command cmd_ceiling = {
    .name = "ceiling",
    .summary = "measure what PostgreSQL alone does on the same CPUs",
    .usage = "[OPTIONS] [CSV]",
    .description =
        "Runs the statement of each database test with pgbench: as many clients as the study's pool, prepared\n"
        "statements, PostgreSQL on the servers' CPUs and pgbench on the generator's. No server can be faster: the\n"
        "report of CSV then says how near each comes. The result is written beside CSV (..._ceiling.json), or to\n"
        "DATE_ceiling.json in the data folder. Scripts: the folder ceiling beside the study's schema.",
    .opts = opts,
    .main = ceiling_main,
};

static int ceiling_main(int argc, char **argv)
{
    struct ceiling_args args = {.seconds_ns = -1, .warmup_ns = -1};
    struct err err = {0};
    char *url = NULL;
    int operands;
    int status;

    switch (opts_parse(&cmd_ceiling, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (args.database != NULL) {
        url = text_dup(args.database);
        pq_hide_password((char *)args.database);
    }
    interrupt_catch();
    if (operands > 1)
        status = err_set(&err, "ceiling takes one CSV at most, got %d operands", operands);
    else if (args.seconds_ns == 0)
        status = err_set(&err, "--seconds 0: measures nothing; give at least 1");
    else
        status = measure(&args, operands == 1 ? argv[1] : NULL, url, &err);
    free(url);
    interrupt_raise();
    return status == 0 ? 0 : opts_exit(&err);
}
