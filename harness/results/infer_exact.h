/*
 * infer_exact - exact permutation tests on ranks: what can be said about two samples without any model of their noise.
 *
 * Ties get their mean rank, and the distribution is that of these very ranks (counted, not approximated), so the
 * p-values are exact whatever the figures are. With few rounds even a perfect separation has a p-value that is not
 * small: `*least` tells how small it can get.
 */
#ifndef RESULTS_INFER_EXACT_H
#define RESULTS_INFER_EXACT_H

#include <stddef.h>

/* Two-sided p-value of the rank sum of `a` among `a` and `b` (Wilcoxon, Mann-Whitney). 1 when one is empty. */
double infer_exact_two(const double *a, size_t a_count, const double *b, size_t b_count, double *least);
/* Two-sided p-value of the signed ranks of paired differences (Wilcoxon); differences of zero count half each way. */
double infer_exact_paired(const double *differences, size_t count, double *least);

#endif
