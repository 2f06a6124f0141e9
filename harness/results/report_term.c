#include "results/report_term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "results/conclude.h"
#include "results/tables.h"

#define BAR_WIDTH 14
#define RATE_WIDTH 10
#define FIGURE_WIDTH 9
#define CEILING_WIDTH 8

struct sheet {
    const struct record *record;
    const struct report_term_options *options;
    struct text *text;
    size_t name_width;
    size_t sign_width;
    bool has_ceiling; /* what the database alone does is known of some test */
};

struct report_term_options report_term_detect(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool terminal = isatty(STDOUT_FILENO) == 1;
    struct winsize size = {0};

    if (terminal)
        (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return (struct report_term_options){
        .color = terminal && (no_color == NULL || no_color[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0,
        .width = size.ws_col,
    };
}

/* Bytes of the first character. */
static size_t char_len(const char *at)
{
    size_t len = 1;

    while (((unsigned char)at[len] & 0xc0) == 0x80)
        len++;
    return len;
}

/* The string in exactly `width` columns: cut with an ellipsis, or filled with blanks. */
static void add_left(struct text *text, const char *string, size_t width)
{
    size_t used = text_width(string);
    char one[8];

    if (used > width) {
        used = 0;
        while (*string != '\0') {
            size_t len = char_len(string) < sizeof one ? char_len(string) : sizeof one - 1;

            memcpy(one, string, len);
            one[len] = '\0';
            if (used + text_width(one) + 1 > width)
                break;
            text_add(text, one);
            used += text_width(one);
            string += len;
        }
        text_add(text, "…");
        used++;
    } else {
        text_add(text, string);
    }
    for (; used < width; used++)
        text_add_char(text, ' ');
}

static void add_right(struct text *text, const char *string, size_t width)
{
    for (size_t used = text_width(string); used < width; used++)
        text_add_char(text, ' ');
    text_add(text, string);
}

static void start_color(const struct sheet *sheet, const char *code)
{
    if (sheet->options->color)
        text_addf(sheet->text, "\x1b[%sm", code);
}

static void end_color(const struct sheet *sheet)
{
    if (sheet->options->color)
        text_add(sheet->text, "\x1b[0m");
}

static void add_figure(const struct sheet *sheet, double value, int decimals, size_t width)
{
    struct text number = {0};

    if (isnan(value))
        text_add(&number, "n/a");
    else if (decimals == 0)
        text_add_thousands(&number, llrint(value));
    else
        text_add_double(&number, value, decimals);
    add_right(sheet->text, text_string(&number), width);
    text_free(&number);
}

/* Eighths of a column. */
static void add_bar(const struct sheet *sheet, double value, double highest)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = value > 0 && highest > 0 ? (int)lround(8 * BAR_WIDTH * value / highest) : 0;
    int used = eighths / 8 + (eighths % 8 != 0);

    start_color(sheet, "36");
    for (int i = 0; i < eighths / 8; i++)
        text_add(sheet->text, "█");
    text_add(sheet->text, parts[eighths % 8]);
    end_color(sheet);
    for (; used < BAR_WIDTH; used++)
        text_add_char(sheet->text, ' ');
}

static const char *limit_color(enum evidence_limit limit)
{
    return limit == EVIDENCE_GENERATOR  ? "31"
           : limit == EVIDENCE_DATABASE ? "35"
           : limit == EVIDENCE_SERVER   ? "32"
                                        : "2";
}

static void add_verdict(const struct sheet *sheet, const struct cells_group *group)
{
    const struct evidence_group *evidence = evidence_of(&sheet->record->evidence, &sheet->record->cells, group);

    if (evidence == NULL)
        return;
    text_add(sheet->text, "  ");
    start_color(sheet, limit_color(evidence->limit));
    evidence_add_verdict(evidence, sheet->text);
    end_color(sheet);
}

static void add_ceiling(const struct sheet *sheet, const struct cells_group *group)
{
    double pct = 100 * group->spread[CELLS_RATE].median / record_ceiling(sheet->record, group->test);
    char *text = isnan(pct) ? text_dup("") : text_format("%.0f %%", pct);

    add_right(sheet->text, text, CEILING_WIDTH);
    free(text);
}

static void add_row(const struct sheet *sheet, const struct cells_group *group, double best, double highest)
{
    const struct cells *cells = &sheet->record->cells;
    bool reference = record_is_reference(sheet->record, group->row);
    bool bold = !reference && !cells_is_barred(group) && rint(group->spread[CELLS_RATE].median) == best;
    char *name = text_format("%s%s", cells->titles.strings[group->row], reference ? " *" : "");
    struct text signs = {0};

    text_add(sheet->text, "  ");
    add_left(sheet->text, name, sheet->name_width);
    if (bold)
        start_color(sheet, "1");
    add_figure(sheet, group->spread[CELLS_RATE].median, 0, RATE_WIDTH);
    if (bold)
        end_color(sheet);
    tables_add_signs(cells, group->marks, &signs);
    add_left(sheet->text, text_string(&signs), sheet->sign_width);
    add_bar(sheet, group->spread[CELLS_RATE].median, highest);
    add_figure(sheet, group->spread[CELLS_P99].median, 1, FIGURE_WIDTH);
    add_figure(sheet, tables_cpu(group), 0, FIGURE_WIDTH);
    if (record_test_uses_database(sheet->record, group->test))
        add_figure(sheet, tables_postgres(group), 0, FIGURE_WIDTH);
    else
        add_right(sheet->text, "", FIGURE_WIDTH);
    if (sheet->has_ceiling)
        add_ceiling(sheet, group);
    add_verdict(sheet, group);
    text_add_char(sheet->text, '\n');
    text_free(&signs);
    free(name);
}

static void write_test(const struct sheet *sheet, uint32_t test, uint32_t phase)
{
    const struct cells *cells = &sheet->record->cells;
    double best = tables_best_rate(sheet->record, test, phase);
    char *title = text_format("%s · %lld", record_test_title(sheet->record, test), (long long)cells->phases[phase]);
    double highest = 0;

    for (uint32_t row = 0; row < cells->titles.count; row++) {
        const struct cells_group *group = cells_find(cells, row, test, phase);

        if (group != NULL && group->spread[CELLS_RATE].median > highest)
            highest = group->spread[CELLS_RATE].median;
    }
    start_color(sheet, "1");
    add_left(sheet->text, title, sheet->name_width + 2);
    end_color(sheet);
    add_right(sheet->text, "requests/s", RATE_WIDTH);
    add_right(sheet->text, "", BAR_WIDTH + sheet->sign_width);
    add_right(sheet->text, "p99 ms", FIGURE_WIDTH);
    add_right(sheet->text, "CPU us", FIGURE_WIDTH);
    add_right(sheet->text, record_test_uses_database(sheet->record, test) ? "db us" : "", FIGURE_WIDTH);
    if (sheet->has_ceiling)
        add_right(sheet->text, isnan(record_ceiling(sheet->record, test)) ? "" : "of db", CEILING_WIDTH);
    text_add(sheet->text, sheet->record->evidence.groups != NULL ? "  limited by\n" : "\n");
    for (uint32_t row = 0; row < cells->titles.count; row++)
        if (cells_find(cells, row, test, phase) != NULL)
            add_row(sheet, cells_find(cells, row, test, phase), best, highest);
    text_add_char(sheet->text, '\n');
    free(title);
}

/* Titles get what the other columns leave, at least 16 columns. */
static size_t name_width_of(const struct sheet *sheet, int width)
{
    const struct record *record = sheet->record;
    size_t verdict = record->evidence.groups != NULL ? 44 : 0;
    size_t others = 2 + RATE_WIDTH + sheet->sign_width + BAR_WIDTH + 3 * FIGURE_WIDTH +
                    (sheet->has_ceiling ? CEILING_WIDTH : 0) + verdict;
    size_t room = (size_t)width > others + 16 ? (size_t)width - others : 16;
    size_t longest = 0;

    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        size_t needed = text_width(record->cells.titles.strings[row]) + 2;

        longest = record->cells.rows[row].lines > 0 && needed > longest ? needed : longest;
    }
    for (uint32_t test = 0; test < record->cells.tests.count; test++) {
        size_t needed = text_width(record_test_title(record, test)) + 5;

        longest = needed > longest ? needed : longest;
    }
    if (longest > 60)
        longest = 60;
    return longest < room || width == 0 ? longest : room;
}

static bool has_reference(const struct record *record)
{
    for (uint32_t row = 0; row < record->cells.titles.count; row++)
        if (record->cells.rows[row].lines > 0 && record_is_reference(record, row))
            return true;
    return false;
}

/* Of the widest " [A,B]", with a blank behind it. */
static size_t sign_width_of(const struct record *record)
{
    size_t width = 0;

    for (uint32_t i = 0; i < record->cells.group_count; i++) {
        struct text signs = {0};

        tables_add_signs(&record->cells, record->cells.groups[i].marks, &signs);
        width = signs.len > width ? signs.len : width;
        text_free(&signs);
    }
    return width + 1;
}

static bool any_above_ceiling(const struct record *record)
{
    for (uint32_t i = 0; i < record->cells.group_count; i++) {
        const struct cells_group *group = &record->cells.groups[i];

        /* As it is printed: in whole percent. */
        if (100 * group->spread[CELLS_RATE].median / record_ceiling(record, group->test) >= 100.5)
            return true;
    }
    return false;
}

static void write_ceiling(const struct sheet *sheet)
{
    double clients = json_get_number(json_object_get(sheet->record->ceiling.root, "pgbench"), "clients");

    if (!record_ceiling_matters(sheet->record))
        return;
    if (!sheet->has_ceiling) {
        text_addf(sheet->text, "what the database alone can do was not measured: restbench ceiling %s\n",
                  sheet->record->csv);
        return;
    }
    text_add(sheet->text, "of db: percent of what the database can do without a server, by pgbench");
    if (!isnan(clients))
        text_addf(sheet->text, " with %.0f clients", clients);
    text_add_char(sheet->text, ':');
    for (uint32_t test = 0, count = 0; test < sheet->record->cells.tests.count; test++) {
        double most = record_ceiling(sheet->record, test);

        if (isnan(most) || !cells_has_test(&sheet->record->cells, test))
            continue;
        text_addf(sheet->text, "%s %s ", count++ > 0 ? "," : "", record_test_title(sheet->record, test));
        text_add_thousands(sheet->text, llrint(most));
        text_add(sheet->text, "/s");
    }
    text_add(sheet->text,
             any_above_ceiling(sheet->record) ? "; above 100 %: pgbench, which ran at another time, did less\n" : "\n");
}

void report_term_write(const struct record *record, const struct report_term_options *options, struct text *text)
{
    struct sheet sheet = {.record = record, .options = options, .text = text, .sign_width = sign_width_of(record)};
    struct text can = {0};
    struct text cannot = {0};

    for (uint32_t test = 0; test < record->cells.tests.count; test++)
        sheet.has_ceiling =
            sheet.has_ceiling || (cells_has_test(&record->cells, test) && !isnan(record_ceiling(record, test)));
    sheet.name_width = name_width_of(&sheet, options->width);
    for (uint32_t test = 0; test < record->cells.tests.count; test++)
        for (uint32_t phase = 0; phase < record->cells.phase_count; phase++)
            if (cells_has_phase(&record->cells, test, phase))
                write_test(&sheet, test, phase);
    if (has_reference(record))
        text_add(text, "* a reference, not a competitor\n");
    text_add(text, "CPU us: of the server for a request, user and kernel; db us: of PostgreSQL\n");
    write_ceiling(&sheet);
    tables_write_marks(record, tables_add_plain, text);
    tables_write_missing(record, tables_add_plain, text);
    conclude_write(record, &can, &cannot);
    text_addf(text, "\n%s%s%s\n", text_string(&can), can.len > 0 ? "\n" : "", text_string(&cannot));
    text_free(&can);
    text_free(&cannot);
}
