/*
 * plan - every cell of a run in the order in which it is measured, and how long that takes.
 *
 * A cell is one row x round x test x phase: one line of the CSV. Cells of one (round, row) follow each other: one life
 * of the server. With an alternating order even rounds go backwards through the rows. Pure arithmetic: nothing runs.
 */
#ifndef STUDY_PLAN_H
#define STUDY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "study/config.h"

struct plan_cell {
    size_t row;   /* index into the run's rows */
    size_t round; /* from 1 */
    size_t test;
    size_t phase;
};

struct plan {
    struct plan_cell *cells; /* free with plan_free() */
    size_t count;
};

/* `chosen[i]` tells whether study->tests[i] takes part. */
void plan_make(const struct study *study, size_t row_count, const bool *chosen, struct plan *plan);
void plan_free(struct plan *plan);

/* True when cell `i` is the first of a server's life, or of a test in that life. */
bool plan_starts_server(const struct plan *plan, size_t i);
bool plan_starts_test(const struct plan *plan, size_t i);

/* Seconds that cell `i` needs: its window, the warm-up of its test, and an allowance for start, reset, checks, stop. */
double plan_cell_seconds(const struct study *study, const struct plan *plan, size_t i);
double plan_seconds(const struct study *study, const struct plan *plan);

#endif
