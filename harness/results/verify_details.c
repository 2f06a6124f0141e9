#include "results/verify.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "results/details.h"
#include "results/identity.h"
#include "results/marks.h"

static double sum_of_errors(const json_t *errors)
{
    double sum = 0;
    const json_t *value;
    const char *key;

    json_object_foreach ((json_t *)errors, key, value) {
        sum += json_number_value(value);
    }
    return sum;
}

static void check_latencies(struct verify *verify, const char *file, uint64_t number, const json_t *load)
{
    static const char *const names[] = {"min", "p50", "p90", "p99", "p99_9", "p99_99", "max"};
    const json_t *latency = details_at(load, "restbench.latency_us");
    const json_t *bucket;
    double before = NAN;
    double counted = 0;
    const char *name = "";
    size_t i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        double value = json_get_number(latency, names[i]);

        if (value < before)
            verify_fault(verify, file, number, "latency %s is above %s: %g > %g us", name, names[i], before, value);
        if (!isnan(value)) {
            before = value;
            name = names[i];
        }
    }
    json_array_foreach (json_object_get(latency, "histogram"), i, bucket) {
        counted += json_number_value(json_array_get(bucket, 1));
    }
    if (i > 0 && counted != details_number(load, "restbench.ok"))
        verify_fault(verify, file, number, "the histogram holds %.0f answers, ok is %.0f", counted,
                     details_number(load, "restbench.ok"));
}

static void check_load(struct verify *verify, const char *file, uint64_t number, const struct details_line *line)
{
    const json_t *load = json_object_get(line->json, "load");
    const json_t *own = json_object_get(load, "restbench");
    double ok = json_get_number(own, "ok");
    double started = json_get_number(own, "started");
    double errors = sum_of_errors(json_object_get(own, "errors"));
    double in_flight = json_get_number(own, "in_flight");
    double mean_us = details_number(own, "latency_us.mean");
    double rate = details_number(line->json, "csv.requests_per_s");
    double per_second = 0;
    const json_t *second;
    size_t i;

    if (own == NULL)
        return;
    if (!isnan(started) && started != ok + errors + in_flight)
        verify_fault(verify, file, number, "started is not ok + errors + in flight: %.0f, %.0f + %.0f + %.0f", started,
                     ok, errors, in_flight);
    if (details_number(load, "result.req2xx") != ok && !isnan(details_number(load, "result.req2xx")))
        verify_fault(verify, file, number, "req2xx is %.0f, ok is %.0f", details_number(load, "result.req2xx"), ok);
    json_array_foreach (json_object_get(own, "per_second"), i, second) {
        per_second += json_number_value(json_object_get(second, "ok"));
    }
    if (i > 0 && per_second != ok)
        verify_fault(verify, file, number, "the seconds add up to %.0f answers, ok is %.0f", per_second, ok);
    if (errors == 0 && ok > 1000 && !json_is_number(details_at(line->json, "phase.rate")) &&
        /* A cell that says itself that its figures do not add up contradicts nothing. */
        !verify_is_marked(line->json, MARK_ACCOUNTING) &&
        !identity_keeps_busy((double)line->connections, rate, mean_us / 1000,
                             details_number(own, "latency_us.max") / 1000, details_number(line->json, "window.seconds"),
                             verify_is_marked(line->json, MARK_GENERATOR_BOUND)))
        verify_fault(verify, file, number, "rate x mean latency is %.1f connections, there were %lld",
                     rate * mean_us / 1e6, (long long)line->connections);
    check_latencies(verify, file, number, load);
}

static void check_against_csv(struct verify *verify, const char *file, uint64_t number, const struct verify_cell *cell,
                              const json_t *details)
{
    const json_t *csv = json_object_get(details, "csv");

    for (size_t i = 0; i < CSV_COLUMNS; i++) {
        const struct csv_column *column = &csv_columns[i];
        double there, here;

        if (column->type != CSV_COUNT && column->type != CSV_DECIMAL)
            continue;
        there = csv_number(&cell->line, i);
        here = json_get_number(csv, column->name);
        if (isnan(there) != isnan(here) || fabs(there - here) > 0.51 * pow(10, -column->decimals) + 1e-9 * fabs(here))
            verify_fault(verify, file, number, "%s is %.10g here and %.10g in line %llu of the CSV", column->name, here,
                         there, (unsigned long long)cell->number);
    }
    if (json_get_string(details, "utc") != NULL && strncmp(json_get_string(details, "utc"), cell->utc, 19) != 0)
        verify_fault(verify, file, number, "utc is %s here and %s in line %llu of the CSV",
                     json_get_string(details, "utc"), cell->utc, (unsigned long long)cell->number);
}

/* restbench keeps the planned window; other tools end a little later. */
static void check_window(struct verify *verify, const char *file, uint64_t number, const json_t *cell)
{
    const char *tool = json_get_string(json_object_get(cell, "tool"), "name");
    double window_s = details_number(cell, "window.seconds");
    double planned_s = details_number(cell, "phase.seconds");
    double slack_s =
        VERIFY_WINDOW_SLACK * planned_s + (tool != NULL && strcmp(tool, "restbench") != 0 ? VERIFY_LATE_S : 0);

    if (fabs(window_s - planned_s) > slack_s && !json_is_false(details_at(cell, "load.restbench.complete")))
        verify_fault(verify, file, number, "the window is %.3f s, its phase %.3f s", window_s, planned_s);
}

static void check_cell(struct verify *verify, const char *file, uint64_t number, const struct details_line *line)
{
    struct verify_cell *cell = verify_find(verify, line->title, line->round, line->test, line->connections);
    double window = details_number(line->json, "window.seconds");
    double ok = details_number(line->json, "csv.responses_2xx");
    double rate = details_number(line->json, "csv.requests_per_s");

    if (cell == NULL) {
        verify_fault(verify, file, number, "the CSV has no line for %s, round %lld, %s, %lld", line->title,
                     (long long)line->round, line->test, (long long)line->connections);
    } else {
        if (cell->in_details)
            verify_fault(verify, file, number, "a second object for line %llu of the CSV",
                         (unsigned long long)cell->number);
        cell->in_details = true;
        check_against_csv(verify, file, number, cell, line->json);
    }
    if (fabs(ok / window - rate) > 0.001 * rate + 0.02)
        verify_fault(verify, file, number, "requests_per_s is %.2f; %.0f answers in %.3f s are %.2f", rate, ok, window,
                     ok / window);
    check_window(verify, file, number, line->json);
    check_load(verify, file, number, line);
    verify_marks(verify, file, number, line->json);
}

static void check_reconciliation(struct verify *verify, const char *file, uint64_t number,
                                 const struct details_line *line)
{
    double answers = json_get_number(line->json, "answers");
    double transactions = json_get_number(line->json, "transactions");
    const json_t *ok = json_object_get(line->json, "ok");

    if (json_is_false(ok) || transactions < answers)
        verify_fault(verify, file, number,
                     "%s, round %lld: unconfirmed: %.0f answers of database tests, but the database counted %.0f "
                     "transactions",
                     line->title[0] != '\0' ? line->title : line->row, (long long)line->round, answers, transactions);
}

int verify_details(const char *path, struct verify *verify, struct err *err)
{
    struct details_reader reader;
    struct details_line line;
    struct err fault = {0};
    int got;

    if (details_open(path, &reader, err) != 0)
        return -1;
    while ((got = details_next(&reader, &line, &fault)) != 0) {
        if (got < 0) {
            verify_fault(verify, NULL, 0, "%s", fault.text);
            err_clear(&fault);
        } else if (line.kind == DETAILS_CELL) {
            check_cell(verify, path, reader.line, &line);
        } else if (line.kind == DETAILS_FAILED) {
            char *key = verify_key(line.title, line.round, line.test, line.connections);

            (void)intern_add(&verify->failed, key);
            free(key);
        } else if (line.kind == DETAILS_RECONCILIATION) {
            check_reconciliation(verify, path, reader.line, &line);
        }
    }
    details_close(&reader);
    for (uint64_t i = 0; i < verify->line_count; i++)
        if (!verify->lines[i].in_details)
            verify_fault(verify, path, 0, "nothing for line %llu of the CSV",
                         (unsigned long long)verify->lines[i].number);
    return 0;
}
