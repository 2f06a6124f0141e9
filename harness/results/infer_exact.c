#include "results/infer_exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct ranked {
    double value;
    size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->value;
    double y = ((const struct ranked *)b)->value;

    return (x > y) - (x < y);
}

/* Twice the mean rank of each value: whole numbers also where values are tied. Returned in the order of the values. */
static size_t *double_ranks(const double *values, size_t count)
{
    struct ranked *sorted = text_alloc((count + 1) * sizeof *sorted);
    size_t *ranks = text_alloc((count + 1) * sizeof *ranks);

    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct ranked){.value = values[i], .index = i};
    qsort(sorted, count, sizeof *sorted, compare_ranked);
    for (size_t i = 0; i < count;) {
        size_t end = i;

        while (end < count && sorted[end].value <= sorted[i].value)
            end++;
        for (size_t k = i; k < end; k++)
            ranks[sorted[k].index] = i + 1 + end;
        i = end;
    }
    free(sorted);
    return ranks;
}

/* Probability that a sum with these weights lies at least as far from `centre` as `seen` does. */
static double two_sided(const double *ways, size_t most, double centre, double seen, double *least)
{
    double all = 0, far = 0, edge = -1, edge_ways = 0;

    for (size_t sum = 0; sum <= most; sum++) {
        double distance = fabs((double)sum - centre);

        if (ways[sum] <= 0)
            continue;
        all += ways[sum];
        if (distance >= fabs(seen - centre) - 1e-9)
            far += ways[sum];
        if (distance > edge + 1e-9) {
            edge = distance;
            edge_ways = 0;
        }
        if (distance >= edge - 1e-9)
            edge_ways += ways[sum];
    }
    *least = edge_ways / all;
    return far / all;
}

double infer_exact_two(const double *a, size_t a_count, const double *b, size_t b_count, double *least)
{
    size_t count = a_count + b_count;
    double *all, *ways, p;
    size_t *ranks;
    size_t most = 0, seen = 0;

    *least = 1;
    if (a_count == 0 || b_count == 0)
        return 1;
    all = text_alloc(count * sizeof *all);
    memcpy(all, a, a_count * sizeof *all);
    memcpy(all + a_count, b, b_count * sizeof *all);
    ranks = double_ranks(all, count);
    for (size_t i = 0; i < count; i++) {
        most += ranks[i];
        seen += i < a_count ? ranks[i] : 0;
    }
    /* ways[k][sum]: in how many ways k of the ranks add up to sum. */
    ways = text_alloc((a_count + 1) * (most + 1) * sizeof *ways);
    ways[0] = 1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = a_count < i + 1 ? a_count : i + 1; k > 0; k--)
            for (size_t sum = most + 1; sum-- > ranks[i];)
                ways[k * (most + 1) + sum] += ways[(k - 1) * (most + 1) + sum - ranks[i]];
    p = two_sided(ways + a_count * (most + 1), most, (double)most * (double)a_count / (double)count, (double)seen,
                  least);
    free(ways);
    free(ranks);
    free(all);
    return p;
}

double infer_exact_paired(const double *differences, size_t count, double *least)
{
    double *sizes = text_alloc((count + 1) * sizeof *sizes);
    double *ways, p, seen = 0;
    size_t *ranks;
    size_t most = 0;

    *least = 1;
    for (size_t i = 0; i < count; i++)
        sizes[i] = fabs(differences[i]);
    ranks = double_ranks(sizes, count);
    for (size_t i = 0; i < count; i++) {
        most += ranks[i];
        if (differences[i] > 0)
            seen += (double)ranks[i];
        else if (differences[i] >= 0)
            seen += (double)ranks[i] / 2;
    }
    ways = text_alloc((most + 1) * sizeof *ways);
    ways[0] = 1;
    for (size_t i = 0; i < count; i++)
        for (size_t sum = most + 1; sum-- > ranks[i];)
            ways[sum] += ways[sum - ranks[i]];
    p = count == 0 ? 1 : two_sided(ways, most, (double)most / 2, seen, least);
    free(ways);
    free(ranks);
    free(sizes);
    return p;
}
