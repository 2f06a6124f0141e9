#include "results/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "results/stats.h"

/* CPU columns come from clocks read one after the other, and older ones count ticks of 10 ms. */
#define SUM_SLACK_S 0.03
/* A window's real length may differ a little from cell to cell; a figure that was edited differs more. */

static uint64_t *slot_of(const struct verify *verify, uint32_t server, int64_t round, uint32_t test,
                         int64_t connections)
{
    uint64_t h = ((uint64_t)server << 40) ^ ((uint64_t)test << 24) ^ ((uint64_t)round << 12) ^ (uint64_t)connections;
    uint64_t i = (h * 0x9e3779b97f4a7c15ULL >> 20) & (verify->slot_count - 1);

    for (; verify->slots[i] != 0; i = (i + 1) & (verify->slot_count - 1)) {
        const struct verify_cell *cell = &verify->lines[verify->slots[i] - 1];

        if (cell->server == server && cell->test == test && cell->line.round == round &&
            cell->line.connections == connections)
            break;
    }
    return &verify->slots[i];
}

struct verify_cell *verify_find(const struct verify *verify, const char *server, int64_t round, const char *test,
                                int64_t connections)
{
    uint32_t s = intern_find(&verify->servers, server);
    uint32_t t = intern_find(&verify->tests, test);
    uint64_t found = 0;

    if (s != INTERN_NONE && t != INTERN_NONE && verify->slot_count > 0)
        found = *slot_of(verify, s, round, t, connections);
    return found > 0 ? &verify->lines[found - 1] : NULL;
}

static void grow(struct verify *verify)
{
    free(verify->slots);
    verify->slot_count = verify->slot_count > 0 ? verify->slot_count * 2 : 1024;
    verify->slots = text_alloc(verify->slot_count * sizeof *verify->slots);
    for (uint64_t i = 0; i < verify->line_count; i++) {
        const struct verify_cell *cell = &verify->lines[i];
        uint64_t *slot = slot_of(verify, cell->server, cell->line.round, cell->test, cell->line.connections);

        if (*slot == 0) /* a repeated cell stays with its first line */
            *slot = i + 1;
    }
}

static void keep(struct verify *verify, const struct csv_reader *reader, const struct csv_line *line)
{
    struct verify_cell cell = {.line = *line, .number = reader->fields.line};
    uint64_t *slot;

    if (verify->line_count * 2 >= verify->slot_count)
        grow(verify);
    if (verify->line_count == verify->line_cap) {
        verify->line_cap = verify->line_cap > 0 ? verify->line_cap * 2 : 256;
        verify->lines = text_realloc(verify->lines, verify->line_cap, sizeof *verify->lines);
    }
    cell.server = intern_add(&verify->servers, line->server);
    cell.test = intern_add(&verify->tests, line->test);
    (void)memcpy(cell.utc, line->utc, sizeof cell.utc);
    cell.line.utc = cell.line.server = cell.line.test = NULL;
    slot = slot_of(verify, cell.server, line->round, cell.test, line->connections);
    if (*slot > 0)
        verify_fault(verify, reader->fields.file, cell.number, "the cell of line %llu again: %s, round %lld, %s, %lld",
                     (unsigned long long)verify->lines[*slot - 1].number, line->server, (long long)line->round,
                     line->test, (long long)line->connections);
    else
        *slot = verify->line_count + 1;
    verify->lines[verify->line_count++] = cell;
}

static void check_line(struct verify *verify, const struct csv_reader *reader, const struct csv_line *line)
{
    const char *file = reader->fields.file;
    uint64_t number = reader->fields.line;
    double parts = line->cpu_server_user_s + line->cpu_server_kernel_s;
    /* A median is at most twice the mean, and the mean of a closed loop is connections / rate. */
    double twice_mean_ms = 2000.0 * (double)line->connections / line->requests_per_s;

    for (size_t i = 0; i < CSV_COLUMNS; i++)
        if (csv_columns[i].may_be_negative && csv_number(line, i) < 0)
            verify_fault(verify, file, number, "%s is negative: %g", csv_columns[i].name, csv_number(line, i));
    if (line->latency_p50_ms > line->latency_p99_ms)
        verify_fault(verify, file, number, "latency_p50_ms is above latency_p99_ms: %g > %g", line->latency_p50_ms,
                     line->latency_p99_ms);
    if (fabs(parts - line->cpu_server_s) > SUM_SLACK_S + 0.01 * line->cpu_server_s)
        verify_fault(verify, file, number, "user + kernel is not cpu_server_s: %g + %g, %g", line->cpu_server_user_s,
                     line->cpu_server_kernel_s, line->cpu_server_s);
    if (line->requests_per_s > 0 && line->responses_2xx == 0)
        verify_fault(verify, file, number, "a rate of %g without an answer", line->requests_per_s);
    if (line->responses_2xx > 0 && line->requests_per_s == 0)
        verify_fault(verify, file, number, "%.0f answers at a rate of 0", line->responses_2xx);
    if (line->errors == 0 && line->responses_2xx > 1000 && line->latency_p50_ms > 1.1 * twice_mean_ms)
        verify_fault(verify, file, number,
                     "latency_p50_ms is more than %lld connections at this rate allow: %g, at most %.3f",
                     (long long)line->connections, line->latency_p50_ms, twice_mean_ms);
}

/* The window that a line claims: answers / rate. NaN when it cannot tell. */
static double window_of(const struct csv_line *line)
{
    return line->responses_2xx >= 100 && line->requests_per_s > 0 ? line->responses_2xx / line->requests_per_s : NAN;
}

/* All cells of one number of connections had the same window: a rate or a count that was edited stands out. Where the
 * details tell each cell's own, one may differ more: other tools end when they like. */
static void check_windows(struct verify *verify, const char *file)
{
    double *windows = text_realloc(NULL, verify->line_count, sizeof *windows);
    int64_t done[64];
    size_t phases = 0;

    for (uint64_t i = 0; i < verify->line_count && phases < 64; i++) {
        int64_t connections = verify->lines[i].line.connections;
        size_t known = 0;
        uint64_t n = 0;
        double median;
        double slack_s;

        while (known < phases && done[known] != connections)
            known++;
        if (known < phases)
            continue;
        done[phases++] = connections;
        for (uint64_t k = i; k < verify->line_count; k++)
            if (verify->lines[k].line.connections == connections && !isnan(window_of(&verify->lines[k].line)))
                windows[n++] = window_of(&verify->lines[k].line);
        median = stats_median(windows, n);
        slack_s = VERIFY_WINDOW_SLACK * median + (verify->details ? VERIFY_LATE_S : 0);
        for (uint64_t k = i; k < verify->line_count && n >= 4; k++) {
            const struct verify_cell *cell = &verify->lines[k];
            double window = window_of(&cell->line);

            if (cell->line.connections == connections && fabs(window - median) > slack_s)
                verify_fault(verify, file, cell->number,
                             "responses_2xx / requests_per_s is %.2f s, in the other cells %.2f s", window, median);
        }
    }
    free(windows);
}

/* "2026-11-30_no-auth.csv" begins on that day; the run may go on over midnight. */
static void check_date(struct verify *verify, const char *file)
{
    const char *name = fsx_basename(file);

    if (verify->line_count == 0 || strlen(name) < 11 || strspn(name, "0123456789-") != 10 || name[10] != '_')
        return;
    if (strncmp(verify->lines[0].utc, name, 10) < 0)
        verify_fault(verify, file, verify->lines[0].number, "utc is before the day in the file's name: %s",
                     verify->lines[0].utc);
}

int verify_csv(const char *csv, struct verify *verify, struct err *err)
{
    struct csv_reader reader;
    struct csv_line line;
    struct err fault = {0};
    char before[21] = "";
    int got;

    if (access(csv, R_OK) != 0)
        return err_sys(err, "%s: cannot read", csv);
    if (fsx_is_dir(csv))
        return err_set(err, "%s: is a folder; give a file", csv);
    if (csv_open(csv, &reader, &fault) != 0) {
        verify_fault(verify, NULL, 0, "%s", fault.text);
        return 0;
    }
    while ((got = csv_next(&reader, &line, &fault)) != 0) {
        if (got < 0) {
            verify_fault(verify, NULL, 0, "%s", fault.text);
            err_clear(&fault);
            continue;
        }
        if (strcmp(line.utc, before) < 0)
            verify_fault(verify, csv, reader.fields.line, "utc goes back: %s after %s", line.utc, before);
        (void)memcpy(before, line.utc, sizeof before);
        check_line(verify, &reader, &line);
        keep(verify, &reader, &line);
    }
    csv_close(&reader);
    verify->cells = verify->line_count;
    if (verify->faults == 0 && verify->line_count == 0)
        verify_fault(verify, csv, 1, "only a header: nothing was measured");
    check_windows(verify, csv);
    check_date(verify, csv);
    return 0;
}
