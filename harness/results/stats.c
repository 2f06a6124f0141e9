#include "results/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/text.h"

static void swap(double *a, double *b)
{
    double c = *a;

    *a = *b;
    *b = c;
}

/* Hoare's selection: afterwards nothing before `k` is larger and nothing behind it is smaller than values[k]. */
static double select_kth(double *values, size_t count, size_t k)
{
    size_t low = 0;
    size_t high = count - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t i = low;
        size_t j = high;
        double pivot;

        if (values[middle] < values[low])
            swap(&values[middle], &values[low]);
        if (values[high] < values[low])
            swap(&values[high], &values[low]);
        if (values[high] < values[middle])
            swap(&values[high], &values[middle]);
        pivot = values[middle];
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i >= j)
                break;
            swap(&values[i++], &values[j--]);
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

double stats_median(double *values, size_t count)
{
    double upper, lower;

    if (count == 0)
        return NAN;
    upper = select_kth(values, count, count / 2);
    if (count % 2 == 1)
        return upper;
    lower = values[0];
    for (size_t i = 1; i < count / 2; i++)
        if (values[i] > lower)
            lower = values[i];
    return lower + (upper - lower) / 2;
}

struct stats_spread stats_spread(const double *values, size_t count, double *scratch)
{
    struct stats_spread spread = {0, NAN, NAN, NAN};

    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]))
            continue;
        scratch[spread.count++] = values[i];
        if (!(values[i] >= spread.min))
            spread.min = values[i];
        if (!(values[i] <= spread.max))
            spread.max = values[i];
    }
    spread.median = stats_median(scratch, spread.count);
    return spread;
}

double stats_width_pct(const struct stats_spread *spread)
{
    return spread->count > 0 && spread->median != 0 ? 100 * (spread->max - spread->min) / spread->median : NAN;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

size_t stats_distinct(double *values, size_t count)
{
    bool sorted = true;
    size_t distinct = count > 0;

    for (size_t i = 1; sorted && i < count; i++)
        sorted = values[i - 1] <= values[i];
    if (!sorted)
        qsort(values, count, sizeof *values, compare_doubles);
    for (size_t i = 1; i < count; i++)
        distinct += values[i] != values[i - 1];
    return distinct;
}

struct place {
    double value;
    size_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

void stats_ranks(const double *values, size_t count, double *ranks)
{
    struct place *places = text_realloc(NULL, count, sizeof *places);

    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){values[i], i};
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && places[end].value == places[i].value; end++)
            ;
        for (size_t k = i; k < end; k++)
            ranks[places[k].index] = ((double)i + (double)end + 1) / 2;
    }
    free(places);
}

double stats_spearman(const double *a, const double *b, size_t count)
{
    double *ranks, mean, ab = 0, aa = 0, bb = 0;

    if (count < 3)
        return NAN;
    ranks = text_realloc(NULL, 2 * count, sizeof *ranks);
    mean = ((double)count + 1) / 2;
    stats_ranks(a, count, ranks);
    stats_ranks(b, count, ranks + count);
    for (size_t i = 0; i < count; i++) {
        double x = ranks[i] - mean;
        double y = ranks[count + i] - mean;

        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    free(ranks);
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}
