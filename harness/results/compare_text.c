#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/compare.h"

static void add_column(struct text *text, void (*add)(struct text *, double), double value, size_t width)
{
    struct text figure = {0};

    add(&figure, value);
    text_add_padded(text, text_string(&figure), width, true);
    text_free(&figure);
}

static void write_side(const struct compare_run *run, const char *name, struct text *text)
{
    text_addf(text, "%s  %s: %zu rounds", name, run->csv, run->round_count);
    if (run->mode != NULL)
        text_addf(text, ", %s", run->mode);
    text_add_char(text, '\n');
}

static void write_control(const struct compare *compare, struct text *text)
{
    switch (compare->control) {
    case COMPARE_SAME_SITTING:
        text_add(text, "control  not needed: both were measured in one run, round by round\n");
        return;
    case COMPARE_REFERENCE:
        text_addf(text, "control  %s: ", compare->rows[compare->row_count - 1].label);
        break;
    case COMPARE_CALIBRATION:
        text_add(text, "control  calibration: ");
        break;
    case COMPARE_NO_CONTROL:
        text_addf(
            text,
            "control  none in both files: the machine may have changed between the two sittings; %.0f %% "
            "(standard deviation) are allowed for it, which more rounds do not lower; a reference row or a calibration "
            "in both would\n",
            100 * INFER_SITTING_SD);
        return;
    }
    compare_add_pct(text, compare->drift_pct);
    text_add(text, " between the two sittings, taken out below\n");
}

static size_t label_width(const struct compare *compare)
{
    size_t width = 0;

    for (size_t i = 0; i < compare->row_count; i++) {
        size_t own = text_width(compare->rows[i].label);

        width = own > width ? own : width;
    }
    for (size_t i = 0; i < compare->result_count; i++) {
        char *name = compare_cell_name(compare, &compare->results[i]);

        width = text_width(name) + 2 > width ? text_width(name) + 2 : width;
        free(name);
    }
    return width + 2;
}

static void write_result(const struct compare *compare, const struct compare_result *result, size_t width,
                         struct text *text)
{
    char *cell = compare_cell_name(compare, result);
    char *interval = compare_interval(result);
    char *name = *cell != '\0' ? text_format("  %s", cell) : text_dup(compare->rows[result->row].label);

    text_add_padded(text, name, width, false);
    add_column(text, compare_add_figure, result->base, 8);
    add_column(text, compare_add_figure, result->head, 9);
    add_column(text, compare_add_pct, infer_pct(result->infer.change), 10);
    text_add(text, "  ");
    text_add_padded(text, interval, 16, false);
    text_addf(text, "  %s\n", result->words);
    free(name);
    free(interval);
    free(cell);
}

static void write_metric(const struct compare *compare, enum compare_metric metric, size_t width, struct text *text)
{
    const struct compare_metric_kind *kind = &compare_metrics[metric];
    size_t last = SIZE_MAX;

    for (size_t i = 0; i < compare->result_count; i++) {
        const struct compare_result *result = &compare->results[i];

        if (result->metric != metric)
            continue;
        if (last == SIZE_MAX) {
            text_addf(text, "\n%s, %s (%s is better)\n", kind->title, kind->unit,
                      kind->higher_is_better ? "more" : "less");
            text_add_padded(text, "", width, false);
            text_add(text, "    base     head    change  95 % interval     verdict\n");
        }
        if (result->row != last && result->pair != SIZE_MAX)
            text_addf(text, "%s\n", compare->rows[result->row].label);
        last = result->row;
        write_result(compare, result, width, text);
    }
}

/* What was called, the worse first: most readers stop here. */
static void write_changes(const struct compare *compare, struct text *text)
{
    static const enum compare_verdict order[] = {COMPARE_WORSE, COMPARE_NO_IMPROVEMENT, COMPARE_BETTER};

    for (size_t v = 0; v < sizeof order / sizeof order[0]; v++)
        for (size_t i = 0; i < compare->result_count; i++) {
            const struct compare_result *result = &compare->results[i];

            if (result->verdict != order[v])
                continue;
            char *cell = compare_cell_name(compare, result);
            char *interval = compare_interval(result);

            text_addf(text, "%-9s%s, %s%s%s: %s (%s)\n", result->fails ? "FAIL" : "changed",
                      compare_metrics[result->metric].title, compare->rows[result->row].label,
                      *cell != '\0' ? ", " : "", cell, result->words, interval);
            free(interval);
            free(cell);
        }
}

static void write_summary(const struct compare *compare, struct text *text)
{
    text_addf(text, "\nsummary  %zu pairs; base has %zu cells, head %zu\n", compare->pair_count, compare->base_cells,
              compare->head_cells);
    for (enum compare_metric metric = 0; metric < COMPARE_METRICS; metric++) {
        size_t used, of;
        char *left_out = NULL;
        double pct = compare_mean_pct(compare, metric, &used, &of, &left_out);

        if (of > 0) {
            text_addf(text, "  %s: geometric mean ", compare_metrics[metric].title);
            compare_add_pct(text, pct);
            text_addf(text, ", over %zu of %zu pairs", used, of);
            text_addf(text, "%s%s\n", *left_out != '\0' ? "; left out, zero or not measured: " : "", left_out);
        }
        free(left_out);
    }
}

static void write_verdicts(const struct compare *compare, struct text *text)
{
    text_addf(text, "figures  %zu worse, %zu better, %zu no difference, %zu cannot tell",
              compare->verdicts[COMPARE_WORSE], compare->verdicts[COMPARE_BETTER], compare->verdicts[COMPARE_EQUAL],
              compare->verdicts[COMPARE_CANNOT_TELL]);
    if (compare->verdicts[COMPARE_NO_IMPROVEMENT] > 0)
        text_addf(text, ", %zu not an improvement because of errors or missing rounds",
                  compare->verdicts[COMPARE_NO_IMPROVEMENT]);
    text_add_char(text, '\n');
    if (!compare->concluded)
        text_add(text, "figures  one round a side: no noise is known, so nothing can be concluded\n");
}

void compare_text(const struct compare *compare, struct text *text)
{
    size_t width = label_width(compare);

    write_side(compare->base, "base   ", text);
    write_side(compare->head, "head   ", text);
    write_control(compare, text);
    for (size_t i = 0; i < compare->notes.count; i++)
        text_addf(text, "note     %s\n", compare->notes.items[i]);
    for (size_t i = 0; i < compare->finding_count; i++)
        text_addf(text, "%-9s%s%s\n", compare_kind_names[compare->findings[i].kind], compare->findings[i].text,
                  compare->findings[i].fails && isfinite(compare->options.fail_above_pct) ? " (FAIL)" : "");
    write_changes(compare, text);
    for (enum compare_metric metric = 0; metric < COMPARE_METRICS; metric++)
        write_metric(compare, metric, width, text);
    write_summary(compare, text);
    write_verdicts(compare, text);
    text_add(text, "method   changes are head / base; intervals are 95 % each; verdicts hold for all figures together "
                   "(Holm, 5 %)\n");
}
