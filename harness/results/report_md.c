#include "results/report_md.h"

#include <math.h>
#include <string.h>

#include "results/conclude.h"
#include "results/markdown.h"
#include "results/published.h"
#include "results/report_md_parts.h"
#include "results/tables.h"

static void add_range(struct text *text, const struct stats_spread *spread, int decimals)
{
    text_add_char(text, ' ');
    if (spread->count == 0) {
        text_add(text, "n/a |");
        return;
    }
    if (decimals == 0) {
        text_add_thousands(text, llrint(spread->min));
        text_add(text, " – ");
        text_add_thousands(text, llrint(spread->max));
    } else {
        text_add_double(text, spread->min, decimals);
        text_add(text, " – ");
        text_add_double(text, spread->max, decimals);
    }
    if (spread->count > 1 && !isnan(stats_width_pct(spread))) {
        text_add(text, " (");
        text_add_double(text, stats_width_pct(spread), 1);
        text_add(text, " %)");
    }
    text_add(text, " |");
}

static void add_cell_key(const struct record *record, const struct cells_group *group, struct text *text)
{
    text_add(text, "| ");
    markdown_add(text, record->cells.titles.strings[group->row]);
    text_add(text, " | ");
    markdown_add(text, record_test_title(record, group->test));
    text_addf(text, " | %lld |", (long long)record->cells.phases[group->phase]);
}

/* Calls `write` for every group that was measured, row by row. */
static void for_each_group(const struct record *record, struct text *text,
                           void (*write)(const struct record *, const struct cells_group *, struct text *))
{
    const struct cells *cells = &record->cells;

    for (uint32_t row = 0; row < cells->titles.count; row++)
        for (uint32_t test = 0; test < cells->tests.count; test++)
            for (uint32_t phase = 0; phase < cells->phase_count; phase++) {
                const struct cells_group *group = cells_find(cells, row, test, phase);

                if (group != NULL)
                    write(record, group, text);
            }
}

static void write_spread_row(const struct record *record, const struct cells_group *group, struct text *text)
{
    static const struct {
        enum cells_figure figure;
        int decimals;
    } columns[] = {{CELLS_RATE, 0},    {CELLS_P50, 2},       {CELLS_P99, 2},
                   {CELLS_USER_US, 1}, {CELLS_KERNEL_US, 1}, {CELLS_POSTGRES_US, 1}};

    add_cell_key(record, group, text);
    text_addf(text, " %u |", group->rounds);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        add_range(text, &group->spread[columns[i].figure], columns[i].decimals);
    text_add_char(text, '\n');
}

static void write_error_row(const struct record *record, const struct cells_group *group, struct text *text)
{
    const struct evidence_group *evidence = evidence_of(&record->evidence, &record->cells, group);

    if (group->errors <= 0)
        return;
    add_cell_key(record, group, text);
    text_add_char(text, ' ');
    text_add_thousands(text, llrint(group->errors));
    text_add(text, " | ");
    text_add_double(text, 100 * group->errors / (group->errors + group->ok), 4);
    text_add(text, " % |");
    for (int i = 0; i < EVIDENCE_ERROR_KINDS; i++) {
        text_add_char(text, ' ');
        if (evidence != NULL)
            text_add_thousands(text, llrint(evidence->errors[i]));
        else
            text_add(text, "n/a");
        text_add(text, " |");
    }
    text_add_char(text, '\n');
}

static bool has_errors(const struct record *record)
{
    for (uint32_t i = 0; i < record->cells.group_count; i++)
        if (record->cells.groups[i].errors > 0)
            return true;
    return false;
}

static void add_pct(struct text *text, double pct)
{
    if (isnan(pct))
        text_add(text, " n/a |");
    else
        text_addf(text, " %.0f %% |", pct);
}

static void write_verdict_row(const struct record *record, const struct cells_group *group, struct text *text)
{
    const struct evidence_group *evidence = evidence_of(&record->evidence, &record->cells, group);

    if (evidence == NULL)
        return;
    add_cell_key(record, group, text);
    text_addf(text, " %s |", evidence_limit_names[evidence->limit]);
    for (int i = 0; i < EVIDENCE_SHARES; i++)
        add_pct(text, evidence->shares[i]);
    text_add_char(text, '\n');
}

static void write_sections(const struct record *record, const struct report_md_extras *extras, struct text *text)
{
    text_add(text, "\n## Spread over the rounds\n\nLowest – highest (width, of the median).\n\n"
                   "| server | test | connections | rounds | requests/s | p50 ms | p99 ms | server user µs | "
                   "server kernel µs | PostgreSQL µs |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for_each_group(record, text, write_spread_row);
    if (has_errors(record)) {
        text_add(text, "\n## Errors\n\n| server | test | connections | errors | share |");
        for (int i = 0; i < EVIDENCE_ERROR_KINDS; i++)
            text_addf(text, " %s |", evidence_error_names[i]);
        text_add(text, "\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
        for_each_group(record, text, write_error_row);
    }
    if (record->evidence.groups != NULL) {
        text_add(text, "\n## What limited each cell\n\n"
                       "Shares of the CPUs in the window: the generator's of its own, server and PostgreSQL of those "
                       "that they have in common. Waits: active backends that waited for a commit or a lock.\n\n"
                       "| server | test | connections | limited by | generator | database waits | shared CPUs busy | "
                       "server | PostgreSQL |\n|---|---|---|---|---|---|---|---|---|\n");
        for_each_group(record, text, write_verdict_row);
    }
    if (record_ceiling_matters(record))
        report_md_write_ceiling(record, text);
    if (extras->published != NULL)
        published_write(extras->published, text);
    report_md_write_rows(record, text);
    report_md_write_machine(record, text);
    report_md_write_reading(record, text);
}

static void write_charts(const struct report_md_extras *extras, struct text *text)
{
    for (size_t i = 0; i < extras->chart_count; i++)
        if (extras->charts[i].file != NULL)
            text_addf(text, "\n![%s](%s)\n", extras->charts[i].title, extras->charts[i].file);
    if (extras->no_charts != NULL)
        text_addf(text, "\nNo charts: %s.\n", extras->no_charts);
}

void report_md_write(const struct record *record, const struct report_md_extras *extras, struct text *text)
{
    struct text can = {0};
    struct text cannot = {0};

    text_add(text, "# ");
    markdown_add(text, record->name);
    text_add(text, "\n\n");
    conclude_write(record, &can, &cannot);
    markdown_add(text, text_string(&can));
    text_add(text, can.len > 0 ? "\n\n" : "");
    markdown_add(text, text_string(&cannot));
    text_add(text, "\n\n");
    if (extras->html != NULL)
        text_addf(text, "The same with distributions, seconds and evidence for a browser: [%s](%s).\n\n", extras->html,
                  extras->html);
    tables_write(record, text);
    write_charts(extras, text);
    write_sections(record, extras, text);
    text_free(&can);
    text_free(&cannot);
}
