#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "results/compare_parts.h"
#include "results/stats.h"

/* A round's figure of one cell; NaN where it was not measured, failed, or is not known. */
static double figure(const struct compare_run *run, uint32_t row, uint32_t test, int64_t phase, int64_t round,
                     enum compare_metric metric)
{
    const struct compare_line *line = compare_run_find(run, row, test, phase, round);

    if (line == NULL || (compare_line_failed(line) && metric != COMPARE_ERRORS))
        return (double)NAN;
    return line->figures[metric];
}

static bool has_failed(const struct compare_run *run, uint32_t row, uint32_t test, int64_t phase)
{
    for (size_t r = 0; r < run->round_count; r++) {
        const struct compare_line *line = compare_run_find(run, row, test, phase, run->rounds[r]);

        if (line != NULL && compare_line_failed(line))
            return true;
    }
    return false;
}

/* A round's figure of a server's life: the highest of its cells. */
static double figure_of_row(const struct compare_run *run, uint32_t row, int64_t round, enum compare_metric metric)
{
    double highest = (double)NAN;

    for (size_t i = 0; i < run->line_count; i++)
        if (run->lines[i].row == row && run->lines[i].round == round)
            highest = fmax(highest, run->lines[i].figures[metric]);
    return highest;
}

/* Logs by round into a new array; the median of the plain figures into `median`. */
static double *side(const struct compare *compare, const struct compare_result *result, bool is_head, double *median,
                    bool *zero)
{
    const struct compare_run *run = is_head ? compare->head : compare->base;
    const struct compare_row *row = &compare->rows[result->row];
    const struct compare_pair *pair = result->pair == SIZE_MAX ? NULL : &compare->pairs[result->pair];
    double *logs = text_alloc((run->round_count + 1) * sizeof *logs);
    double *known = text_alloc((run->round_count + 1) * sizeof *known);
    uint32_t number = is_head ? row->head : row->base;
    size_t count = 0;

    for (size_t r = 0; r < run->round_count; r++) {
        double value = pair == NULL ? figure_of_row(run, number, run->rounds[r], result->metric)
                                    : figure(run, number, is_head ? pair->head_test : pair->base_test, pair->phase,
                                             run->rounds[r], result->metric);

        logs[r] = infer_log(value);
        if (isfinite(value))
            known[count++] = value;
    }
    *median = stats_median(known, count);
    if (count > 0)
        *zero = *zero || !(*median > 0);
    else if (pair != NULL)
        *zero = *zero || has_failed(run, number, is_head ? pair->head_test : pair->base_test, pair->phase);
    free(known);
    return logs;
}

static void add_result(struct compare *compare, enum compare_metric metric, size_t row, size_t pair, int group)
{
    struct compare_result result = {.metric = metric, .row = row, .pair = pair};

    result.infer.base = side(compare, &result, false, &result.base, &result.zero);
    result.infer.head = side(compare, &result, true, &result.head, &result.zero);
    result.infer.base_rounds = compare->base->round_count;
    result.infer.head_rounds = compare->head->round_count;
    result.infer.group = group;
    /* A figure that neither side has is no result: an imported CSV may lack whole columns. Nor are no errors. */
    if ((!isfinite(result.base) && !isfinite(result.head) && !result.zero) ||
        (metric == COMPARE_ERRORS && !(result.base > 0) && !(result.head > 0))) {
        free(result.infer.base);
        free(result.infer.head);
        return;
    }
    compare->results = text_realloc(compare->results, compare->result_count + 1, sizeof *compare->results);
    compare->results[compare->result_count++] = result;
}

/* PostgreSQL has no part in a test that does not use it. */
static bool applies(const struct compare *compare, enum compare_metric metric, const struct compare_pair *pair)
{
    const struct names_test *known;

    if (metric != COMPARE_CPU_POSTGRES)
        return true;
    known = names_find_test(&compare->base->names, compare->base->tests.strings[pair->base_test]);
    return known == NULL || known->database;
}

/* Cells with one number pool their noise as one (infer.h). */
static int group_of(const struct compare *compare, size_t index)
{
    const struct compare_pair *pair = &compare->pairs[index];

    for (size_t i = 0; compare->options.pool_rows && i < index; i++)
        if (compare->pairs[i].base_test == pair->base_test && compare->pairs[i].phase == pair->phase)
            return (int)i;
    return (int)index;
}

void compare_collect(struct compare *compare)
{
    for (enum compare_metric metric = 0; metric < COMPARE_METRICS; metric++) {
        if (compare_metrics[metric].per_row) {
            for (size_t row = 0; row < compare->row_count; row++)
                add_result(compare, metric, row, SIZE_MAX, compare->options.pool_rows ? 0 : (int)row);
            continue;
        }
        for (size_t i = 0; i < compare->pair_count; i++)
            if (applies(compare, metric, &compare->pairs[i]))
                add_result(compare, metric, compare->pairs[i].row, i, group_of(compare, i));
    }
}
