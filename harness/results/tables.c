#include "results/tables.h"

#include <math.h>
#include <stdlib.h>

#include "results/markdown.h"

/* As "%.0f" rounds: half to even. */
static double printed(double value)
{
    return rint(value);
}

static void add_whole(struct text *text, double value)
{
    if (isnan(value))
        text_add(text, "n/a");
    else
        text_add_thousands(text, llrint(value));
}

static void add_bold_whole(struct text *text, double value, bool bold)
{
    text_add(text, bold ? "**" : "");
    add_whole(text, value);
    text_add(text, bold ? "**" : "");
}

static double not_negative(double value)
{
    return value >= 0 ? value : NAN;
}

double tables_cpu(const struct cells_group *group)
{
    return not_negative(printed(group->spread[CELLS_USER_US].median)) +
           not_negative(printed(group->spread[CELLS_KERNEL_US].median));
}

double tables_postgres(const struct cells_group *group)
{
    return not_negative(group->spread[CELLS_POSTGRES_US].median);
}

static bool may_be_best(const struct record *record, const struct cells_group *group)
{
    return group != NULL && !cells_is_barred(group) && !record_is_reference(record, group->row);
}

double tables_best_rate(const struct record *record, uint32_t test, uint32_t phase)
{
    double best = NAN;

    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        const struct cells_group *group = cells_find(&record->cells, row, test, phase);

        double value = group != NULL ? printed(group->spread[CELLS_RATE].median) : NAN;

        if (!isnan(value) && may_be_best(record, group) && !(value <= best))
            best = value;
    }
    return best;
}

double tables_best_cpu(const struct record *record, uint32_t test, uint32_t phase)
{
    double best = NAN;

    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        const struct cells_group *group = cells_find(&record->cells, row, test, phase);

        double value = group != NULL ? tables_cpu(group) : NAN;

        if (!isnan(value) && may_be_best(record, group) && !(value >= best))
            best = value;
    }
    return best;
}

static void add_rate_cell(const struct record *record, const struct cells_group *group, double best, struct text *text)
{
    double rate = group != NULL ? group->spread[CELLS_RATE].median : NAN;

    if (isnan(rate)) {
        text_add(text, " n/a");
    } else {
        text_add_char(text, ' ');
        add_bold_whole(text, rate, may_be_best(record, group) && printed(rate) == best);
        text_add(text, " (");
        if (isnan(group->spread[CELLS_P99].median))
            text_add(text, "n/a");
        else
            text_add_double(text, group->spread[CELLS_P99].median, 1);
        text_add_char(text, ')');
    }
    if (group != NULL)
        tables_add_signs(&record->cells, group->marks, text);
    text_add(text, " |");
}

static uint32_t rounds_of(const struct cells *cells, uint32_t test)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < cells->group_count; i++)
        if (cells->groups[i].test == test && cells->groups[i].rounds > most)
            most = cells->groups[i].rounds;
    return most;
}

static void write_rates(const struct record *record, uint32_t test, struct text *text)
{
    const struct cells *cells = &record->cells;
    double *best = text_realloc(NULL, cells->phase_count, sizeof *best);
    uint32_t rounds = rounds_of(cells, test);

    text_add(text, "### ");
    markdown_add(text, record_test_title(record, test));
    text_addf(text, " \u2014 requests/s, median of %u round%s (p99 latency in ms)\n\n| server |", rounds,
              rounds == 1 ? "" : "s");
    for (uint32_t phase = 0; phase < cells->phase_count; phase++)
        if (cells_has_phase(cells, test, phase))
            text_addf(text, " %lld connection%s |", (long long)cells->phases[phase],
                      cells->phases[phase] == 1 ? "" : "s");
    text_add(text, "\n|---|");
    for (uint32_t phase = 0; phase < cells->phase_count; phase++) {
        best[phase] = tables_best_rate(record, test, phase);
        text_add(text, cells_has_phase(cells, test, phase) ? "---|" : "");
    }
    text_add_char(text, '\n');
    for (uint32_t row = 0; row < cells->titles.count; row++) {
        if (cells->rows[row].lines == 0)
            continue;
        text_add(text, "| ");
        markdown_add(text, cells->titles.strings[row]);
        text_add(text, " |");
        for (uint32_t phase = 0; phase < cells->phase_count; phase++)
            if (cells_has_phase(cells, test, phase))
                add_rate_cell(record, cells_find(cells, row, test, phase), best[phase], text);
        text_add_char(text, '\n');
    }
    text_add_char(text, '\n');
    free(best);
}

static void add_cpu_cell(const struct record *record, uint32_t test, const struct cells_group *group, double best,
                         struct text *text)
{
    double user = group != NULL ? not_negative(group->spread[CELLS_USER_US].median) : NAN;
    double kernel = group != NULL ? not_negative(group->spread[CELLS_KERNEL_US].median) : NAN;
    bool bold = may_be_best(record, group) && tables_cpu(group) == best;

    text_add(text, bold ? " **" : " ");
    add_whole(text, user);
    if (!isnan(user) || !isnan(kernel)) {
        text_add(text, " + ");
        add_whole(text, kernel);
    }
    text_add(text, bold ? "**" : "");
    if (record_test_uses_database(record, test) && group != NULL) {
        text_add(text, "; ");
        add_whole(text, tables_postgres(group));
    }
    if (group != NULL)
        tables_add_signs(&record->cells, group->marks, text);
    text_add(text, " |");
}

static void write_cpu(const struct record *record, struct text *text)
{
    const struct cells *cells = &record->cells;
    double *best = text_realloc(NULL, cells->tests.count, sizeof *best);
    uint32_t phase = 0;

    while (phase + 1 < cells->phase_count && !cells_has_any(cells, phase))
        phase++;
    text_addf(text, "### CPU per request, \u00b5s, %lld connection%s (server user + kernel; PostgreSQL)\n\n| server |",
              (long long)cells->phases[phase], cells->phases[phase] == 1 ? "" : "s");
    for (uint32_t test = 0; test < cells->tests.count; test++) {
        best[test] = tables_best_cpu(record, test, phase);
        if (!cells_has_phase(cells, test, phase))
            continue;
        text_add_char(text, ' ');
        markdown_add(text, record_test_title(record, test));
        text_add(text, " |");
    }
    text_add(text, "\n|---|");
    for (uint32_t test = 0; test < cells->tests.count; test++)
        text_add(text, cells_has_phase(cells, test, phase) ? "---|" : "");
    text_add_char(text, '\n');
    for (uint32_t row = 0; row < cells->titles.count; row++) {
        if (cells->rows[row].lines == 0)
            continue;
        text_add(text, "| ");
        markdown_add(text, cells->titles.strings[row]);
        text_add(text, " |");
        for (uint32_t test = 0; test < cells->tests.count; test++)
            if (cells_has_phase(cells, test, phase))
                add_cpu_cell(record, test, cells_find(cells, row, test, phase), best[test], text);
        text_add_char(text, '\n');
    }
    text_add_char(text, '\n');
    free(best);
}

/* Marks that forbid bold, of any cell of the row: the row's memory figures come from all of them. */
static unsigned barring_marks(const struct cells *cells, uint32_t row)
{
    unsigned marks = 0;

    for (uint32_t test = 0; test < cells->tests.count; test++)
        for (uint32_t phase = 0; phase < cells->phase_count; phase++) {
            const struct cells_group *group = cells_find(cells, row, test, phase);

            for (int i = 0; group != NULL && i < MARK_COUNT; i++)
                if (mark_kinds[i].forbids_bold)
                    marks |= group->marks & 1U << i;
        }
    return marks;
}

static double lowest(const struct record *record, const unsigned *barred, double (*of)(const struct cells_row *))
{
    double best = NAN;

    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        double value = printed(of(&record->cells.rows[row]));

        if (barred[row] == 0 && !record_is_reference(record, row) && !isnan(value) && !(value >= best))
            best = value;
    }
    return best;
}

static double working_set(const struct cells_row *row)
{
    return row->working_set_mb;
}

static double private_bytes(const struct cells_row *row)
{
    return row->private_mb;
}

static void write_memory(const struct record *record, struct text *text)
{
    static double (*const columns[])(const struct cells_row *) = {working_set, private_bytes};
    const struct cells *cells = &record->cells;
    unsigned *barred = text_realloc(NULL, cells->titles.count, sizeof *barred);
    double best[2];

    for (uint32_t row = 0; row < cells->titles.count; row++)
        barred[row] = barring_marks(cells, row);
    for (int i = 0; i < 2; i++)
        best[i] = lowest(record, barred, columns[i]);
    text_add(text, "### Memory, MB, highest value over all tests (working set / private bytes)\n\n"
                   "| server | working set | private bytes |\n|---|---|---|\n");
    for (uint32_t row = 0; row < cells->titles.count; row++) {
        if (cells->rows[row].lines == 0)
            continue;
        text_add(text, "| ");
        markdown_add(text, cells->titles.strings[row]);
        for (int i = 0; i < 2; i++) {
            double value = columns[i](&cells->rows[row]);

            text_add(text, " | ");
            add_bold_whole(text, value,
                           barred[row] == 0 && !record_is_reference(record, row) && printed(value) == best[i]);
            if (!isnan(value))
                tables_add_signs(cells, barred[row], text);
        }
        text_add(text, " |\n");
    }
    text_add_char(text, '\n');
    free(barred);
}

static void write_errors(const struct record *record, struct text *text)
{
    const struct cells *cells = &record->cells;
    const char *separator = " ";

    text_add(text, "Errors (non-2xx or timeouts), all rounds:");
    for (uint32_t row = 0; row < cells->titles.count; row++) {
        bool unknown = cells->rows[row].errors_unknown > 0 && cells->rows[row].errors_unknown == cells->rows[row].lines;

        if (cells->rows[row].errors <= 0 && !unknown)
            continue;
        text_add(text, separator);
        separator = "; ";
        markdown_add(text, cells->titles.strings[row]);
        text_add_char(text, ' ');
        add_whole(text, unknown ? NAN : cells->rows[row].errors);
    }
    text_add(text, separator[0] == ' ' ? " none\n" : "\n");
}

void tables_write(const struct record *record, struct text *text)
{
    for (uint32_t test = 0; test < record->cells.tests.count; test++)
        if (cells_has_test(&record->cells, test))
            write_rates(record, test, text);
    write_cpu(record, text);
    write_memory(record, text);
    write_errors(record, text);
    tables_write_marks(record, markdown_add, text);
    tables_write_missing(record, markdown_add, text);
}
