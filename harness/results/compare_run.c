#include "results/compare_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "results/csv.h"
#include "results/record.h"

static int compare_lines(const void *a, const void *b)
{
    const struct compare_line *x = a;
    const struct compare_line *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->test != y->test)
        return x->test < y->test ? -1 : 1;
    if (x->phase != y->phase)
        return x->phase < y->phase ? -1 : 1;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int compare_rounds(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Microseconds a request; unknown where nothing was answered, and where the CPU time is not possible. */
static double per_request_us(double seconds, double answers)
{
    return answers > 0 && seconds >= 0 ? 1e6 * seconds / answers : (double)NAN;
}

static void keep_line(struct compare_run *run, const struct csv_line *line, size_t *room)
{
    struct compare_line *kept;

    if (run->first_utc[0] == '\0' || strcmp(line->utc, run->first_utc) < 0)
        (void)snprintf(run->first_utc, sizeof run->first_utc, "%s", line->utc);
    if (strcmp(line->utc, run->last_utc) > 0)
        (void)snprintf(run->last_utc, sizeof run->last_utc, "%s", line->utc);
    if (run->line_count == *room) {
        *room = *room > 0 ? 2 * *room : 256;
        run->lines = text_realloc(run->lines, *room, sizeof *run->lines);
    }
    kept = &run->lines[run->line_count];
    *kept = (struct compare_line){
        .row = intern_add(&run->titles, line->server),
        .test = intern_add(&run->tests, line->test),
        .phase = line->connections,
        .round = line->round,
        .order = run->line_count++,
        .ok = line->responses_2xx,
        .errors = line->errors,
    };
    kept->figures[COMPARE_RATE] = line->requests_per_s;
    kept->figures[COMPARE_P50] = line->latency_p50_ms;
    kept->figures[COMPARE_P99] = line->latency_p99_ms;
    kept->figures[COMPARE_CPU] = per_request_us(line->cpu_server_s, line->responses_2xx);
    kept->figures[COMPARE_CPU_USER] = per_request_us(line->cpu_server_user_s, line->responses_2xx);
    kept->figures[COMPARE_CPU_KERNEL] = per_request_us(line->cpu_server_kernel_s, line->responses_2xx);
    kept->figures[COMPARE_CPU_POSTGRES] = per_request_us(line->cpu_postgres_s, line->responses_2xx);
    kept->figures[COMPARE_WORKING_SET] = line->working_set_mb;
    kept->figures[COMPARE_PRIVATE] = line->private_mb;
    kept->figures[COMPARE_STARTUP] = line->startup_s;
    kept->figures[COMPARE_ERRORS] = 1e6 * compare_line_error_share(kept);
}

static void sort_lines(struct compare_run *run)
{
    size_t kept = 0;

    if (run->line_count == 0)
        return;
    qsort(run->lines, run->line_count, sizeof *run->lines, compare_lines);
    for (size_t i = 0; i < run->line_count; i++) {
        const struct compare_line *next = i + 1 < run->line_count ? &run->lines[i + 1] : NULL;

        if (next != NULL && next->row == run->lines[i].row && next->test == run->lines[i].test &&
            next->phase == run->lines[i].phase && next->round == run->lines[i].round)
            run->duplicates++;
        else
            run->lines[kept++] = run->lines[i];
    }
    run->line_count = kept;
    run->rounds = text_alloc(kept * sizeof *run->rounds);
    for (size_t i = 0; i < kept; i++)
        run->rounds[i] = run->lines[i].round;
    qsort(run->rounds, kept, sizeof *run->rounds, compare_rounds);
    for (size_t i = 0; i < kept; i++)
        if (run->round_count == 0 || run->rounds[run->round_count - 1] != run->rounds[i])
            run->rounds[run->round_count++] = run->rounds[i];
}

static int read_lines(struct compare_run *run, struct err *err)
{
    struct csv_reader reader;
    struct csv_line line;
    size_t room = 0;
    int got;

    if (csv_open(run->csv, &reader, err) != 0)
        return -1;
    while ((got = csv_next(&reader, &line, err)) == 1)
        keep_line(run, &line, &room);
    csv_close(&reader);
    sort_lines(run);
    return got;
}

static const char *mode_of(const struct compare_run *run)
{
    if (run->machine.mode != NULL)
        return run->machine.mode;
    /* DATE_MODE.csv or DATE_MODE_NAME.csv */
    if (strlen(run->name) > 11 && run->name[10] == '_') {
        if (strncmp(run->name + 11, "no-auth", 7) == 0)
            return "no-auth";
        if (strncmp(run->name + 11, "jwt", 3) == 0)
            return "jwt";
    }
    return NULL;
}

int compare_run_open(const char *csv, struct compare_run *run, struct err *err)
{
    char *machine = record_beside(csv, "_machine.json");
    const char *base = fsx_basename(csv);
    size_t len = strlen(base);
    int result = 0;

    *run = (struct compare_run){.csv = text_dup(csv), .real_path = realpath(csv, NULL)};
    run->name = text_dup_n(base, len > 4 && strcmp(base + len - 4, ".csv") == 0 ? len - 4 : len);
    run->has_machine = fsx_exists(machine);
    if (run->has_machine)
        result = machine_file_load(machine, &run->machine, err);
    if (result == 0 && run->machine.test_count > 0)
        names_from_machine(&run->machine, &run->names);
    else if (result == 0)
        names_from_installed(&run->names);
    if (result == 0)
        result = read_lines(run, err);
    run->mode = mode_of(run);
    free(machine);
    if (result != 0)
        compare_run_close(run);
    return result;
}

void compare_run_close(struct compare_run *run)
{
    machine_file_free(&run->machine);
    names_free(&run->names);
    intern_free(&run->titles);
    intern_free(&run->tests);
    free(run->lines);
    free(run->rounds);
    free(run->csv);
    free(run->name);
    free(run->real_path);
    *run = (struct compare_run){0};
}

const struct compare_line *compare_run_find(const struct compare_run *run, uint32_t row, uint32_t test, int64_t phase,
                                            int64_t round)
{
    size_t low = 0, high = run->line_count;
    struct compare_line key = {.row = row, .test = test, .phase = phase, .round = round, .order = 0};

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_lines(&run->lines[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < run->line_count && run->lines[low].row == row && run->lines[low].test == test &&
        run->lines[low].phase == phase && run->lines[low].round == round)
        return &run->lines[low];
    return NULL;
}

bool compare_run_has(const struct compare_run *run, uint32_t row, uint32_t test, int64_t phase)
{
    for (size_t r = 0; r < run->round_count; r++)
        if (compare_run_find(run, row, test, phase, run->rounds[r]) != NULL)
            return true;
    return false;
}

const struct machine_row *compare_run_machine_row(const struct compare_run *run, uint32_t row)
{
    for (size_t i = 0; i < run->machine.row_count; i++)
        if (strcmp(run->machine.rows[i].title, run->titles.strings[row]) == 0)
            return &run->machine.rows[i];
    return NULL;
}

bool compare_run_is_reference(const struct compare_run *run, uint32_t row)
{
    return names_is_reference(&run->names, run->titles.strings[row]);
}

const char *compare_run_test_title(const struct compare_run *run, uint32_t test)
{
    const struct names_test *known = names_find_test(&run->names, run->tests.strings[test]);

    return known != NULL ? known->title : run->tests.strings[test];
}

uint32_t compare_run_row(const struct compare_run *run, const char *key)
{
    for (uint32_t row = 0; row < run->titles.count; row++) {
        const struct machine_row *known = compare_run_machine_row(run, row);

        if (known != NULL && strcmp(known->id, key) == 0)
            return row;
    }
    return intern_find(&run->titles, key);
}

double compare_line_error_share(const struct compare_line *line)
{
    double all = line->ok + line->errors;

    return all > 0 ? line->errors / all : (double)NAN;
}

bool compare_line_failed(const struct compare_line *line)
{
    return !(line->ok > 0) || !(line->figures[COMPARE_RATE] > 0);
}
