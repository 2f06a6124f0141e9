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

void report_md_write_ceiling(const struct record *record, struct text *text)
{
    const json_t *tests = json_object_get(record->ceiling.root, "tests");
    const char *heading = "\n## What the database alone can do\n\n"
                          "PostgreSQL on the same CPUs, driven by pgbench with the same statements.\n\n"
                          "| test | transactions/s of pgbench | fastest server | of the ceiling |\n|---|---|---|---|\n";
    const json_t *item;
    size_t i;

    json_array_foreach (tests, i, item) {
        const char *name = json_get_string(item, "name");
        uint32_t test = name != NULL ? intern_find(&record->cells.tests, name) : INTERN_NONE;
        double most = json_get_number(item, "transactions_per_s");
        const struct cells_group *best = NULL;

        for (uint32_t g = 0; test != INTERN_NONE && g < record->cells.group_count; g++) {
            const struct cells_group *group = &record->cells.groups[g];

            if (group->test == test && !isnan(group->spread[CELLS_RATE].median) &&
                (best == NULL || group->spread[CELLS_RATE].median > best->spread[CELLS_RATE].median))
                best = group;
        }
        if (best == NULL || !(most > 0))
            continue;
        text_add(text, heading);
        heading = "";
        text_add(text, "| ");
        markdown_add(text, record_test_title(record, test));
        text_add(text, " | ");
        text_add_thousands(text, llrint(most));
        text_add(text, " | ");
        markdown_add(text, record->cells.titles.strings[best->row]);
        text_add(text, ", ");
        text_add_thousands(text, llrint(best->spread[CELLS_RATE].median));
        text_addf(text, " | %.0f %% |\n", 100 * best->spread[CELLS_RATE].median / most);
    }
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

static void add_command(const struct record *record, struct text *text)
{
    const json_t *command = details_at(record->machine.doc.root, "run.command");
    const json_t *word;
    size_t i;

    if (json_array_size(command) == 0)
        return;
    text_add(text, "- Repeat it: `");
    json_array_foreach (command, i, word) {
        const char *string = json_string_value(word);

        text_add(text, i > 0 ? " " : "");
        for (; string != NULL && *string != '\0'; string++)
            text_add_char(text, *string == '`' || (unsigned char)*string < 0x20 ? '?' : *string);
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
