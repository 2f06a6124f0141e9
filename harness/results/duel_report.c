#include "results/duel_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "results/details.h"
#include "results/marks.h"
#include "results/record.h"
#include "results/stats.h"

/* The row of an arm: the one whose folder has this name. */
static const struct machine_row *arm(const struct compare_run *run, const char *folder)
{
    size_t len = strlen(folder);

    for (size_t i = 0; i < run->machine.row_count; i++) {
        const char *id = run->machine.rows[i].id;

        if (strncmp(id, folder, len) == 0 && (id[len] == '\0' || id[len] == ':'))
            return &run->machine.rows[i];
    }
    return NULL;
}

/* True when the CSV holds the arm. */
static bool is_measured(const struct compare_run *run, const struct machine_row *row)
{
    return row != NULL && intern_find(&run->titles, row->title) != INTERN_NONE;
}

static int compare_arms(struct duel_report *report, double bound_pct, struct err *err)
{
    const struct compare_run *run = &report->run;
    const struct machine_row *base = arm(run, DUEL_BASE), *head = arm(run, DUEL_HEAD), *again = arm(run, DUEL_AGAIN);
    struct compare_options options = {.bound_pct = bound_pct, .fail_above_pct = (double)NAN, .pool_rows = true};
    const char *maps[2];
    char *texts[2];
    int result;

    if (base == NULL || head == NULL)
        return err_set(err, "%s: has no rows %s and %s: not a duel", run->csv, DUEL_BASE, DUEL_HEAD);
    if (!is_measured(run, base) || !is_measured(run, head))
        return err_set(err, "%s: no pair was measured", run->csv);
    report->has_noise = is_measured(run, again);
    texts[0] = text_format("%s=%s", base->id, head->id);
    texts[1] = text_format("%s=%s", base->id, report->has_noise ? again->id : "");
    maps[0] = texts[0];
    maps[1] = texts[1];
    options.maps = maps;
    options.map_count = report->has_noise ? 2 : 1;
    result = compare_make(run, run, &options, &report->compare, err);
    free(texts[0]);
    free(texts[1]);
    return result;
}

/* The control's rates in the later rounds against the earlier ones: the median of its cells. */
static double half_against_half(const struct compare_run *run, uint32_t row)
{
    size_t half = run->round_count / 2, count = 0;
    double *changes = text_alloc((run->line_count + 1) * sizeof *changes);
    double result;

    for (size_t i = 0; i < run->line_count && half > 0; i++) {
        const struct compare_line *line = &run->lines[i];
        double rates[2] = {0, 0}, n[2] = {0, 0};

        if (line->row != row ||
            (i > 0 && line[-1].row == row && line[-1].test == line->test && line[-1].phase == line->phase))
            continue;
        for (size_t r = 0; r < run->round_count; r++) {
            const struct compare_line *one = compare_run_find(run, row, line->test, line->phase, run->rounds[r]);
            int side = r >= run->round_count - half ? 1 : 0;

            if (one == NULL || compare_line_failed(one) || (side == 0 && r >= half))
                continue;
            rates[side] += infer_log(one->figures[COMPARE_RATE]);
            n[side]++;
        }
        if (n[0] > 0 && n[1] > 0)
            changes[count++] = rates[1] / n[1] - rates[0] / n[0];
    }
    result = infer_pct(stats_median(changes, count));
    free(changes);
    return result;
}

static void find_control(struct duel_report *report)
{
    const struct compare_run *run = &report->run;

    report->control_pct = (double)NAN;
    for (uint32_t row = 0; row < run->titles.count; row++) {
        const struct machine_row *known = compare_run_machine_row(run, row);

        if (known == NULL || !known->reference || known == arm(run, DUEL_BASE) || known == arm(run, DUEL_HEAD) ||
            known == arm(run, DUEL_AGAIN))
            continue;
        report->control = text_dup(known->title);
        report->control_pct = half_against_half(run, row);
        return;
    }
}

/* What was checked beside the figures, from the details. */
static void read_proof(struct duel_report *report)
{
    char *path = record_beside(report->run.csv, "_details.jsonl");
    size_t cells = 0, lives = 0, confirmed = 0, failed = 0, marks[MARK_COUNT] = {0};
    double busiest = (double)NAN;
    struct details_reader reader;
    struct details_line line;
    struct err ignored = {0};
    bool any = false;

    if (!fsx_exists(path) || details_open(path, &reader, &ignored) != 0) {
        text_add(&report->proof, "none: the details are missing");
        free(path);
        return;
    }
    while (details_next(&reader, &line, &ignored) == 1) {
        json_t *mark;
        size_t i;

        if (line.kind == DETAILS_RECONCILIATION) {
            lives++;
            confirmed += json_is_true(json_object_get(line.json, "ok"));
        }
        failed += line.kind == DETAILS_FAILED;
        if (line.kind != DETAILS_CELL)
            continue;
        cells++;
        busiest = fmax(busiest, details_number(line.json, "verdict.generator_pct"));
        json_array_foreach (json_object_get(line.json, "marks"), i, mark) {
            const char *name = json_get_string(mark, "name");
            enum mark_id id = name != NULL ? mark_find(name) : MARK_COUNT;

            if (id != MARK_COUNT)
                marks[id]++;
        }
    }
    details_close(&reader);
    free(path);
    text_addf(&report->proof, "%zu cells, each of a server that had answered its contract; ", cells);
    if (lives > 0)
        text_addf(&report->proof, "the database agrees with %zu of %zu lives of a server; ", confirmed, lives);
    text_add(&report->proof, "generator at most ");
    compare_add_size(&report->proof, busiest);
    text_add(&report->proof, " busy; marks: ");
    for (enum mark_id id = 0; id < MARK_COUNT; id++) {
        if (marks[id] > 0)
            text_addf(&report->proof, "%s%s in %zu cells", any ? ", " : "", mark_kinds[id].name, marks[id]);
        any = any || marks[id] > 0;
    }
    text_add(&report->proof, any ? "" : "none");
    if (failed > 0)
        text_addf(&report->proof, "; not measured: %zu cells", failed);
}

static size_t whole_pairs(const struct duel_report *report)
{
    size_t most = 0;

    for (size_t i = 0; i < report->compare.result_count; i++)
        if (duel_report_is_change(&report->compare.results[i]) && report->compare.results[i].infer.head_used > most)
            most = report->compare.results[i].infer.head_used;
    return most;
}

int duel_report_open(const char *csv, double bound_pct, struct duel_report *report, struct err *err)
{
    *report = (struct duel_report){0};
    if (compare_run_open(csv, &report->run, err) != 0)
        return -1;
    if (compare_arms(report, bound_pct, err) != 0) {
        compare_free(&report->compare);
        compare_run_close(&report->run);
        return -1;
    }
    report->pairs = whole_pairs(report);
    report->pairs_planned = report->run.machine.rounds > 0 ? (size_t)report->run.machine.rounds : 0;
    find_control(report);
    read_proof(report);
    return 0;
}

void duel_report_close(struct duel_report *report)
{
    compare_free(&report->compare);
    compare_run_close(&report->run);
    text_free(&report->proof);
    free(report->control);
    *report = (struct duel_report){0};
}

double duel_report_widest_pct(const struct duel_report *report)
{
    double widest = -INFINITY;

    for (size_t i = 0; i < report->compare.result_count; i++) {
        const struct compare_result *result = &report->compare.results[i];

        if (result->metric != COMPARE_RATE || !duel_report_is_change(result))
            continue;
        widest = fmax(widest, result->infer.state == INFER_OK ? infer_pct(result->infer.high - result->infer.change)
                                                              : INFINITY);
    }
    return isinf(widest) ? INFINITY : widest;
}

bool duel_report_is_change(const struct compare_result *result)
{
    return result->row == 0;
}

bool duel_report_is_unsteady(const struct duel_report *report)
{
    for (size_t i = 0; i < report->compare.result_count; i++) {
        enum compare_verdict verdict = report->compare.results[i].verdict;

        if (!duel_report_is_change(&report->compare.results[i]) &&
            (verdict == COMPARE_BETTER || verdict == COMPARE_WORSE || verdict == COMPARE_NO_IMPROVEMENT))
            return true;
    }
    return false;
}
