#include "results/report_md_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/json.h"
#include "results/markdown.h"

static void add_scalar(const json_t *value, struct text *text)
{
    char *line;

    if (json_is_null(value)) {
        text_add(text, "unknown");
    } else if (json_is_string(value)) {
        markdown_add(text, json_string_value(value));
    } else {
        line = json_line(value);
        markdown_add(text, line);
        free(line);
    }
}

/* "- a.b: value" for everything below an object. */
static void add_object(const char *prefix, const json_t *object, struct text *text)
{
    const json_t *value;
    const char *key;

    json_object_foreach ((json_t *)object, key, value) {
        char *name = text_format("%s%s%s", prefix, prefix[0] != '\0' ? "." : "", key);

        if (json_is_object(value)) {
            add_object(name, value, text);
        } else {
            text_add(text, "- ");
            markdown_add(text, name);
            text_add(text, ": ");
            add_scalar(value, text);
            text_add_char(text, '\n');
        }
        free(name);
    }
}

/* The row's fastest number of connections for this test; NULL: not measured. */
static const struct cells_group *fastest(const struct record *record, uint32_t row, uint32_t test)
{
    const struct cells_group *best = NULL;

    for (uint32_t phase = 0; phase < record->cells.phase_count; phase++) {
        const struct cells_group *group = cells_find(&record->cells, row, test, phase);

        if (group != NULL && group->spread[CELLS_RATE].median > (best != NULL ? best->spread[CELLS_RATE].median : 0))
            best = group;
    }
    return best;
}

static void add_ceiling_row(const struct record *record, uint32_t row, struct text *text)
{
    text_add(text, "| ");
    markdown_add(text, record->cells.titles.strings[row]);
    text_add(text, " |");
    for (uint32_t test = 0; test < record->cells.tests.count; test++) {
        const struct cells_group *best = fastest(record, row, test);
        double most = record_ceiling(record, test);

        if (isnan(most))
            continue;
        if (best == NULL) {
            text_add(text, " n/a |");
            continue;
        }
        text_addf(text, " %.0f %% (", 100 * best->spread[CELLS_RATE].median / most);
        text_add_thousands(text, llrint(best->spread[CELLS_RATE].median));
        text_add(text, ") |");
    }
    text_add_char(text, '\n');
}

/* "In Select 1 record the fastest, C reference, reaches 86 % of what the database can do." */
static void add_ceiling_sentence(const struct record *record, uint32_t test, struct text *text)
{
    const struct cells_group *best = NULL;

    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        const struct cells_group *group = fastest(record, row, test);

        if (group != NULL && (best == NULL || group->spread[CELLS_RATE].median > best->spread[CELLS_RATE].median))
            best = group;
    }
    if (best == NULL)
        return;
    text_add(text, "- ");
    markdown_add(text, record_test_title(record, test));
    text_add(text, ": the fastest, ");
    markdown_add(text, record->cells.titles.strings[best->row]);
    text_addf(text, ", reaches %.0f %% of what the database can do.\n",
              100 * best->spread[CELLS_RATE].median / record_ceiling(record, test));
}

void report_md_write_ceiling(const struct record *record, struct text *text)
{
    const json_t *pgbench = json_object_get(record->ceiling.root, "pgbench");
    double clients = json_get_number(pgbench, "clients");
    struct text rule = {0};
    struct text ceilings = {0};
    struct text sentences = {0};

    text_add(text, "\n## What the database alone can do\n\n");
    for (uint32_t test = 0; test < record->cells.tests.count; test++) {
        double most = record_ceiling(record, test);

        if (isnan(most) || !cells_has_test(&record->cells, test))
            continue;
        text_add(text, rule.len == 0 ? "| server | " : " | ");
        markdown_add(text, record_test_title(record, test));
        text_add(&rule, "---|");
        text_add_char(&ceilings, ' ');
        text_add_thousands(&ceilings, llrint(most));
        text_add(&ceilings, "/s |");
        add_ceiling_sentence(record, test, &sentences);
    }
    if (rule.len == 0) {
        text_addf(text, "Not measured here: `restbench ceiling %s` measures it, and then this report says it.\n",
                  record->csv);
    } else {
        text_addf(text, " |\n|---|%s\n| PostgreSQL alone |%s\n", text_string(&rule), text_string(&ceilings));
        for (uint32_t row = 0; row < record->cells.titles.count; row++)
            if (record->cells.rows[row].lines > 0)
                add_ceiling_row(record, row, text);
        text_addf(text, "\n%s\nPostgreSQL on the same CPUs without a server, driven by pgbench",
                  text_string(&sentences));
        if (!isnan(clients))
            text_addf(text, " (%.0f clients)", clients);
        text_add(text, " with the same statements; beside it each server where its number of connections is best, in "
                       "percent and requests/s. Above 100 %: pgbench, which ran at another time, did less.\n");
    }
    text_free(&rule);
    text_free(&ceilings);
    text_free(&sentences);
}

static void add_versions(const json_t *versions, struct text *text)
{
    const json_t *value;
    const char *separator = "";
    const char *key;

    json_object_foreach ((json_t *)versions, key, value) {
        text_add(text, separator);
        separator = ", ";
        markdown_add(text, key);
        text_add_char(text, ' ');
        add_scalar(value, text);
    }
}

void report_md_write_rows(const struct record *record, struct text *text)
{
    if (record->machine.row_count == 0)
        return;
    text_add(text, "\n## The servers\n\n| row | title | approach | caches | processes | pool | versions |\n"
                   "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < record->machine.row_count; i++) {
        const struct machine_row *row = &record->machine.rows[i];

        text_add(text, "| ");
        markdown_add(text, row->id);
        text_add(text, " | ");
        markdown_add(text, row->title);
        text_addf(text, "%s | ", row->reference ? " (reference)" : "");
        markdown_add(text, row->approach != NULL ? row->approach : "not declared");
        text_add(text, " | ");
        markdown_add(text, row->caches != NULL ? row->caches : "nothing");
        text_add(text, " | ");
        add_scalar(json_object_get(row->json, "processes"), text);
        text_add(text, " | ");
        add_scalar(json_object_get(row->json, "pool"), text);
        text_add(text, " | ");
        add_versions(json_object_get(row->json, "versions"), text);
        text_add(text, " |\n");
    }
}

void report_md_write_machine(const struct record *record, struct text *text)
{
    const json_t *root = record->machine.doc.root;
    const json_t *study = json_object_get(root, "study");
    static const char *const parts[] = {"machine", "database", "run"};
    static const char *const titles[] = {"The machine", "The database", "The run"};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (json_object_size(json_object_get(root, parts[i])) == 0)
            continue;
        text_addf(text, "\n## %s\n\n", titles[i]);
        add_object("", json_object_get(root, parts[i]), text);
    }
    if (study != NULL) {
        char *pretty = json_pretty(study);

        text_addf(text, "\n## The configuration\n\n```json\n%s\n```\n", pretty);
        free(pretty);
    }
}

/* As a shell takes it for one word; what would end the code it stands in is made visible. */
static void add_word(const char *word, struct text *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,%+@-";
    bool quoted = word[0] == '\0' || word[strspn(word, plain)] != '\0';

    text_add(text, quoted ? "'" : "");
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            text_add(text, "'\\''");
        else
            text_add_char(text, *word == '`' || (unsigned char)*word < 0x20 ? '?' : *word);
    }
    text_add(text, quoted ? "'" : "");
}

static void add_command(const struct record *record, struct text *text)
{
    const json_t *command = details_at(record->machine.doc.root, "run.command");
    const json_t *word;
    size_t i;

    if (json_array_size(command) == 0)
        return;
    text_add(text, "- Repeat it: `");
    json_array_foreach (command, i, word) {
        text_add(text, i > 0 ? " " : "");
        if (json_is_string(word))
            add_word(json_string_value(word), text);
    }
    text_add(text, "`\n");
}

void report_md_write_reading(const struct record *record, struct text *text)
{
    text_add(
        text,
        "\n## How to read this\n\n"
        "- Every figure in the tables is the median of the rounds, each figure by itself; bold is the best of its\n"
        "  column. Equal printed values are all bold; a reference row and some marked figures never are.\n"
        "- requests/s counts 2xx answers inside the window only; latencies are of those answers, from the first\n"
        "  byte written to the last byte read.\n"
        "- CPU per request is CPU time in the window divided by 2xx answers: server user + kernel, then PostgreSQL.\n"
        "- A difference smaller than the spread of the rounds is no difference. Server, database and load\n"
        "  generator share one machine; nothing here replaces a measurement of your own application.\n"
        "- n/a is unknown, never zero.\n");
    text_add(text, "- Raw data: `");
    text_add(text, fsx_basename(record->csv));
    text_addf(text, "`%s%s; `restbench verify` checks them.\n", record->details != NULL ? ", its `_details.jsonl`" : "",
              record->machine_path != NULL ? " and `_machine.json`" : "");
    add_command(record, text);
}
