#include "results/infer_robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sf_psi.h>

#include "base/text.h"

/* Degrees of freedom beyond this are the normal distribution for every purpose here. */
#define DF_MOST 1e4

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double sorted_median(const double *sorted, size_t count)
{
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

double infer_median(const double *values, size_t count)
{
    double *sorted = text_realloc(NULL, count, sizeof *sorted);
    double median;

    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    median = sorted_median(sorted, count);
    free(sorted);
    return median;
}

double infer_spread(const double *values, size_t count)
{
    double centre = infer_median(values, count);
    double *distances = text_realloc(NULL, count, sizeof *distances);
    double spread;

    for (size_t i = 0; i < count; i++)
        distances[i] = fabs(values[i] - centre);
    spread = 1.4826 * infer_median(distances, count);
    free(distances);
    return spread;
}

double infer_location(const double *values, size_t count, double scale)
{
    double centre = infer_median(values, count);
    double reach = INFER_HUBER_K * scale;

    for (int i = 0; i < 100; i++) {
        double step = 0;

        for (size_t k = 0; k < count; k++)
            step += fmax(-reach, fmin(reach, values[k] - centre));
        step /= (double)count;
        centre += step;
        if (fabs(step) < 1e-7 * scale)
            break;
    }
    return centre;
}

void infer_pairs_add(struct infer_pairs *pairs, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            if (pairs->count == pairs->room) {
                pairs->room = pairs->room ? 2 * pairs->room : 64;
                pairs->values = text_realloc(pairs->values, pairs->room, sizeof *pairs->values);
            }
            pairs->values[pairs->count++] = fabs(values[i] - values[k]);
        }
    }
}

double infer_pairs_scale(struct infer_pairs *pairs)
{
    /* The median of |x - y| of normal x, y is 0.6745 sqrt(2) standard deviations, its mean 2 / sqrt(pi). */
    static const double median_of_pair = 0.953873;
    static const double mean_of_pair = 1.128379;
    double mean = 0;

    if (pairs->count == 0)
        return 0;
    qsort(pairs->values, pairs->count, sizeof *pairs->values, compare_doubles);
    for (size_t i = 0; i < pairs->count; i++)
        mean += pairs->values[i] / (double)pairs->count;
    /* Figures with few digits have many equal pairs: their median alone would say that there is no noise. */
    return fmax(sorted_median(pairs->values, pairs->count) / median_of_pair, 0.3 * mean / mean_of_pair);
}

void infer_pairs_free(struct infer_pairs *pairs)
{
    free(pairs->values);
    *pairs = (struct infer_pairs){0};
}

/* x with trigamma(x) = y, by Newton's method on 1 / trigamma, which is nearly linear (as limma does). */
static double trigamma_inverse(double y)
{
    double x;

    if (y > 1e7)
        return 1 / sqrt(y);
    if (y < 1e-6)
        return 1 / y;
    x = 0.5 + 1 / y;
    for (int i = 0; i < 50; i++) {
        double tri = gsl_sf_psi_1(x);
        double step = tri * (1 - tri / y) / gsl_sf_psi_n(2, x);

        x += step;
        if (-step / x < 1e-8)
            break;
    }
    return x;
}

/* Mean of the logs of variances, free of the bias that few degrees of freedom give to a log. */
static double unbiased_log(const struct infer_variance *group, double floor)
{
    return log(fmax(group->value, floor)) - gsl_sf_psi(group->df / 2) + log(group->df / 2);
}

void infer_moderate(struct infer_variance *groups, size_t count, double floor)
{
    double pooled = 0, df = 0, mean = 0, spread = 0, expected = 0, prior_df = DF_MOST, prior;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (groups[i].df <= 0)
            continue;
        used++;
        df += groups[i].df;
        pooled += groups[i].df * groups[i].value;
        mean += unbiased_log(&groups[i], floor);
        expected += gsl_sf_psi_1(groups[i].df / 2);
    }
    if (used == 0)
        return;
    pooled /= df;
    mean /= (double)used;
    for (size_t i = 0; i < count; i++)
        if (groups[i].df > 0)
            spread += pow(unbiased_log(&groups[i], floor) - mean, 2);
    prior = pooled;
    if (used > 1) {
        double excess = spread / (double)(used - 1) - expected / (double)used;

        /* A standard error of this very estimate is added: a few groups can look more alike than they are. */
        excess += sqrt(2.0 / (double)(used - 1)) * expected / (double)used;
        if (excess > 0) {
            prior_df = fmin(DF_MOST, 2 * trigamma_inverse(excess));
            if (prior_df < DF_MOST)
                prior = exp(mean + gsl_sf_psi(prior_df / 2) - log(prior_df / 2));
        }
    }
    for (size_t i = 0; i < count; i++) {
        struct infer_variance *group = &groups[i];
        double own = fmax(group->df, 0);

        if (own > 0)
            group->value = fmax(floor, (prior_df * prior + own * group->value) / (prior_df + own));
        else
            group->value = fmax(floor, pooled);
        group->df = fmin(prior_df + own, df); /* the prior itself rests on no more than all groups together */
    }
}
