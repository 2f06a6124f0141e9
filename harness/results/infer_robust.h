/*
 * infer_robust - the parts of the method that know nothing of comparisons: Huber's location, the scale of small
 * samples, and variances that borrow strength from each other.
 */
#ifndef RESULTS_INFER_ROBUST_H
#define RESULTS_INFER_ROBUST_H

#include <stddef.h>

#define INFER_HUBER_K 1.5

/* Huber's location of `count` > 0 values for a known scale (> 0). */
double infer_location(const double *values, size_t count, double scale);
/* The middle value, or the mean of the middle two; count > 0. */
double infer_median(const double *values, size_t count);
/* The median distance from the median, as the standard deviation that normal noise would have; 0 for one value. */
double infer_spread(const double *values, size_t count);

/* Absolute differences of all pairs within samples: their scale needs no centre, hence no correction for small samples.
 */
struct infer_pairs {
    double *values;
    size_t count;
    size_t room;
};
void infer_pairs_add(struct infer_pairs *pairs, const double *values, size_t count);
/* Standard deviation that normal noise with this median difference has; 0 when there is no pair or all are equal. */
double infer_pairs_scale(struct infer_pairs *pairs);
void infer_pairs_free(struct infer_pairs *pairs);

/* A variance and the degrees of freedom behind it. */
struct infer_variance {
    double value;
    double df;
};
/*
 * Draws variances of several groups towards each other as far as they agree (empirical Bayes after Smyth 2004); groups
 * that agree end up pooled. A group with df 0 gets the common value. `floor` > 0 is the least value.
 */
void infer_moderate(struct infer_variance *groups, size_t count, double floor);

#endif
