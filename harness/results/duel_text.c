#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "results/duel_report.h"
#include "results/markdown.h"

/* What a reader of a duel wants; the CSV and compare hold the rest. */
static const enum compare_metric shown[] = {COMPARE_RATE,        COMPARE_P99,     COMPARE_CPU,     COMPARE_CPU_POSTGRES,
                                            COMPARE_WORKING_SET, COMPARE_PRIVATE, COMPARE_STARTUP, COMPARE_ERRORS};
#define SHOWN (sizeof shown / sizeof shown[0])

/* Base against itself for the same figure; NaN when it was not measured. */
static double noise_of(const struct duel_report *report, const struct compare_result *result)
{
    const struct compare *compare = &report->compare;

    for (size_t i = 0; i < compare->result_count; i++) {
        const struct compare_result *other = &compare->results[i];

        if (other->metric != result->metric || duel_report_is_change(other))
            continue;
        if (other->pair == SIZE_MAX ||
            (compare->pairs[other->pair].base_test == compare->pairs[result->pair].base_test &&
             compare->pairs[other->pair].phase == compare->pairs[result->pair].phase))
            return infer_pct(other->infer.change);
    }
    return (double)NAN;
}

struct row {
    struct text name, base, head, change, noise;
    char *interval;
};

static void row_make(const struct duel_report *report, const struct compare_result *result, struct row *row)
{
    char *cell = compare_cell_name(&report->compare, result);

    *row = (struct row){.interval = compare_interval(result)};
    text_add(&row->name, *cell != '\0' ? cell : compare_metrics[result->metric].title);
    compare_add_figure(&row->base, result->base);
    compare_add_figure(&row->head, result->head);
    compare_add_pct(&row->change, infer_pct(result->infer.change));
    compare_add_pct(&row->noise, noise_of(report, result));
    free(cell);
}

static void row_free(struct row *row)
{
    text_free(&row->name);
    text_free(&row->base);
    text_free(&row->head);
    text_free(&row->change);
    text_free(&row->noise);
    free(row->interval);
}

static size_t name_width(const struct duel_report *report)
{
    size_t width = 0;

    for (size_t i = 0; i < report->compare.result_count; i++) {
        struct row row;

        row_make(report, &report->compare.results[i], &row);
        width = text_width(text_string(&row.name)) > width ? text_width(text_string(&row.name)) : width;
        row_free(&row);
    }
    return width + 2;
}

static void write_metric(const struct duel_report *report, enum compare_metric metric, size_t width, struct text *text)
{
    bool any = false;

    for (size_t i = 0; i < report->compare.result_count; i++) {
        const struct compare_result *result = &report->compare.results[i];
        struct row row;

        if (result->metric != metric || !duel_report_is_change(result))
            continue;
        if (!any && result->pair != SIZE_MAX)
            text_addf(text, "%s, %s\n", compare_metrics[metric].title, compare_metrics[metric].unit);
        any = true;
        row_make(report, result, &row);
        text_add(text, result->pair != SIZE_MAX ? "  " : "");
        text_add_padded(text, text_string(&row.name), result->pair != SIZE_MAX ? width : width + 2, false);
        text_add_padded(text, text_string(&row.base), 7, true);
        text_add_padded(text, text_string(&row.head), 9, true);
        text_add_padded(text, text_string(&row.change), 10, true);
        text_add(text, "   ");
        text_add_padded(text, row.interval, 15, false);
        text_add_padded(text, text_string(&row.noise), 8, true);
        text_addf(text, "   %s\n", result->words);
        row_free(&row);
    }
}

static void add_control(const struct duel_report *report, struct text *text)
{
    if (report->control == NULL) {
        text_add(text, "none was measured");
        return;
    }
    text_addf(text, "%s: ", report->control);
    compare_add_pct(text, report->control_pct);
    if (isnan(report->control_pct))
        text_add(text, " (one round)");
    else
        text_add(text, fabs(report->control_pct) <= 5
                           ? " from the first to the second half: the machine was steady"
                           : " from the first to the second half: the machine was NOT steady");
}

static const char *noise_sentence(const struct duel_report *report)
{
    if (!report->has_noise)
        return "A/A  base was not measured against itself";
    return duel_report_is_unsteady(report)
               ? "A/A  base differs from itself: this machine is not steady enough, do not trust the verdicts"
               : "A/A  base against itself: no difference was called";
}

void duel_report_text(const struct duel_report *report, struct text *text)
{
    size_t width = name_width(report);

    if (report->pairs_planned > report->pairs)
        text_addf(text, "[%zu/%zu pairs]\n", report->pairs, report->pairs_planned);
    else
        text_addf(text, "[%zu pairs]\n", report->pairs);
    text_add_padded(text, "", width + 2, false);
    text_add(text, "   base     head    change   95 % interval       A/A   verdict\n");
    for (size_t i = 0; i < SHOWN; i++)
        write_metric(report, shown[i], width, text);
    for (size_t i = 0; i < report->compare.finding_count; i++)
        text_addf(text, "%s  %s\n", compare_kind_names[report->compare.findings[i].kind],
                  report->compare.findings[i].text);
    text_addf(text, "%s\ncontrol  ", noise_sentence(report));
    add_control(report, text);
    text_addf(text, "\nproof  %s\n", text_string(&report->proof));
}

static void add_arm(const struct duel_report *report, bool head, struct text *text)
{
    const struct compare_row *row = &report->compare.rows[0];

    markdown_add(text, report->run.titles.strings[head ? row->head : row->base]);
}

void duel_report_markdown(const struct duel_report *report, struct text *text)
{
    text_add(text, "**");
    add_arm(report, true, text);
    text_add(text, "** against **");
    add_arm(report, false, text);
    text_addf(text, "**, %zu pairs in one sitting, in turn (ABBA)\n\n", report->pairs);
    text_add(text, "| | base | head | change | 95 % interval | A/A | verdict |\n|---|---:|---:|---:|---|---:|---|\n");
    for (size_t m = 0; m < SHOWN; m++)
        for (size_t i = 0; i < report->compare.result_count; i++) {
            const struct compare_result *result = &report->compare.results[i];
            struct row row;

            if (result->metric != shown[m] || !duel_report_is_change(result))
                continue;
            row_make(report, result, &row);
            text_addf(text, "| %s%s%s, %s | %s | %s | %s | %s | %s | %s |\n",
                      result->pair != SIZE_MAX ? compare_metrics[shown[m]].title : "",
                      result->pair != SIZE_MAX ? ", " : "", text_string(&row.name), compare_metrics[shown[m]].unit,
                      text_string(&row.base), text_string(&row.head), text_string(&row.change), row.interval,
                      text_string(&row.noise), result->words);
            row_free(&row);
        }
    text_add_char(text, '\n');
    for (size_t i = 0; i < report->compare.finding_count; i++) {
        text_addf(text, "- %s: ", compare_kind_names[report->compare.findings[i].kind]);
        markdown_add(text, report->compare.findings[i].text);
        text_add_char(text, '\n');
    }
    text_addf(text, "- %s\n- control ", noise_sentence(report));
    struct text control = {0};

    add_control(report, &control);
    markdown_add(text, text_string(&control));
    text_free(&control);
    text_addf(
        text,
        "\n- proof: %s\n- intervals are 95 %% each; verdicts hold for all figures together (Holm, 5 %%); data: %s\n",
        text_string(&report->proof), fsx_basename(report->run.csv));
}
