/*
 * until - are there enough rounds? The 95 % interval of each cell's median rate, with noise pooled over the cells of
 * the run (results/infer.h, INFER_LEVEL), against a bound.
 */
#ifndef STUDY_UNTIL_H
#define STUDY_UNTIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

/* Fewer rounds than this do not show their own noise well enough to stop. */
#define UNTIL_ROUNDS_LEAST 3
/* The most rounds when the command line does not say. */
#define UNTIL_ROUNDS_MOST 20

struct until {
    size_t cells;
    size_t beyond;     /* cells whose half interval is wider than the bound, or not known */
    double widest_pct; /* INFINITY when one is not known */
    struct text names; /* of those beyond: "Go 1.27 · net/http, ping, 50 (2.6 %); ..." */
};

/* Reads the CSV of the run so far. */
int until_look(const char *csv, double bound_pct, struct until *until, struct err *err);
void until_free(struct until *until);

#endif
