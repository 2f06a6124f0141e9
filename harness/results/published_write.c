#include "results/published.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "results/markdown.h"

static void add_value(struct text *text, double value)
{
    if (isnan(value))
        text_add(text, "n/a");
    else if (value >= 100)
        text_add_thousands(text, llrint(value));
    else
        text_add_double(text, value, value < 10 ? 2 : 1);
}

static void add_cell(struct text *text, const json_t *row, const char *key, int decimals)
{
    double value = json_get_number(row, key);

    text_add_char(text, ' ');
    if (decimals < 0 || isnan(value))
        add_value(text, value);
    else
        text_add_double(text, value, value == floor(value) && decimals == 1 ? 0 : decimals);
    text_add(text, " |");
}

static const char *name_of(const char *figure)
{
    static const char *const names[][2] = {{"requests_per_s", "requests/s"},
                                           {"latency_p99_ms", "p99 latency, ms"},
                                           {"cpu_server_us", "server CPU per request, µs"},
                                           {"cpu_postgres_us", "PostgreSQL CPU per request, µs"},
                                           {"working_set_mb", "working set, MB"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (figure != NULL && strcmp(names[i][0], figure) == 0)
            return names[i][1];
    return "";
}

static void write_table(const json_t *table, struct text *text)
{
    const char *title = json_get_string(table, "title");
    double spearman = json_get_number(table, "spearman");
    const json_t *row;
    size_t i;

    text_addf(text, "\n### %s", name_of(json_get_string(table, "figure")));
    if (title != NULL) {
        text_add(text, ": ");
        markdown_add(text, title);
        text_addf(text, ", %.0f connections", json_get_number(table, "connections"));
    }
    text_add(text, "\n\nRank correlation: ");
    if (isnan(spearman))
        text_add(text, "cannot be told from fewer than three rows");
    else
        text_add_double(text, spearman, 2);
    text_add(text, "\n\n| server | published | here | ratio published | ratio here | rank published | rank here |\n"
                   "|---|---|---|---|---|---|---|\n");
    json_array_foreach (json_object_get(table, "rows"), i, row) {
        text_add(text, "| ");
        markdown_add(text, json_get_string(row, "row"));
        text_add(text, " |");
        add_cell(text, row, "published", -1);
        add_cell(text, row, "here", -1);
        add_cell(text, row, "published_ratio", 2);
        add_cell(text, row, "ratio", 2);
        add_cell(text, row, "published_rank", 1);
        add_cell(text, row, "rank", 1);
        text_add_char(text, '\n');
    }
}

static void write_conclusions(const json_t *conclusions, struct text *text)
{
    size_t held = 0, decided = 0, i;
    const json_t *item;

    json_array_foreach (conclusions, i, item) {
        const char *outcome = json_get_string(item, "outcome");

        held += outcome != NULL && strcmp(outcome, "holds") == 0;
        decided += outcome != NULL && strcmp(outcome, "cannot be decided") != 0;
    }
    text_addf(text, "\n%zu of %zu conclusions can be decided from this run; %zu hold.\n\n", decided,
              json_array_size(conclusions), held);
    text_add(text, "| the study's conclusion | here | because |\n|---|---|---|\n");
    json_array_foreach (conclusions, i, item) {
        text_add(text, "| ");
        markdown_add(text, json_get_string(item, "text") != NULL ? json_get_string(item, "text") : "");
        text_addf(text, " | %s | ", json_get_string(item, "outcome"));
        markdown_add(text, json_get_string(item, "why"));
        text_add(text, " |\n");
    }
}

static void write_list(const char *heading, const json_t *list, struct text *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach (list, i, item) {
        text_add(text, i == 0 ? heading : "; ");
        markdown_add(text, json_string_value(item));
    }
    text_add(text, json_array_size(list) > 0 ? ".\n" : "");
}

void published_write(const json_t *comparison, struct text *text)
{
    const json_t *table;
    size_t i;

    text_add(text, "\n## Beside the published study\n\nThe study's run ");
    markdown_add(text, json_get_string(comparison, "study"));
    text_add(text, " was measured on another machine and system, so figures are compared as ratios to one row, ");
    markdown_add(text, json_get_string(comparison, "reference"));
    text_add(text, ", and as ranks (1 is best). Rows are paired by title without version numbers.\n");
    write_list("\nOnly in the study: ", json_object_get(comparison, "only_published"), text);
    write_list("\nOnly here: ", json_object_get(comparison, "only_here"), text);
    write_conclusions(json_object_get(comparison, "conclusions"), text);
    json_array_foreach (json_object_get(comparison, "tables"), i, table) {
        write_table(table, text);
    }
}
