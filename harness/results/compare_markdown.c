#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/compare.h"
#include "results/markdown.h"

static void add_result(const struct compare *compare, const struct compare_result *result, struct text *text)
{
    char *cell = compare_cell_name(compare, result);
    char *interval = compare_interval(result);
    bool is_change = result->verdict == COMPARE_BETTER || result->verdict == COMPARE_WORSE;

    text_add(text, "| ");
    markdown_add(text, compare->rows[result->row].label);
    text_addf(text, " | %s | ", cell);
    compare_add_figure(text, result->base);
    text_add(text, " | ");
    compare_add_figure(text, result->head);
    text_add(text, " | ");
    compare_add_pct(text, infer_pct(result->infer.change));
    text_addf(text, " | %s | %s%s%s |\n", interval, is_change ? "**" : "", result->words, is_change ? "**" : "");
    free(interval);
    free(cell);
}

static void add_head(const char *title, const char *unit, struct text *text)
{
    text_addf(text, "| %s%s%s | test, connections | base | head | change | 95 %% interval | verdict |\n", title,
              *unit != '\0' ? ", " : "", unit);
    text_add(text, "|---|---|---:|---:|---:|---|---|\n");
}

/* What changed, the worse first. */
static void add_changes(const struct compare *compare, struct text *text)
{
    static const enum compare_verdict order[] = {COMPARE_WORSE, COMPARE_BETTER, COMPARE_NO_IMPROVEMENT};
    bool any = false;

    for (size_t v = 0; v < sizeof order / sizeof order[0]; v++)
        for (size_t i = 0; i < compare->result_count; i++) {
            const struct compare_result *result = &compare->results[i];
            struct text label = {0};

            if (result->verdict != order[v])
                continue;
            if (!any)
                text_add(text, "\n**What changed**\n\n");
            any = true;
            markdown_add(&label, compare->rows[result->row].label);
            char *cell = compare_cell_name(compare, result);
            char *interval = compare_interval(result);

            text_addf(text, "- %s, %s%s%s: **%s** (%s)%s\n", compare_metrics[result->metric].title, text_string(&label),
                      *cell != '\0' ? ", " : "", cell, result->words, interval, result->fails ? ", FAILS" : "");
            free(interval);
            free(cell);
            text_free(&label);
        }
    if (!any)
        text_addf(text, "\n%s\n",
                  compare->concluded ? "**No change was found.**"
                                     : "**Nothing can be concluded: one round a side shows no noise.**");
}

static void add_tables(const struct compare *compare, struct text *text)
{
    text_add(text, "\n<details><summary>All figures</summary>\n");
    for (enum compare_metric metric = 0; metric < COMPARE_METRICS; metric++) {
        bool any = false;

        for (size_t i = 0; i < compare->result_count; i++) {
            if (compare->results[i].metric != metric)
                continue;
            if (!any) {
                text_add_char(text, '\n');
                add_head(compare_metrics[metric].title, compare_metrics[metric].unit, text);
            }
            any = true;
            add_result(compare, &compare->results[i], text);
        }
    }
    text_add(text, "\n</details>\n");
}

static void add_lines(const struct compare *compare, struct text *text)
{
    for (size_t i = 0; i < compare->finding_count; i++) {
        text_addf(text, "- %s: ", compare_kind_names[compare->findings[i].kind]);
        markdown_add(text, compare->findings[i].text);
        text_add(text, compare->findings[i].fails && isfinite(compare->options.fail_above_pct) ? ", FAILS\n" : "\n");
    }
    for (size_t i = 0; i < compare->notes.count; i++) {
        text_add(text, "- ");
        markdown_add(text, compare->notes.items[i]);
        text_add_char(text, '\n');
    }
}

void compare_markdown(const struct compare *compare, struct text *text)
{
    size_t used, of;
    char *left_out = NULL;
    double pct = compare_mean_pct(compare, COMPARE_RATE, &used, &of, &left_out);

    text_add(text, "Base ");
    markdown_add(text, compare->base->name);
    text_addf(text, " (%zu rounds), head ", compare->base->round_count);
    markdown_add(text, compare->head->name);
    text_addf(text, " (%zu rounds), %zu pairs of %zu and %zu cells. Rate: ", compare->head->round_count,
              compare->pair_count, compare->base_cells, compare->head_cells);
    compare_add_pct(text, pct);
    text_addf(text, " (geometric mean over %zu of %zu pairs).", used, of);
    if (compare->control == COMPARE_NO_CONTROL)
        text_add(text, " No control: drift of the machine between the sittings is allowed for, not known.");
    if (isfinite(compare->drift_pct)) {
        text_add(text, " Control: ");
        compare_add_pct(text, compare->drift_pct);
        text_add(text, ", taken out.");
    }
    text_add_char(text, '\n');
    if (compare->finding_count + compare->notes.count > 0)
        text_add_char(text, '\n');
    add_lines(compare, text);
    add_changes(compare, text);
    add_tables(compare, text);
    text_add(text,
             "\nChanges are head / base, intervals 95 % each; verdicts hold for all figures together (Holm, 5 %).\n");
    free(left_out);
}
