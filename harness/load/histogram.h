/*
 * histogram - how often each latency was seen: log-linear, in nanoseconds, of a fixed size.
 *
 * 128 buckets an octave from 1 us to 68 s: the upper bound of a bucket is at most 0.8 % above any value in it. Below
 * 1 us a bucket is 8 ns wide; longer values go to the last bucket. Least, greatest and sum are exact.
 * Recording touches one bucket and the three; one thread writes a histogram at a time.
 */
#ifndef LOAD_HISTOGRAM_H
#define LOAD_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS (128 * 27)

struct histogram {
    uint64_t count;
    uint64_t sum_ns;
    int64_t min_ns; /* undefined when count is 0 */
    int64_t max_ns;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline uint32_t histogram_index(int64_t ns)
{
    uint64_t units = ns > 0 ? (uint64_t)ns >> 3 : 0;
    unsigned top;

    if (units < 128)
        return (uint32_t)units;
    top = 63 - (unsigned)__builtin_clzll(units);
    if (top > 32)
        return HISTOGRAM_BUCKETS - 1;
    return (uint32_t)(((top - 6) << 7) + ((units >> (top - 7)) & 127));
}

static inline void histogram_record(struct histogram *histogram, int64_t ns)
{
    if (histogram->count == 0 || ns < histogram->min_ns)
        histogram->min_ns = ns;
    if (histogram->count == 0 || ns > histogram->max_ns)
        histogram->max_ns = ns;
    histogram->count++;
    histogram->sum_ns += (uint64_t)ns;
    histogram->buckets[histogram_index(ns)]++;
}

void histogram_clear(struct histogram *histogram);
/* Adds what `from` counted to `into`. */
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The greatest value that belongs to a bucket. */
int64_t histogram_upper_ns(uint32_t bucket);
/*
 * The nearest-rank percentile (0 < pct <= 100): the upper bound of the bucket that holds the ceil(pct/100 x count)-th
 * smallest value, never outside [min, max]. NaN without a sample.
 */
double histogram_percentile_ns(const struct histogram *histogram, double pct);
/* NaN without a sample. The mean is exact; the deviation is that of the buckets' middles. */
double histogram_mean_ns(const struct histogram *histogram);
double histogram_stddev_ns(const struct histogram *histogram);

#endif
