#include "load/histogram.h"

#include <math.h>
#include <string.h>

void histogram_clear(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    uint32_t last;

    if (from->count == 0)
        return;
    if (into->count == 0 || from->min_ns < into->min_ns)
        into->min_ns = from->min_ns;
    if (into->count == 0 || from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    last = histogram_index(from->max_ns);
    for (uint32_t i = histogram_index(from->min_ns); i <= last; i++)
        into->buckets[i] += from->buckets[i];
}

static int64_t lower_ns(uint32_t bucket)
{
    unsigned octave = bucket >> 7;

    if (octave == 0)
        return (int64_t)bucket << 3;
    return (int64_t)(128 + (bucket & 127)) << (octave - 1 + 3);
}

int64_t histogram_upper_ns(uint32_t bucket)
{
    return lower_ns(bucket + 1) - 1;
}

double histogram_percentile_ns(const struct histogram *histogram, double pct)
{
    uint64_t rank;
    uint64_t seen = 0;

    if (histogram->count == 0)
        return NAN;
    /* The subtrahend keeps 99 % of 100 at 99 where the product is a hair above. */
    rank = (uint64_t)ceil(pct / 100 * (double)histogram->count - 1e-9 * (double)histogram->count);
    if (rank < 1)
        rank = 1;
    if (rank >= histogram->count)
        return (double)histogram->max_ns;
    for (uint32_t i = histogram_index(histogram->min_ns); i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank) {
            double upper = (double)histogram_upper_ns(i);

            if (upper < (double)histogram->min_ns)
                upper = (double)histogram->min_ns;
            return upper > (double)histogram->max_ns ? (double)histogram->max_ns : upper;
        }
    }
    return (double)histogram->max_ns;
}

double histogram_mean_ns(const struct histogram *histogram)
{
    return histogram->count > 0 ? (double)histogram->sum_ns / (double)histogram->count : NAN;
}

double histogram_stddev_ns(const struct histogram *histogram)
{
    double mean = histogram_mean_ns(histogram);
    double sum = 0;

    if (histogram->count == 0)
        return NAN;
    if (histogram->min_ns == histogram->max_ns)
        return 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double middle = ((double)lower_ns(i) + (double)histogram_upper_ns(i)) / 2;

        if (histogram->buckets[i] > 0)
            sum += (double)histogram->buckets[i] * (middle - mean) * (middle - mean);
    }
    return sqrt(sum / (double)histogram->count);
}
