#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "base/pattern.h"
#include "base/text.h"
#include "cli/commands.h"
#include "machine/place.h"
#include "results/record.h"
#include "study/config.h"
#include "study/config_database.h"
#include "study/interrupt.h"
#include "study/lock.h"
#include "target/ceiling.h"
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
    struct database *database;
    char *url;
    char *state_dir;
    char *pgbench;
    char *version;
    char *scripts; /* folder */
    json_t *tests;
    json_t *description;
};

static int run_once(struct ceiling *ceiling, const char *script, double seconds, struct ceiling_result *result,
                    struct err *err)
{
    struct ceiling_job job = {
        .database = ceiling->database,
        .program = ceiling->pgbench,
        .script = script,
        .work_dir = ceiling->state_dir,
        .clients = ceiling->study.pool,
        .threads = cpus_count(&ceiling->machine.split.generator),
        .seconds = seconds,
    };

    return ceiling_run(&job, result, err);
}

/* Warm-up, then the measured run, with the database's CPU time. */
static int run_test(struct ceiling *ceiling, const struct study_test *test, const char *script,
                    struct ceiling_result *result, double *cpu_s, struct err *err)
{
    const struct ceiling_args *args = ceiling->args;
    double warmup_s = args->warmup_ns >= 0 ? (double)args->warmup_ns / CLOCK_NS_PER_S : ceiling->study.warmup_seconds;
    double seconds =
        args->seconds_ns > 0 ? (double)args->seconds_ns / CLOCK_NS_PER_S : ceiling->study.phases[0].seconds;
    const struct side_usage *side;
    struct machine_usage usage;
    struct sampler sampler;
    int status;

    if (test->writes && ceiling->database->ops->reset(ceiling->database, err) != 0)
        return -1;
    if (warmup_s > 0 && run_once(ceiling, script, warmup_s, result, err) != 0)
        return -1;
    sampler_init(&sampler, &ceiling->machine.split);
    (void)place_sample(&ceiling->place, &sampler, ceiling->database->pid);
    sampler_begin(&sampler);
    status = run_once(ceiling, script, seconds, result, err);
    sampler_end(&sampler, &usage);
    side = machine_usage_side(&usage, ceiling->place.name);
    *cpu_s = side != NULL && ceiling->database->local ? side->total_s : NAN;
    machine_usage_free(&usage);
    sampler_free(&sampler);
    return status;
}

static void add_result(struct ceiling *ceiling, const struct study_test *test, const struct ceiling_result *result,
                       double cpu_s)
{
    json_t *object = json_object();

    json_put(object, "name", json_string(test->name));
    json_put(object, "title", json_string(test->title));
    json_put(object, "transactions_per_s", json_number(result->transactions_per_s, 2));
    json_put(object, "transactions", json_number(result->transactions, 0));
    json_put(object, "failed", json_number(result->failed, 0));
    json_put(object, "latency_mean_ms", json_number(result->latency_mean_ms, 3));
    json_put(object, "cpu_postgres_s", json_number(cpu_s, 3));
    (void)json_array_append_new(ceiling->tests, object);
    log_line("ceiling    %s: %.0f transactions/s, mean latency %.2f ms", test->name, result->transactions_per_s,
             result->latency_mean_ms);
}

static int is_chosen(struct pattern *pattern, const struct study_test *test, struct err *err)
{
    int matches;

    if (pattern == NULL)
        return 1;
    matches = pattern_matches(pattern, test->name, err);
    return matches != 0 ? matches : pattern_matches(pattern, test->title, err);
}

static int run_tests(struct ceiling *ceiling, struct err *err)
{
    struct pattern *pattern = NULL;
    int status = 0;

    if (ceiling->args->tests != NULL && (pattern = pattern_open("--tests", ceiling->args->tests, err)) == NULL)
        return -1;
    for (size_t i = 0; i < ceiling->study.test_count && status == 0; i++) {
        const struct study_test *test = &ceiling->study.tests[i];
        char *script = text_format("%s/%s.sql", ceiling->scripts, test->name);
        struct ceiling_result result;
        double cpu_s;

        int chosen = is_chosen(pattern, test, err);

        if (chosen < 0) {
            status = -1;
        } else if (chosen > 0 && test->uses_database && !fsx_exists(script)) {
            log_line("ceiling    %s: skipped, no %s", test->name, script);
        } else if (chosen > 0 && test->uses_database) {
            status = run_test(ceiling, test, script, &result, &cpu_s, err);
            if (status == 0)
                add_result(ceiling, test, &result, cpu_s);
        }
        free(script);
    }
    pattern_close(pattern);
    if (status == 0 && json_array_size(ceiling->tests) == 0)
        status = err_set(err, "no test to measure: %s, with a script in %s, none%s%s", ceiling->study.file,
                         ceiling->scripts, ceiling->args->tests != NULL ? " that matches " : "",
                         ceiling->args->tests != NULL ? ceiling->args->tests : "");
    return status;
}

static int open_all(struct ceiling *ceiling, struct err *err)
{
    const struct ceiling_args *args = ceiling->args;
    char *file = args->study != NULL ? text_dup(args->study) : home_file("config/study.json", err);
    struct database_spec spec;
    char *schema;
    char *dir;
    int status = file != NULL ? config_load(file, &ceiling->study, err) : -1;

    free(file);
    if (status != 0)
        return -1;
    if (!ceiling->study.has_database)
        return err_set(err, "%s: a study without a database has no ceiling", ceiling->study.file);
    /* pgbench works in another folder. */
    schema = realpath(ceiling->study.schema_path, NULL);
    dir = fsx_dirname(schema != NULL ? schema : ceiling->study.schema_path);
    ceiling->scripts = fsx_join(dir, "ceiling");
    free(dir);
    free(schema);
    if ((ceiling->pgbench = ceiling_find_pgbench(&ceiling->version, err)) == NULL ||
        (ceiling->state_dir = home_state(args->state, err)) == NULL ||
        machine_open(args->cpus != NULL ? args->cpus : ceiling->study.cpus, &ceiling->machine, err) != 0)
        return -1;
    if (ceiling->machine.split.note[0] != '\0')
        log_line("%s", ceiling->machine.split.note);
    place_open(&ceiling->machine, "postgres", false, NULL, &ceiling->place);
    if (lock_state(ceiling->state_dir, &ceiling->lock, err) != 0 ||
        (getenv("RESTBENCH_SHARE_CPUS") == NULL && /* as in `run`: for tests */
         lock_cpus(&ceiling->machine.allowed, &ceiling->lock, err) != 0))
        return -1;
    spec = config_database_spec(&ceiling->study, ceiling->url, ceiling->state_dir);
    spec.cpus = ceiling->place.cpus;
    spec.cgroup = &ceiling->place.cgroup;
    if (database_open(&spec, &ceiling->database, err) != 0 ||
        ceiling->database->ops->prepare(ceiling->database, err) != 0)
        return -1;
    status = run_tests(ceiling, err);
    if (status == 0)
        ceiling->description = ceiling->database->ops->describe(ceiling->database, err);
    /* The rows that were inserted are nobody's evidence. */
    if (status == 0)
        status = ceiling->description != NULL ? ceiling->database->ops->reset(ceiling->database, err) : -1;
    return status;
}

static void close_all(struct ceiling *ceiling)
{
    struct err ignored = {0};

    database_close(ceiling->database);
    if (ceiling->place.name[0] != '\0')
        (void)place_close(&ceiling->place, &ignored);
    lock_free(&ceiling->lock);
    machine_close(&ceiling->machine);
    config_free(&ceiling->study);
    json_decref(ceiling->tests);
    json_decref(ceiling->description);
    free(ceiling->scripts);
    free(ceiling->pgbench);
    free(ceiling->version);
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

static int write_file(const struct ceiling *ceiling, const char *path, const char *utc, struct err *err)
{
    json_t *object = json_object();
    json_t *pgbench = json_object();
    char *text;
    int status;

    json_put(object, "format", json_integer(1));
    json_put(object, "utc", json_string(utc));
    json_put(object, "restbench", json_string(RESTBENCH_VERSION));
    json_put(object, "study", json_string(ceiling->study.title));
    json_put(object, "cpus", machine_cpus_to_json(&ceiling->machine));
    json_put(pgbench, "version", json_string(ceiling->version));
    json_put(pgbench, "clients", json_integer(ceiling->study.pool));
    json_put(pgbench, "threads", json_integer(cpus_count(&ceiling->machine.split.generator)));
    json_put(pgbench, "protocol", json_string("prepared"));
    json_put(object, "pgbench", pgbench);
    json_put(object, "database", json_incref(ceiling->description));
    json_put(object, "tests", json_incref(ceiling->tests));
    text = json_pretty(object);
    text = text_realloc(text, strlen(text) + 2, 1);
    (void)strcat(text, "\n");
    status = fsx_write_new(path, text, strlen(text), 0644, err);
    free(text);
    json_decref(object);
    return status;
}

static int measure(const struct ceiling_args *args, const char *csv, char *url, struct err *err)
{
    struct ceiling ceiling = {.args = args, .url = url, .tests = json_array(), .lock = {.state_fd = -1}};
    char utc[CLOCK_UTC_SIZE];
    char *path;
    int status = -1;

    clock_format_utc(clock_wall_ns(), utc);
    path = choose_file(args, csv, utc, err);
    if (path != NULL)
        status = open_all(&ceiling, err);
    if (status == 0)
        status = write_file(&ceiling, path, utc, err);
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
