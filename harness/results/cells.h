/*
 * cells - a CSV grouped as it is read: for each row, test and number of connections the samples of its rounds.
 *
 *     struct cells cells = {0};
 *     cells_seed_row(&cells, title) ...                       optional: the order in which things are shown
 *     if (cells_read(path, &cells, &err) != 0) ...
 *     group = cells_find(&cells, row, test, phase);           NULL: nothing was measured there
 *     cells_free(&cells);
 *
 * Rows, tests and phases are numbered in the order seeded, then of first appearance. Memory is about 60 bytes a line
 * and a little for each group; no strings are kept twice.
 */
#ifndef RESULTS_CELLS_H
#define RESULTS_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "results/csv.h"
#include "results/intern.h"
#include "results/marks.h"
#include "results/stats.h"

/* Figures of one cell that have a median over the rounds. CPU per request: CPU seconds / 2xx answers, in us. */
enum cells_figure {
    CELLS_RATE,
    CELLS_P50,
    CELLS_P99,
    CELLS_USER_US,
    CELLS_KERNEL_US,
    CELLS_POSTGRES_US,
    CELLS_FIGURES
};

struct cells_sample {
    double values[CELLS_FIGURES];
    double round;
};

/* Samples of one group lie together, so that walking them is cheap. */
struct cells_chunk {
    struct cells_chunk *next;
    uint32_t count;
    uint32_t cap;
    struct cells_sample samples[];
};

struct cells_group {
    uint32_t row, test, phase;
    uint32_t samples;
    struct cells_chunk *first, *last;
    uint32_t rounds;                           /* distinct ones; fewer than samples: a cell stands there twice */
    struct stats_spread spread[CELLS_FIGURES]; /* valid after cells_read() */
    double ok;                                 /* sums of what is known */
    double errors;
    double working_set_mb; /* highest; NaN: unknown */
    double private_mb;
    unsigned marks; /* bit per enum mark_id, of any round */
};

struct cells_row {
    double working_set_mb; /* highest of all its cells */
    double private_mb;
    double startup_s; /* highest */
    double errors;
    uint64_t errors_unknown; /* cells whose errors are unknown */
    uint64_t lines;
};

/* A mark of one cell: why, when and how much. */
struct cells_incident {
    enum mark_id mark;
    uint32_t group;
    uint32_t round;
    double value; /* NaN: it has none */
};

#define CELLS_INCIDENTS 4096 /* more are counted, not kept */

struct cells {
    struct intern titles; /* of rows */
    struct intern tests;
    int64_t *phases; /* connections */
    uint32_t phase_count;
    struct cells_row *rows; /* [titles.count] */
    struct cells_group *groups;
    uint32_t group_count;
    uint32_t sample_count;
    uint32_t round_count; /* highest number of distinct rounds of a group */
    uint32_t duplicates;  /* samples that repeat a round of their group */
    char first_utc[21], last_utc[21];
    struct cells_incident *incidents;
    uint32_t incident_count;
    uint32_t mark_counts[MARK_COUNT];
    /* internal */
    uint32_t row_count, row_cap, group_cap, slot_count;
    uint32_t *slots;
};

uint32_t cells_seed_row(struct cells *cells, const char *title);
uint32_t cells_seed_test(struct cells *cells, const char *name);
uint32_t cells_seed_phase(struct cells *cells, int64_t connections);
/* Fails also when the file holds no line: nothing measured is no success. May be called for several files. */
int cells_read(const char *path, struct cells *cells, struct err *err);
void cells_free(struct cells *cells);

struct cells_group *cells_find(const struct cells *cells, uint32_t row, uint32_t test, uint32_t phase);
bool cells_has_round(const struct cells_group *group, int64_t round);
/* True when any row was measured for this test, or for this test at this phase. */
bool cells_has_test(const struct cells *cells, uint32_t test);
bool cells_has_phase(const struct cells *cells, uint32_t test, uint32_t phase);
/* True when anything was measured at this phase. */
bool cells_has_any(const struct cells *cells, uint32_t phase);
/* Records a mark of one cell of the group. The same one twice counts once. */
void cells_mark(struct cells *cells, struct cells_group *group, enum mark_id mark, uint32_t round, double value);
/* True when a mark of the group forbids that its figures are the best of a column. */
bool cells_is_barred(const struct cells_group *group);

#endif
