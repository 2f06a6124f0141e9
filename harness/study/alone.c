#include "study/alone.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "target/ceiling.h"

int alone_open(struct alone *alone, struct err *err)
{
    /* pgbench works in another folder. */
    char *schema = realpath(alone->study->schema_path, NULL);
    char *dir = fsx_dirname(schema != NULL ? schema : alone->study->schema_path);

    alone->scripts = fsx_join(dir, "ceiling");
    free(dir);
    free(schema);
    alone->pgbench = ceiling_find_pgbench(&alone->version, err);
    return alone->pgbench != NULL ? 0 : -1;
}

void alone_close(struct alone *alone)
{
    free(alone->scripts);
    free(alone->pgbench);
    free(alone->version);
    alone->scripts = NULL;
    alone->pgbench = NULL;
    alone->version = NULL;
}

static bool is_chosen(const struct alone *alone, size_t test)
{
    return alone->study->tests[test].uses_database && (alone->tests == NULL || alone->tests[test]);
}

static char *script_of(const struct alone *alone, size_t test)
{
    return text_format("%s/%s.sql", alone->scripts, alone->study->tests[test].name);
}

size_t alone_count(const struct alone *alone)
{
    size_t count = 0;

    for (size_t i = 0; i < alone->study->test_count; i++) {
        char *script = script_of(alone, i);

        count += is_chosen(alone, i) && fsx_exists(script);
        free(script);
    }
    return count;
}

static int run_once(const struct alone *alone, const char *script, double seconds, struct ceiling_result *result,
                    struct err *err)
{
    struct ceiling_job job = {
        .database = alone->database,
        .program = alone->pgbench,
        .script = script,
        .work_dir = alone->work_dir,
        .clients = alone->study->pool,
        .threads = cpus_count(&alone->machine->split.generator),
        .seconds = seconds,
    };

    return ceiling_run(&job, result, err);
}

/* Warm-up, then the measured run, with the database's CPU time. */
static int measure_test(const struct alone *alone, const struct study_test *test, const char *script,
                        struct ceiling_result *result, double *cpu_s, struct err *err)
{
    const struct side_usage *side;
    struct machine_usage usage;
    struct sampler sampler;
    int status;

    if (test->writes && alone->database->ops->reset(alone->database, err) != 0)
        return -1;
    if (alone->warmup_seconds > 0 && run_once(alone, script, alone->warmup_seconds, result, err) != 0)
        return -1;
    sampler_init(&sampler, &alone->machine->split);
    (void)place_sample(alone->place, &sampler, alone->database->pid);
    sampler_begin(&sampler);
    status = run_once(alone, script, alone->seconds, result, err);
    sampler_end(&sampler, &usage);
    side = machine_usage_side(&usage, alone->place->name);
    *cpu_s = side != NULL && alone->database->local ? side->total_s : NAN;
    machine_usage_free(&usage);
    sampler_free(&sampler);
    return status;
}

static json_t *test_json(const struct study_test *test, const struct ceiling_result *result, double cpu_s)
{
    json_t *object = json_object();

    json_put(object, "name", json_string(test->name));
    json_put(object, "title", json_string(test->title));
    json_put(object, "transactions_per_s", json_number(result->transactions_per_s, 2));
    json_put(object, "transactions", json_number(result->transactions, 0));
    json_put(object, "failed", json_number(result->failed, 0));
    json_put(object, "latency_mean_ms", json_number(result->latency_mean_ms, 3));
    json_put(object, "cpu_postgres_s", json_number(cpu_s, 3));
    return object;
}

static int measure_all(const struct alone *alone, json_t *tests, struct err *err)
{
    int status = 0;

    for (size_t i = 0; i < alone->study->test_count && status == 0; i++) {
        const struct study_test *test = &alone->study->tests[i];
        char *script = script_of(alone, i);
        struct ceiling_result result;
        double cpu_s;

        if (is_chosen(alone, i) && !fsx_exists(script)) {
            log_line("ceiling    %s: skipped, no %s", test->name, script);
        } else if (is_chosen(alone, i)) {
            status = measure_test(alone, test, script, &result, &cpu_s, err);
            if (status == 0) {
                (void)json_array_append_new(tests, test_json(test, &result, cpu_s));
                log_line("ceiling    %s: PostgreSQL alone does %.0f/s, mean latency %.2f ms", test->name,
                         result.transactions_per_s, result.latency_mean_ms);
            }
        }
        free(script);
    }
    return status;
}

static int write_file(const struct alone *alone, const char *path, json_t *tests, json_t *database, struct err *err)
{
    json_t *object = json_object();
    json_t *pgbench = json_object();
    char utc[CLOCK_UTC_SIZE];
    char *text;
    int status;

    clock_format_utc(clock_wall_ns(), utc);
    json_put(object, "format", json_integer(1));
    json_put(object, "utc", json_string(utc));
    json_put(object, "restbench", json_string(RESTBENCH_VERSION));
    json_put(object, "study", json_string(alone->study->title));
    json_put(object, "cpus", machine_cpus_to_json(alone->machine));
    json_put(pgbench, "version", json_string(alone->version));
    json_put(pgbench, "clients", json_integer(alone->study->pool));
    json_put(pgbench, "threads", json_integer(cpus_count(&alone->machine->split.generator)));
    json_put(pgbench, "protocol", json_string("prepared"));
    json_put(pgbench, "seconds", json_number(ceil(alone->seconds), 0));
    json_put(object, "pgbench", pgbench);
    json_put(object, "database", json_incref(database));
    json_put(object, "tests", json_incref(tests));
    text = json_pretty(object);
    text = text_realloc(text, strlen(text) + 2, 1);
    (void)strcat(text, "\n");
    status = fsx_write_new(path, text, strlen(text), 0644, err);
    free(text);
    json_decref(object);
    return status;
}

int alone_measure(const struct alone *alone, const char *path, struct err *err)
{
    json_t *tests = json_array();
    json_t *database = NULL;
    int status;

    if (alone_count(alone) == 0)
        status = err_set(err, "no test to measure: %s has none, of those chosen, with a script in %s",
                         alone->study->file, alone->scripts);
    else
        status = measure_all(alone, tests, err);
    if (status == 0)
        status = (database = alone->database->ops->describe(alone->database, err)) != NULL ? 0 : -1;
    /* The rows that were inserted are nobody's evidence. */
    if (status == 0)
        status = alone->database->ops->reset(alone->database, err);
    if (status == 0)
        status = write_file(alone, path, tests, database, err);
    json_decref(tests);
    json_decref(database);
    return status;
}
