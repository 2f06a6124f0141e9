/*
 * marks - what can be wrong with a cell: one name, one threshold, one sentence each.
 *
 * This table is the only place where thresholds stand. The conductor asks it when it judges a cell, the reports when
 * they print what it found. A mark never hides a figure; some forbid that the figure counts as the best of its column.
 */
#ifndef RESULTS_MARKS_H
#define RESULTS_MARKS_H

#include <stdbool.h>
#include <stddef.h>

enum mark_id {
    MARK_GENERATOR_BOUND,
    MARK_STEAL,
    MARK_DRIFT,
    MARK_ERRORS,
    MARK_STARVED,
    MARK_SLOPE,
    MARK_UNCONFIRMED,
    MARK_ACCOUNTING,
    MARK_AFFINITY,
    MARK_LISTENER,
    MARK_MISMATCH,
    MARK_SETTINGS,
    MARK_ROUNDS,
    MARK_SUSPENDED,
    MARK_CLOCK,
    MARK_DEAD_ROWS,
    MARK_OTHERS,
    MARK_POOL,
    MARK_COUNT
};

struct mark_kind {
    const char *name;
    double threshold; /* NaN: there is none, it is so or not */
    const char *unit; /* behind the threshold and the value; "" for plain numbers */
    const char *sentence;
    bool forbids_bold;
};

extern const struct mark_kind mark_kinds[MARK_COUNT];

/* MARK_COUNT when there is no such mark. */
enum mark_id mark_find(const char *name);
/* True when a value that is known lies beyond the mark's threshold (below it for `starved`, above it for the others;
 * for `generator-bound` also at it). An unknown value marks nothing. */
bool mark_exceeded(enum mark_id id, double value);

#endif
