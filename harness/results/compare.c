#include "results/compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "results/compare_parts.h"

const char *const compare_verdict_names[COMPARE_VERDICTS] = {
    [COMPARE_BETTER] = "better",
    [COMPARE_WORSE] = "worse",
    [COMPARE_EQUAL] = "no difference",
    [COMPARE_CANNOT_TELL] = "cannot tell",
    [COMPARE_NO_IMPROVEMENT] = "not an improvement",
    [COMPARE_CONTROL] = "control",
};

const char *const compare_kind_names[] = {
    [COMPARE_FOUND_MISSING] = "missing",
    [COMPARE_FOUND_FAILED] = "failed",
    [COMPARE_FOUND_ERRORS] = "errors",
    [COMPARE_FOUND_UNPAIRED] = "unpaired",
};

void compare_note(struct compare *compare, const char *format, ...)
{
    struct compare_strings *notes = &compare->notes;
    char *line = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&line, format, args) < 0)
        line = text_dup("out of memory");
    va_end(args);
    notes->items = text_realloc(notes->items, notes->count + 1, sizeof *notes->items);
    notes->items[notes->count++] = line;
}

void compare_find(struct compare *compare, enum compare_kind kind, bool fails, const char *format, ...)
{
    struct compare_finding finding = {.kind = kind, .fails = fails};
    va_list args;

    va_start(args, format);
    if (vasprintf(&finding.text, format, args) < 0)
        finding.text = text_dup("out of memory");
    va_end(args);
    compare->findings = text_realloc(compare->findings, compare->finding_count + 1, sizeof *compare->findings);
    compare->findings[compare->finding_count++] = finding;
}

/* The results of one metric: a contiguous part, `*judged` of them ahead of the controls. */
static struct compare_result *family(const struct compare *compare, enum compare_metric metric, size_t *count,
                                     size_t *judged)
{
    struct compare_result *first = NULL;

    *count = *judged = 0;
    for (size_t i = 0; i < compare->result_count; i++) {
        struct compare_result *result = &compare->results[i];

        if (result->metric != metric)
            continue;
        first = first == NULL ? result : first;
        ++*count;
        *judged += !compare->rows[result->row].control;
    }
    return first;
}

static struct infer_cell *take_cells(struct compare_result *results, size_t count)
{
    struct infer_cell *cells = text_alloc((count + 1) * sizeof *cells);

    for (size_t i = 0; i < count; i++)
        cells[i] = results[i].infer;
    return cells;
}

static void give_cells(struct compare_result *results, size_t count, struct infer_cell *cells)
{
    for (size_t i = 0; i < count; i++)
        results[i].infer = cells[i];
    free(cells);
}

/* What the rates of the controls did, as a percentage. */
static double control_drift(const struct infer_cell *cells, size_t count)
{
    double sum = 0, n = 0;

    for (size_t i = 0; i < count; i++)
        if (isfinite(cells[i].change)) {
            sum += cells[i].change;
            n++;
        }
    return n > 0 ? infer_pct(sum / n) : (double)NAN;
}

static void shift_head(struct infer_cell *cells, size_t count, double shift)
{
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < cells[i].head_rounds; r++)
            cells[i].head[r] += shift;
}

static void fit_family(struct compare *compare, enum compare_metric metric, double log_time)
{
    const struct compare_metric_kind *kind = &compare_metrics[metric];
    struct infer_allowance none = {.sd = 0, .df = INFINITY};
    struct infer_allowance sitting = {.sd = INFER_SITTING_SD, .df = INFINITY};
    const struct infer_allowance *allowance = &none;
    size_t count, judged;
    struct compare_result *results = family(compare, metric, &count, &judged);
    struct infer_cell *cells = take_cells(results, judged);
    struct infer_cell *control = take_cells(results + judged, count - judged);

    infer_fit(control, count - judged, compare->design, &none);
    if (metric == COMPARE_RATE && count > judged)
        compare->drift_pct = control_drift(control, count - judged);
    if (kind->of_machine && compare->design == INFER_TWO_SITTINGS) {
        allowance = &sitting;
        if (compare->control == COMPARE_REFERENCE && !kind->per_row &&
            infer_remove_control(cells, judged, control, count - judged))
            allowance = &none;
        else if (compare->control == COMPARE_CALIBRATION) {
            shift_head(cells, judged, kind->higher_is_better ? log_time : -log_time);
            allowance = &compare->allowance;
        }
    }
    infer_fit(cells, judged, compare->design, allowance);
    give_cells(results, judged, cells);
    give_cells(results + judged, count - judged, control);
}

/* Holm over everything that is judged: one half of 5 % for rates, the other for all other metrics together. */
static void share_and_adjust(struct compare *compare)
{
    struct infer_cell *copies = text_alloc((compare->result_count + 1) * sizeof *copies);
    struct infer_cell **all = text_alloc((compare->result_count + 1) * sizeof(struct infer_cell *));
    size_t *of = text_alloc((compare->result_count + 1) * sizeof *of);
    size_t rates = 0, count = 0;

    for (size_t i = 0; i < compare->result_count; i++) {
        if (compare->rows[compare->results[i].row].control)
            continue;
        rates += compare->results[i].metric == COMPARE_RATE;
        copies[count] = compare->results[i].infer;
        of[count++] = i;
    }
    infer_share(copies, rates, INFER_PRIMARY_SHARE);
    infer_share(copies + rates, count - rates, 1 - INFER_PRIMARY_SHARE);
    for (size_t i = 0; i < count; i++)
        all[i] = &copies[i];
    infer_holm(all, count);
    for (size_t i = 0; i < count; i++)
        compare->results[of[i]].infer = copies[i];
    free(copies);
    free(all);
    free(of);
}

int compare_make(const struct compare_run *base, const struct compare_run *head, const struct compare_options *options,
                 struct compare *compare, struct err *err)
{
    double log_time = 0;

    *compare = (struct compare){.base = base, .head = head, .options = *options, .drift_pct = (double)NAN};
    if (base->real_path != NULL && head->real_path != NULL && strcmp(base->real_path, head->real_path) == 0)
        compare->design = INFER_PAIRED;
    if (compare_pair_up(compare, err) != 0)
        return -1;
    compare_note_differences(compare);
    compare_find_faults(compare);
    compare_collect(compare);
    if (compare->design == INFER_PAIRED)
        compare->control = COMPARE_SAME_SITTING;
    else if (compare->rows[compare->row_count - 1].control)
        compare->control = COMPARE_REFERENCE;
    else if (compare_calibration(compare, &log_time, &compare->allowance)) {
        compare->control = COMPARE_CALIBRATION;
        compare->drift_pct = infer_pct(-log_time);
    }
    for (enum compare_metric metric = 0; metric < COMPARE_METRICS; metric++)
        fit_family(compare, metric, log_time);
    share_and_adjust(compare);
    compare_judge(compare);
    return 0;
}

void compare_free(struct compare *compare)
{
    for (size_t i = 0; i < compare->row_count; i++)
        free(compare->rows[i].label);
    for (size_t i = 0; i < compare->result_count; i++) {
        free(compare->results[i].infer.base);
        free(compare->results[i].infer.head);
        free(compare->results[i].words);
    }
    for (size_t i = 0; i < compare->finding_count; i++)
        free(compare->findings[i].text);
    for (size_t i = 0; i < compare->notes.count; i++)
        free(compare->notes.items[i]);
    free(compare->rows);
    free(compare->pairs);
    free(compare->results);
    free(compare->findings);
    free(compare->notes.items);
    text_free(&compare->aside);
    *compare = (struct compare){0};
}
