/*
 * compare_run - one side of a comparison: a CSV's lines by row, test, phase and round, and what machine.json says.
 *
 * Of the lines only what is compared is kept. `rows` are numbered by title in the order of the file. A figure that is
 * not known is NaN. Two lines of one cell: the later one counts, `duplicates` tells how many.
 *
 *     if (compare_run_open(path, &run, &err) != 0) ...      a file with only a header is no fault here
 *     line = compare_run_find(&run, row, test, phase, round);    NULL: it was not measured
 *     compare_run_close(&run);
 */
#ifndef RESULTS_COMPARE_RUN_H
#define RESULTS_COMPARE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "results/compare_metric.h"
#include "results/intern.h"
#include "results/machine_file.h"
#include "results/names.h"

struct compare_line {
    uint32_t row;
    uint32_t test;
    int64_t phase; /* connections */
    int64_t round;
    uint64_t order; /* in the file */
    double ok;
    double errors;
    double figures[COMPARE_METRICS]; /* CPU: us per 2xx answer; errors: per million requests */
};

struct compare_run {
    char *csv;
    char *name;       /* of the file, without .csv */
    char *real_path;  /* of the CSV; NULL: unknown */
    const char *mode; /* "no-auth", "jwt", NULL: unknown; from machine.json, else from the file's name */
    bool has_machine;
    struct machine_file machine;
    struct names names;
    struct intern titles;
    struct intern tests;
    struct compare_line *lines; /* sorted by row, test, phase, round; one a cell */
    size_t line_count;
    int64_t *rounds; /* distinct, rising */
    size_t round_count;
    size_t duplicates;
    char first_utc[32]; /* of the cells' ends; "" without a line */
    char last_utc[32];
};

int compare_run_open(const char *csv, struct compare_run *run, struct err *err);
void compare_run_close(struct compare_run *run);

const struct compare_line *compare_run_find(const struct compare_run *run, uint32_t row, uint32_t test, int64_t phase,
                                            int64_t round);
/* True when any round of this cell stands in the file. */
bool compare_run_has(const struct compare_run *run, uint32_t row, uint32_t test, int64_t phase);
/* The row of machine.json with this title; NULL without one. */
const struct machine_row *compare_run_machine_row(const struct compare_run *run, uint32_t row);
bool compare_run_is_reference(const struct compare_run *run, uint32_t row);
const char *compare_run_test_title(const struct compare_run *run, uint32_t test);
/* The row whose id or title is `key`; INTERN_NONE when there is none. */
uint32_t compare_run_row(const struct compare_run *run, const char *key);

/* Share of requests that failed; NaN when it is unknown. */
double compare_line_error_share(const struct compare_line *line);
/* True when the cell has no answer at all or no rate: it was tried and it failed. */
bool compare_line_failed(const struct compare_line *line);

#endif
