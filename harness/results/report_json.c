#include "results/report_json.h"

#include <math.h>

#include "base/json.h"
#include "results/conclude.h"
#include "results/tables.h"

static const struct {
    const char *name;
    int decimals;
} figures[CELLS_FIGURES] = {
    [CELLS_RATE] = {"requests_per_s", 2},     [CELLS_P50] = {"latency_p50_ms", 3},
    [CELLS_P99] = {"latency_p99_ms", 3},      [CELLS_USER_US] = {"cpu_user_us", 3},
    [CELLS_KERNEL_US] = {"cpu_kernel_us", 3}, [CELLS_POSTGRES_US] = {"cpu_postgres_us", 3},
};

static json_t *string_or_null(const char *string)
{
    json_t *value = string != NULL && string[0] != '\0' ? json_string(string) : NULL;

    return value != NULL ? value : json_null();
}

static json_t *figure_of(const struct cells_group *group, int figure)
{
    const struct stats_spread *spread = &group->spread[figure];
    int decimals = figures[figure].decimals;
    json_t *object = json_object();
    json_t *rounds = json_array();

    json_put(object, "median", json_number(spread->median, decimals));
    json_put(object, "min", json_number(spread->min, decimals));
    json_put(object, "max", json_number(spread->max, decimals));
    json_put(object, "width_pct", json_number(stats_width_pct(spread), 2));
    for (const struct cells_chunk *chunk = group->first; chunk != NULL; chunk = chunk->next)
        for (uint32_t i = 0; i < chunk->count; i++) {
            json_t *pair = json_array();

            (void)json_array_append_new(pair, json_integer((json_int_t)chunk->samples[i].round));
            (void)json_array_append_new(pair, json_number(chunk->samples[i].values[figure], decimals));
            (void)json_array_append_new(rounds, pair);
        }
    json_put(object, "rounds", rounds);
    return object;
}

static json_t *verdict_of(const struct evidence_group *evidence)
{
    static const char *const names[EVIDENCE_SHARES] = {"generator_pct", "database_wait_pct", "shared_pct", "server_pct",
                                                       "database_pct"};
    json_t *object;
    struct text text = {0};

    if (evidence == NULL)
        return json_null();
    object = json_object();
    evidence_add_verdict(evidence, &text);
    json_put(object, "limited_by", json_string(evidence_limit_names[evidence->limit]));
    json_put(object, "text", json_string(text_string(&text)));
    for (int i = 0; i < EVIDENCE_SHARES; i++)
        json_put(object, names[i], json_number(evidence->shares[i], 1));
    text_free(&text);
    return object;
}

static json_t *errors_of(const struct evidence_group *evidence)
{
    json_t *object;

    if (evidence == NULL)
        return json_null();
    object = json_object();
    for (int i = 0; i < EVIDENCE_ERROR_KINDS; i++)
        json_put(object, evidence_error_names[i], json_number(evidence->errors[i], 0));
    return object;
}

/* Points of the curve at equal steps of log10(1 / (1 - percentile)): what a log percentile axis needs. */
static json_t *curve_of(const struct latency *latency)
{
    json_t *points;

    if (latency == NULL || latency->total <= 0)
        return json_null();
    points = json_array();
    for (int step = 0; step <= 50; step++) {
        double rest = pow(10, -step / 10.0);
        json_t *point = json_array();

        if (rest * latency->total < 1 && step > 0) {
            json_decref(point);
            break;
        }
        (void)json_array_append_new(point, json_number(100 * (1 - rest), 5));
        (void)json_array_append_new(point, json_number(latency_at_us(latency, 1 - rest) / 1000, 4));
        (void)json_array_append_new(points, point);
    }
    return points;
}

static json_t *cell_of(const struct record *record, const struct cells_group *group, const struct latency *latency)
{
    const struct cells *cells = &record->cells;
    const struct evidence_group *evidence = evidence_of(&record->evidence, cells, group);
    json_t *object = json_object();
    json_t *marks = json_array();

    json_put(object, "row", json_string(cells->titles.strings[group->row]));
    json_put(object, "test", json_string(cells->tests.strings[group->test]));
    json_put(object, "connections", json_integer(cells->phases[group->phase]));
    json_put(object, "rounds", json_integer(group->rounds));
    for (int i = 0; i < CELLS_FIGURES; i++)
        json_put(object, figures[i].name, figure_of(group, i));
    json_put(object, "responses_2xx", json_number(group->ok, 0));
    json_put(object, "errors", json_number(group->errors, 0));
    json_put(object, "errors_by_kind", errors_of(evidence));
    json_put(object, "working_set_mb", json_number(group->working_set_mb, 2));
    json_put(object, "private_mb", json_number(group->private_mb, 2));
    for (int i = 0; i < MARK_COUNT; i++)
        if (group->marks & 1U << i)
            (void)json_array_append_new(marks, json_string(mark_kinds[i].name));
    json_put(object, "marks", marks);
    json_put(object, "may_be_best", json_boolean(!cells_is_barred(group) && !record_is_reference(record, group->row)));
    json_put(object, "of_ceiling_pct",
             json_number(100 * group->spread[CELLS_RATE].median / record_ceiling(record, group->test), 1));
    json_put(object, "verdict", verdict_of(evidence));
    json_put(object, "latency", curve_of(latency));
    return object;
}

static json_t *tests_of(const struct record *record)
{
    json_t *array = json_array();

    for (uint32_t test = 0; test < record->cells.tests.count; test++) {
        json_t *object = json_object();
        struct conclude_test conclusion;

        if (!cells_has_test(&record->cells, test)) {
            json_decref(object);
            continue;
        }
        conclude_test(record, test, conclude_phase(record), &conclusion);
        json_put(object, "name", json_string(record->cells.tests.strings[test]));
        json_put(object, "title", json_string(record_test_title(record, test)));
        json_put(object, "database", json_boolean(record_test_uses_database(record, test)));
        json_put(object, "fastest",
                 conclusion.competitors > 0 ? json_string(record->cells.titles.strings[conclusion.leader])
                                            : json_null());
        json_put(object, "decided", json_boolean(conclusion.decided));
        json_put(object, "lead_pct", json_number(conclusion.lead_pct, 2));
        (void)json_array_append_new(array, object);
    }
    return array;
}

static json_t *row_of(const struct record *record, uint32_t row)
{
    const struct cells_row *figures_of = &record->cells.rows[row];
    const struct machine_row *machine = record_machine_row(record, row);
    json_t *object = json_object();
    json_t *versions = machine != NULL ? json_object_get(machine->json, "versions") : NULL;

    json_put(object, "title", json_string(record->cells.titles.strings[row]));
    json_put(object, "id", string_or_null(machine != NULL ? machine->id : NULL));
    json_put(object, "reference", json_boolean(record_is_reference(record, row)));
    json_put(object, "measured", json_boolean(figures_of->lines > 0));
    json_put(object, "reason", string_or_null(machine != NULL ? machine->reason : NULL));
    json_put(object, "approach", string_or_null(machine != NULL ? machine->approach : NULL));
    json_put(object, "caches", string_or_null(machine != NULL ? machine->caches : NULL));
    json_put(object, "versions", versions != NULL ? json_deep_copy(versions) : json_null());
    json_put(object, "working_set_mb", json_number(figures_of->working_set_mb, 2));
    json_put(object, "private_mb", json_number(figures_of->private_mb, 2));
    json_put(object, "startup_s", json_number(figures_of->startup_s, 2));
    json_put(object, "errors",
             figures_of->errors_unknown == figures_of->lines ? json_null() : json_number(figures_of->errors, 0));
    return object;
}

static json_t *marks_of(const struct record *record)
{
    const struct cells *cells = &record->cells;
    json_t *array = json_array();

    for (int mark = 0; mark < MARK_COUNT; mark++) {
        json_t *object, *where;

        if (cells->mark_counts[mark] == 0)
            continue;
        object = json_object();
        where = json_array();
        json_put(object, "name", json_string(mark_kinds[mark].name));
        json_put(object, "sign", json_sprintf("%c", tables_sign(cells, (enum mark_id)mark)));
        json_put(object, "sentence", json_string(mark_kinds[mark].sentence));
        json_put(object, "threshold", json_number(mark_kinds[mark].threshold, 3));
        json_put(object, "unit", json_string(mark_kinds[mark].unit));
        json_put(object, "forbids_bold", json_boolean(mark_kinds[mark].forbids_bold));
        json_put(object, "count", json_integer(cells->mark_counts[mark]));
        for (uint32_t i = 0; i < cells->incident_count; i++) {
            const struct cells_incident *incident = &cells->incidents[i];
            const struct cells_group *group = &cells->groups[incident->group];
            json_t *cell;

            if (incident->mark != (enum mark_id)mark)
                continue;
            cell = json_object();
            json_put(cell, "row", json_string(cells->titles.strings[group->row]));
            json_put(cell, "test", json_string(cells->tests.strings[group->test]));
            json_put(cell, "connections", json_integer(cells->phases[group->phase]));
            json_put(cell, "round", incident->round > 0 ? json_integer(incident->round) : json_null());
            json_put(cell, "value", json_number(incident->value, 3));
            (void)json_array_append_new(where, cell);
        }
        json_put(object, "cells", where);
        (void)json_array_append_new(array, object);
    }
    return array;
}

static json_t *missing_of(const struct record *record)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < record->evidence.failure_count; i++) {
        const struct evidence_failure *failure = &record->evidence.failures[i];
        json_t *object = json_object();

        json_put(object, "row", string_or_null(failure->title));
        json_put(object, "test", string_or_null(failure->test));
        json_put(object, "phase", string_or_null(failure->phase));
        json_put(object, "round", failure->round > 0 ? json_integer(failure->round) : json_null());
        json_put(object, "reason", string_or_null(failure->reason));
        json_put(object, "log", string_or_null(failure->log));
        (void)json_array_append_new(array, object);
    }
    return array;
}

static json_t *copy_of(const struct record *record, const char *key)
{
    const json_t *value = json_object_get(record->machine.doc.root, key);

    return value != NULL ? json_deep_copy(value) : json_null();
}

json_t *report_json_run(const struct record *record, const struct latency *latencies, json_t *published)
{
    const struct cells *cells = &record->cells;
    json_t *run = json_object();
    json_t *rows = json_array();
    json_t *cell_list = json_array();
    json_t *phases = json_array();
    struct text can = {0};
    struct text cannot = {0};

    conclude_write(record, &can, &cannot);
    json_put(run, "name", string_or_null(record->name));
    json_put(run, "csv", string_or_null(record->csv));
    json_put(run, "first_utc", json_string(cells->first_utc));
    json_put(run, "last_utc", json_string(cells->last_utc));
    json_put(run, "rounds", json_integer(record->rounds));
    json_put(run, "conclusion", json_string(text_string(&can)));
    json_put(run, "no_conclusion", json_string(text_string(&cannot)));
    json_put(run, "resolution_pct", json_number(conclude_resolution_pct(record), 2));
    json_put(run, "run", copy_of(record, "run"));
    json_put(run, "machine", copy_of(record, "machine"));
    json_put(run, "drift_pct", json_number(record->drift_pct, 1));
    json_put(run, "database", copy_of(record, "database"));
    json_put(run, "study", copy_of(record, "study"));
    json_put(run, "notes", copy_of(record, "notes"));
    json_put(run, "ceiling", record->ceiling.root != NULL ? json_deep_copy(record->ceiling.root) : json_null());
    json_put(run, "tests", tests_of(record));
    for (uint32_t i = 0; i < cells->phase_count; i++)
        (void)json_array_append_new(phases, json_integer(cells->phases[i]));
    json_put(run, "connections", phases);
    for (uint32_t i = 0; i < cells->titles.count; i++)
        (void)json_array_append_new(rows, row_of(record, i));
    json_put(run, "rows", rows);
    for (uint32_t i = 0; i < cells->group_count; i++)
        (void)json_array_append_new(cell_list,
                                    cell_of(record, &cells->groups[i], latencies != NULL ? &latencies[i] : NULL));
    json_put(run, "cells", cell_list);
    json_put(run, "marks", marks_of(record));
    json_put(run, "not_measured", missing_of(record));
    json_put(run, "published", published != NULL ? json_incref(published) : json_null());
    text_free(&can);
    text_free(&cannot);
    return run;
}

json_t *report_json_whole(json_t *runs)
{
    json_t *whole = json_object();

    json_put(whole, "format", json_integer(1));
    json_put(whole, "restbench", json_string(RESTBENCH_VERSION));
    json_put(whole, "runs", runs);
    return whole;
}
