/*
 * stats - medians and ranks. NaN means unknown and takes part in nothing.
 */
#ifndef RESULTS_STATS_H
#define RESULTS_STATS_H

#include <stddef.h>

/* What the rounds of one figure say. All NaN when `count` is 0. */
struct stats_spread {
    size_t count;  /* rounds that know the figure */
    double median; /* of an even number: the mean of the middle two */
    double min;
    double max;
};

/* Reorders `values` in linear time. NaN when there is none; the values themselves must not be NaN. */
double stats_median(double *values, size_t count);
/* Copies what is known of `values` into `scratch` (of `count`) and looks at it. */
struct stats_spread stats_spread(const double *values, size_t count, double *scratch);
/* (max - min) / median in percent; NaN when there is no median or it is 0. */
double stats_width_pct(const struct stats_spread *spread);
/* How many different values there are; sorts them. */
size_t stats_distinct(double *values, size_t count);
/* Ranks from 1 in rising order, ties share the mean of their places. */
void stats_ranks(const double *values, size_t count, double *ranks);
/* Spearman's rank correlation of pairs that are all known; NaN below three pairs or when one side does not vary. */
double stats_spearman(const double *a, const double *b, size_t count);

#endif
