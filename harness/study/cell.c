#include "study/cell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "study/gather.h"
#include "study/parties.h"
#include "study/request.h"

static const double probe_window_least_s = 1;

json_t *cell_row_json(const struct row *row)
{
    json_t *object = json_object();

    json_put(object, "id", json_string(row->id));
    json_put(object, "folder", json_string(row->recipe->folder));
    json_put(object, "variant", row->variant->name[0] != '\0' ? json_string(row->variant->name) : json_null());
    json_put(object, "title", json_string(row->title));
    return object;
}

static json_t *phase_json(const struct study_phase *phase)
{
    json_t *object = json_object();

    json_put(object, "name", json_string(phase->name));
    json_put(object, "kind", json_string(phase->rate_per_s > 0 ? "rate" : "closed"));
    json_put(object, "connections", json_integer(phase->connections));
    json_put(object, "rate", phase->rate_per_s > 0 ? json_number(phase->rate_per_s, 3) : json_null());
    json_put(object, "seconds", json_number(phase->seconds, 3));
    return object;
}

static json_t *key_json(const struct run *run, const struct row *row, const struct plan_cell *cell, const char *kind)
{
    json_t *object = json_object();
    char utc[CLOCK_UTC_SIZE];

    clock_format_utc(clock_wall_ns(), utc);
    json_put(object, "format", json_integer(1));
    if (kind != NULL)
        json_put(object, "kind", json_string(kind));
    json_put(object, "utc", json_string(utc));
    json_put(object, "row", cell_row_json(row));
    json_put(object, "round", json_integer((json_int_t)cell->round));
    json_put(object, "test", json_string(run->setup.study.tests[cell->test].name));
    json_put(object, "phase", phase_json(&run->setup.study.phases[cell->phase]));
    return object;
}

/* The number that stands in the CSV, not the one it was rounded from: whoever compares both finds no difference. */
static double as_printed(double value, int decimals)
{
    struct text text = {0};
    double printed = NAN;

    if (!isnan(value)) {
        text_add_double(&text, value, decimals);
        (void)text_parse_double(text.data, &printed);
        text_free(&text);
    }
    return printed;
}

static json_t *csv_json(const struct csv_line *line)
{
    json_t *object = json_object();

    for (size_t i = 0; i < CSV_COLUMNS; i++) {
        const struct csv_column *column = &csv_columns[i];

        if (column->type == CSV_COUNT || column->type == CSV_DECIMAL)
            json_put(object, column->name,
                     json_number(as_printed(csv_number(line, i), column->decimals), column->decimals));
    }
    return object;
}

static void fill_line(const struct life *life, const struct plan_cell *cell, const struct window *window,
                      const char *utc, struct csv_line *line)
{
    const struct study *study = &life->run->setup.study;
    const struct side_usage *server = machine_usage_side(&window->usage, "server");
    const struct side_usage *postgres = machine_usage_side(&window->usage, "postgres");
    bool known = server != NULL && server->source != NULL;

    *line = (struct csv_line){
        .utc = utc,
        .server = life->row->title,
        .round = (int64_t)cell->round,
        .test = study->tests[cell->test].name,
        .connections = study->phases[cell->phase].connections,
        .requests_per_s = window->tool.requests_per_s,
        .latency_p50_ms = window->tool.p50_ms,
        .latency_p99_ms = window->tool.p99_ms,
        .responses_2xx = window->tool.responses_2xx,
        .errors = window->tool.errors,
        .cpu_server_s = known ? server->total_s : NAN,
        .cpu_postgres_s = postgres != NULL && postgres->source != NULL ? postgres->total_s : NAN,
        .working_set_mb = window->memory.working_set_mib,
        .private_mb = window->memory.private_mib,
        .startup_s = life->startup_s,
        .cpu_server_user_s = known ? server->user_s : NAN,
        .cpu_server_kernel_s = known ? server->kernel_s : NAN,
    };
    if (life->server.child.pid <= 0) {
        line->working_set_mb = NAN;
        line->private_mb = NAN;
    }
}

static json_t *window_json(const struct window *window)
{
    json_t *object = json_object();

    json_put(object, "begin_ns", window->begin_ns > 0 ? json_integer(window->begin_ns) : json_null());
    json_put(object, "end_ns", window->end_ns > 0 ? json_integer(window->end_ns) : json_null());
    json_put(object, "seconds", json_number(window->tool.window_s, 6));
    json_put(object, "sampled_s", json_number(window->usage.window_s, 6));
    json_put(object, "conductor_cpu_s", json_number(window->conductor_cpu_s, 6));
    return object;
}

static json_t *tool_json(const struct run *run, size_t test, const struct window *window)
{
    json_t *object = json_object();
    int64_t every = run->requests[test].expect_every;

    json_put(object, "name", json_string(run->tool->name));
    json_put(object, "version", run->tool_version != NULL ? json_string(run->tool_version) : json_null());
    json_put(object, "compared_one_in", every > 0 ? json_integer(every) : json_null());
    json_put(object, "notes", json_incref(window->tool.notes));
    return object;
}

static json_t *warmup_json(const struct life *life)
{
    json_t *object;

    if (!life->has_warmup)
        return json_null();
    object = json_object();
    json_put(object, "seconds", json_number(life->run->setup.study.warmup_seconds, 3));
    json_put(object, "requests", json_number(life->warmup_requests, 0));
    json_put(object, "slope_pct", json_number(life->warmup_slope_pct, 1));
    return object;
}

static json_t *tries_json(const char *earlier)
{
    json_t *tries = json_array();

    if (earlier != NULL) {
        json_t *attempt = json_object();

        json_put(attempt, "attempt", json_integer(1));
        json_put(attempt, "failed", json_string(earlier));
        (void)json_array_append_new(tries, attempt);
    }
    return tries;
}

/* The table is asked when the load has ended and its answers were waited for. */
static void count_rows(const struct life *life, struct database_counts *after, bool *has)
{
    struct database *database = life->run->database;
    struct err ignored = {0};

    *has = database->ops->counts != NULL &&
           database->ops->counts(database, life->run->setup.study.tests[life->test].writes, after, &ignored) == 0;
}

static json_t *details_json(const struct life *life, const struct plan_cell *cell, const struct window *window,
                            const struct csv_line *line, const struct judge_verdict *verdict, json_t *marks,
                            json_t *database, int attempt, const char *earlier)
{
    struct run *run = life->run;
    struct disturbance disturbance = window->usage.disturbance;
    json_t *details = key_json(run, life->row, cell, NULL);

    disturbance.probe_before_ms = window->probe_before.ms;
    disturbance.probe_after_ms = window->probe_after.ms;
    disturbance.probe_own_ms = window->probe_after.own_ms;
    json_put(details, "utc", json_string(line->utc));
    json_put(details, "attempt", json_integer(attempt));
    json_put(details, "csv", csv_json(line));
    json_put(details, "tool", tool_json(run, cell->test, window));
    json_put(details, "load", json_incref(window->tool.report));
    json_put(details, "window", window_json(window));
    json_put(details, "cpu", machine_usage_to_json(&window->usage));
    json_put(details, "memory", machine_memory_to_json(&window->memory));
    json_put(details, "database", database);
    json_put(details, "disturbance", disturbance_to_json(&disturbance));
    json_put(details, "affinity", machine_affinity_to_json(&window->affinity));
    json_put(details, "listener", window->has_listener ? listener_verdict_to_json(&window->listener) : json_null());
    json_put(details, "warmup", warmup_json(life));
    json_put(details, "marks", marks);
    json_put(details, "verdict", judge_verdict_to_json(verdict));
    json_put(details, "tries", tries_json(earlier));
    return details;
}

static void say_marks(const struct life *life, const struct plan_cell *cell, const json_t *marks)
{
    size_t i;
    json_t *mark;

    json_array_foreach (marks, i, mark)
        log_line("mark       %s, round %zu, %s, %s: %s: %s", life->row->id, cell->round,
                 life->run->setup.study.tests[cell->test].name, life->run->setup.study.phases[cell->phase].name,
                 json_get_string(mark, "name"), json_get_string(mark, "text"));
}

static int write_cell(struct life *life, const struct plan_cell *cell, const struct window *window, int attempt,
                      const char *earlier, struct err *err)
{
    struct run *run = life->run;
    const struct study_phase *phase = &run->setup.study.phases[cell->phase];
    bool uses_database = run->setup.study.tests[cell->test].uses_database;
    struct database_counts after;
    struct judge_evidence evidence;
    struct judge_verdict verdict;
    struct csv_line line;
    char contradiction[256];
    char utc[CLOCK_UTC_SIZE];
    char *disagree = NULL;
    bool has_after;
    json_t *details;
    json_t *marks;
    json_t *database;
    int result;

    count_rows(life, &after, &has_after);
    if (parties_database_lost(run))
        return err_fail(err, "it was gone when the window had ended");
    if (has_after)
        disagree = life_rows_disagree(life, after.rows_in_table);
    gather_evidence(life, phase, window, disagree,
                    drift_of(&run->drift, window->probe_before.ms, window->probe_after.ms), contradiction,
                    sizeof contradiction, &evidence);
    judge_verdict(&evidence, &verdict);
    marks = judge_marks(&evidence, &verdict);
    say_marks(life, cell, marks);
    run->marks += json_array_size(marks);
    run->errors += isnan(window->tool.errors) ? 0 : window->tool.errors;
    clock_format_utc(clock_wall_ns(), utc);
    fill_line(life, cell, window, utc, &line);
    database = uses_database ? database_to_json(life->has_counts ? &life->at_start : NULL, has_after ? &after : NULL,
                                                window->has_samples ? &window->samples : NULL)
                             : json_null();
    details = details_json(life, cell, window, &line, &verdict, marks, database, attempt, earlier);
    result = store_add_cell(&run->store, &line, details, err);
    if (has_after)
        life->at_start = after;
    json_decref(details);
    free(disagree);
    return result;
}

/* Of the fixed job between cells; not beside windows that are hardly longer than it. */
static struct drift_probe probe(struct life *life, const struct study_phase *phase)
{
    struct run *run = life->run;
    const struct cpus *cpus = run->parts.split.pinned ? &run->parts.split.server : &run->parts.allowed;
    struct drift_probe probe = {NAN, NAN};
    struct sampler sampler;

    if (phase->seconds < probe_window_least_s)
        return probe;
    sampler_init(&sampler, &run->parts.split);
    (void)place_sample(&run->server_place, &sampler, life->server.child.pid);
    if (run->database != NULL && run->database->local)
        (void)place_sample(&run->database_place, &sampler, run->database->pid);
    probe = drift_probe(&run->drift, cpus_next(cpus, -1), &sampler);
    sampler_free(&sampler);
    return probe;
}

static void format_rate(double requests_per_s, char *text, size_t size)
{
    if (requests_per_s >= 10000)
        (void)snprintf(text, size, "%.1fk/s", requests_per_s / 1000);
    else
        (void)snprintf(text, size, "%.0f/s", requests_per_s);
}

int cell_measure(struct life *life, const struct plan_cell *cell, int attempt, const char *earlier, char *result_text,
                 size_t size, struct err *err)
{
    struct run *run = life->run;
    const struct study_phase *phase = &run->setup.study.phases[cell->phase];
    struct window window;
    char *url;
    struct tool_job job = request_job(run, &life->server, cell->test, &url);
    int result;

    job.connections = phase->connections;
    job.seconds = phase->seconds;
    job.rate_per_s = phase->rate_per_s;
    job.expect_path = life->expect_path;
    if (isnan(run->probe.ms))
        run->probe = probe(life, phase);
    result = window_run(run, &life->server, &job, true, &window, err);
    if (result == 0) {
        /* The one after a cell is the one before the next. */
        window.probe_before = run->probe;
        window.probe_after = run->probe = probe(life, phase);
        life_count(life, &window.tool);
        format_rate(window.tool.requests_per_s, result_text, size);
        if (!(window.tool.responses_2xx > 0))
            result = err_fail(err, "not one request was answered with 2xx (%.0f errors)", window.tool.errors);
        else if ((window.paused || window.usage.disturbance.suspended_s > 0.05) && attempt == 1)
            result = err_fail(err, "the machine slept, or restbench was stopped, inside the window");
        else if (window.tool.errors > 0 && parties_database_room(run, err) != 0)
            result = -1;
        else
            result = write_cell(life, cell, &window, attempt, earlier, err);
    }
    window_free(&window);
    free(url);
    return result;
}

int cell_failed(struct run *run, const struct plan_cell *cell, const char *reason, struct err *err)
{
    json_t *line = key_json(run, &run->setup.rows.items[cell->row], cell, "failed");
    int result;

    json_put(line, "reason", json_string(reason));
    result = store_add_detail(&run->store, line, err);
    json_decref(line);
    return result;
}
