#include "results/charts.h"

#include <math.h>
#include <stdlib.h>

#include "results/conclude.h"
#include "results/tables.h"

/* Colours that stay apart for most eyes (Okabe and Ito, 2008). */
static const char *const colors[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                     "#56b4e9", "#d55e00", "#8f7f00", "#000000"};
#define COLOR_COUNT (sizeof colors / sizeof colors[0])

/* A title for gnuplot: in single quotes, where only the quote itself is special. */
static void add_quoted(struct text *script, const char *string)
{
    text_add_char(script, '\'');
    for (; *string != '\0'; string++) {
        if (*string == '\'')
            text_add_char(script, '\'');
        text_add_char(script, *string);
    }
    text_add_char(script, '\'');
}

static uint32_t count_tests(const struct record *record)
{
    uint32_t count = 0;

    for (uint32_t test = 0; test < record->cells.tests.count; test++)
        count += cells_has_test(&record->cells, test);
    return count;
}

static uint32_t count_rows(const struct record *record)
{
    uint32_t count = 0;

    for (uint32_t row = 0; row < record->cells.titles.count; row++)
        count += record->cells.rows[row].lines > 0;
    return count;
}

/* Panels in two columns; `height` of one of them. */
static void start(const struct record *record, uint32_t height, const char *title, struct text *script)
{
    uint32_t tests = count_tests(record);
    uint32_t lines = (tests + 1) / 2;

    text_addf(script,
              "set encoding utf8\n"
              "set terminal svg noenhanced size 1100,%u font 'sans-serif,12' background '#ffffff'\n"
              "set multiplot layout %u,%d title '%s' font ',13'\n"
              "set border 1\nset tics nomirror\nset ytics scale 0\nset format x '%%.0f'\nset decimalsign '.'\nset "
              "xtics font ',10'\n"
              "set grid xtics lc rgb '#dddddd'\nset lmargin %d\n",
              lines * height + 40, lines, tests > 1 ? 2 : 1, title, 28);
}

static void set_rows(const struct record *record, uint32_t test, struct text *script)
{
    const char *separator = "";
    uint32_t place = 0;

    text_add(script, "set title ");
    add_quoted(script, record_test_title(record, test));
    text_add(script, "\nset ytics (");
    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        if (record->cells.rows[row].lines == 0)
            continue;
        text_add(script, separator);
        separator = ", ";
        add_quoted(script, record->cells.titles.strings[row]);
        text_addf(script, " %u", ++place);
    }
    text_addf(script, ")\nset yrange [%u.6:0.4]\nset xrange [0:*]\n", place);
}

static void add_number(struct text *script, double value)
{
    text_add_char(script, ' ');
    text_add_double(script, value, 4);
}

/* "x xlow xhigh y ylow yhigh" for boxxyerror. */
static void add_box(struct text *script, double low, double high, double y, double half)
{
    add_number(script, high);
    add_number(script, y);
    add_number(script, low);
    add_number(script, high);
    add_number(script, y - half);
    add_number(script, y + half);
    text_add_char(script, '\n');
}

static void write_rate_data(const struct record *record, uint32_t test, struct text *script)
{
    const struct cells *cells = &record->cells;
    double half = 0.4 / cells->phase_count;

    for (uint32_t phase = 0; phase < cells->phase_count; phase++) {
        struct text points = {0};
        uint32_t place = 0;

        text_addf(script, "$bars%u << EOD\n", phase);
        for (uint32_t row = 0; row < cells->titles.count; row++) {
            const struct cells_group *group = cells_find(cells, row, test, phase);
            double y;

            if (cells->rows[row].lines == 0)
                continue;
            y = ++place - 0.4 + half * (2 * phase + 1);
            if (group == NULL || isnan(group->spread[CELLS_RATE].median))
                continue;
            add_box(script, 0, group->spread[CELLS_RATE].median, y, half * 0.9);
            for (const struct cells_chunk *chunk = group->first; chunk != NULL && group->samples <= 50;
                 chunk = chunk->next)
                for (uint32_t i = 0; i < chunk->count; i++)
                    if (!isnan(chunk->samples[i].values[CELLS_RATE])) {
                        add_number(&points, chunk->samples[i].values[CELLS_RATE]);
                        add_number(&points, y);
                        text_add_char(&points, '\n');
                    }
        }
        text_addf(script, "EOD\n$points%u << EOD\n%s\nEOD\n", phase, text_string(&points));
        text_free(&points);
    }
}

void charts_write_rates(const struct record *record, struct text *script)
{
    const struct cells *cells = &record->cells;

    start(record, 110 + count_rows(record) * (8 + 14 * cells->phase_count),
          "requests/s, median of the rounds; points: the rounds", script);
    text_add(script, "set style fill solid 0.85 noborder\nset key below horizontal center samplen 1 font ',10'\n");
    for (uint32_t test = 0; test < cells->tests.count; test++) {
        if (!cells_has_test(cells, test))
            continue;
        set_rows(record, test, script);
        write_rate_data(record, test, script);
        text_add(script, "plot ");
        for (uint32_t phase = 0; phase < cells->phase_count; phase++)
            text_addf(script,
                      "%s$bars%u with boxxyerror lc rgb '%s' title '%lld connections', "
                      "$points%u with points pt 7 ps 0.35 lc rgb '#000000' notitle",
                      phase > 0 ? ", " : "", phase, colors[phase % COLOR_COUNT], (long long)cells->phases[phase],
                      phase);
        text_add_char(script, '\n');
    }
}

static void write_cpu_data(const struct record *record, uint32_t test, uint32_t phase, struct text *script)
{
    static const enum cells_figure parts[] = {CELLS_USER_US, CELLS_KERNEL_US, CELLS_POSTGRES_US};
    struct text data[3] = {{0}, {0}, {0}};
    uint32_t place = 0;

    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        const struct cells_group *group = cells_find(&record->cells, row, test, phase);
        double sum = 0;

        place += record->cells.rows[row].lines > 0;
        for (size_t i = 0; group != NULL && i < 3; i++) {
            double value = group->spread[parts[i]].median;

            if (!(value > 0))
                continue;
            add_box(&data[i], sum, sum + value, place, 0.35);
            sum += value;
        }
    }
    for (size_t i = 0; i < 3; i++) {
        text_addf(script, "$part%zu << EOD\n%s\nEOD\n", i, text_string(&data[i]));
        text_free(&data[i]);
    }
}

void charts_write_cpu(const struct record *record, struct text *script)
{
    uint32_t phase = conclude_phase(record);

    char *title = text_format("CPU per request, µs, %lld connections", (long long)record->cells.phases[phase]);

    start(record, 110 + count_rows(record) * 22, title, script);
    free(title);
    text_add(script, "set style fill solid 0.85 noborder\nset key below horizontal center samplen 1 font ',10'\n");
    for (uint32_t test = 0; test < record->cells.tests.count; test++) {
        if (!cells_has_test(&record->cells, test))
            continue;
        set_rows(record, test, script);
        write_cpu_data(record, test, phase, script);
        text_addf(script,
                  "plot $part0 with boxxyerror lc rgb '%s' title 'server user', "
                  "$part1 with boxxyerror lc rgb '%s' title 'server kernel', "
                  "$part2 with boxxyerror lc rgb '%s' title 'PostgreSQL'\n",
                  colors[0], colors[4], colors[1]);
    }
}

static bool has_latency(const struct record *record, const struct latency *latencies, uint32_t test, uint32_t phase)
{
    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        const struct cells_group *group = cells_find(&record->cells, row, test, phase);

        if (group != NULL && latencies[group - record->cells.groups].total > 0)
            return true;
    }
    return false;
}

static void write_curves(const struct record *record, const struct latency *latencies, uint32_t test, uint32_t phase,
                         struct text *script)
{
    const struct cells *cells = &record->cells;
    struct text plot = {0};

    for (uint32_t row = 0; row < cells->titles.count; row++) {
        const struct cells_group *group = cells_find(cells, row, test, phase);
        const struct latency *latency = group != NULL ? &latencies[group - cells->groups] : NULL;

        if (latency == NULL || latency->total <= 0)
            continue;
        text_addf(script, "$curve%u << EOD\n", row);
        for (int step = 0; step <= 50 && pow(10, -step / 10.0) * latency->total >= 1; step++) {
            add_number(script, pow(10, step / 10.0));
            add_number(script, latency_at_us(latency, 1 - pow(10, -step / 10.0)) / 1000);
            text_add_char(script, '\n');
        }
        text_addf(&plot, "%s$curve%u with lines lw 2 lc rgb '%s' title ", plot.len > 0 ? ", " : "plot ", row,
                  colors[row % COLOR_COUNT]);
        text_add(script, "EOD\n");
        add_quoted(&plot, cells->titles.strings[row]);
    }
    text_addf(script, "%s\n", text_string(&plot));
    text_free(&plot);
}

bool charts_write_latency(const struct record *record, const struct latency *latencies, struct text *script)
{
    uint32_t phase = conclude_phase(record);
    bool any = false;

    char *title =
        text_format("latency by percentile of answers, %lld connections", (long long)record->cells.phases[phase]);

    start(record, 300 + count_rows(record) * 17, title, script);
    free(title);
    text_add(script, "set key below horizontal center samplen 1.5 font ',10'\n"
                     "set lmargin 10\nset border 3\nset "
                     "logscale xy\nset format y '%g'\n"
                     "set xtics ('50 %%' 2, '90 %%' 10, '99 %%' 100, '99.9 %%' 1000, '99.99 %%' 10000, "
                     "'99.999 %%' 100000)\nset ytics auto\nset ylabel 'ms'\nset grid ytics lc rgb '#dddddd'\n");
    for (uint32_t test = 0; test < record->cells.tests.count; test++) {
        if (!has_latency(record, latencies, test, phase))
            continue;
        any = true;
        text_add(script, "set title ");
        add_quoted(script, record_test_title(record, test));
        text_add(script, "\nset xrange [1:*]\n");
        write_curves(record, latencies, test, phase, script);
    }
    return any;
}
