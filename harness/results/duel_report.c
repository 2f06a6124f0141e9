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

static int compare_arms(const struct compare_run *run, const char *to, double bound_pct, struct compare *compare,
                        struct err *err)
{
    const struct machine_row *from_row = arm(run, DUEL_BASE), *to_row = arm(run, to);
    struct compare_options options = {.map_count = 1, .bound_pct = bound_pct, .fail_above_pct = (double)NAN};
    const char *map;
    char *text;
    int result;

    if (from_row == NULL || to_row == NULL)
        return err_set(err, "%s: has no rows %s and %s: not a duel", run->csv, DUEL_BASE, to);
    text = text_format("%s=%s", from_row->id, to_row->id);
    map = text;
    options.maps = &map;
    result = compare_make(run, run, &options, compare, err);
    free(text);
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
    size_t lives = 0, confirmed = 0, failed = 0, marks[MARK_COUNT] = {0};
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
        busiest = fmax(busiest, details_number(line.json, "verdict.generator_pct"));
        json_array_foreach(json_object_get(line.json, "marks"), i, mark)
        {
            const char *name = json_get_string(mark, "name");
            enum mark_id id = name != NULL ? mark_find(name) : MARK_COUNT;

            if (id != MARK_COUNT)
                marks[id]++;
        }
    }
    details_close(&reader);
    free(path);
    text_addf(&report->proof,
              "%zu lives of a server, each answered its contract; the database agrees with %zu; "
              "generator at most ",
              lives, confirmed);
    compare_add_size(&report->proof, busiest);
    text_add(&report->proof, " busy; marks: ");
    for (enum mark_id id = 0; id < MARK_COUNT; id++) {
        if (marks[id] > 0)
            text_addf(&report->proof, "%s%s in %zu cells", any ? ", " : "", mark_kinds[id].name, marks[id]);
        any = any || marks[id] > 0;
    }
    text_add(&report->proof, any ? "" : "none");
    if (failed > 0)
        text_addf(&report->proof, "; %zu cells could not be measured", failed);
}

static size_t whole_pairs(const struct duel_report *report)
{
    size_t most = 0;

    for (size_t i = 0; i < report->change.result_count; i++)
        if (report->change.results[i].infer.head_used > most)
            most = report->change.results[i].infer.head_used;
    return most;
}

int duel_report_open(const char *csv, double bound_pct, struct duel_report *report, struct err *err)
{
    struct err none = {0};

    *report = (struct duel_report){0};
    if (compare_run_open(csv, &report->run, err) != 0)
        return -1;
    if (compare_arms(&report->run, DUEL_HEAD, bound_pct, &report->change, err) != 0) {
        compare_free(&report->change);
        compare_run_close(&report->run);
        return -1;
    }
    report->has_noise = compare_arms(&report->run, DUEL_AGAIN, bound_pct, &report->noise, &none) == 0;
    if (!report->has_noise)
        compare_free(&report->noise);
    report->pairs = whole_pairs(report);
    report->pairs_planned = report->run.machine.rounds > 0 ? (size_t)report->run.machine.rounds : 0;
    find_control(report);
    read_proof(report);
    return 0;
}

void duel_report_close(struct duel_report *report)
{
    compare_free(&report->change);
    compare_free(&report->noise);
    compare_run_close(&report->run);
    text_free(&report->proof);
    free(report->control);
    *report = (struct duel_report){0};
}

double duel_report_widest_pct(const struct duel_report *report)
{
    double widest = -INFINITY;

    for (size_t i = 0; i < report->change.result_count; i++) {
        const struct compare_result *result = &report->change.results[i];

        if (result->metric != COMPARE_RATE)
            continue;
        widest = fmax(widest, result->infer.state == INFER_OK ? infer_pct(result->infer.high - result->infer.change)
                                                              : INFINITY);
    }
    return isinf(widest) ? INFINITY : widest;
}

bool duel_report_is_unsteady(const struct duel_report *report)
{
    return report->has_noise && report->noise.verdicts[COMPARE_BETTER] + report->noise.verdicts[COMPARE_WORSE] +
                                        report->noise.verdicts[COMPARE_NO_IMPROVEMENT] >
                                    0;
}
