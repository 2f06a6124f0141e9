#include "tools/wrk_unfill.h"

#include <math.h>

int wrk_unfill(uint64_t *counts, size_t size, uint64_t interval_us)
{
    if (interval_us == 0)
        return -1;
    for (size_t n = size; n-- > 2 * interval_us;) {
        if (counts[n] == 0)
            continue;
        for (size_t m = n - interval_us; m > interval_us; m -= interval_us) {
            if (counts[m] < counts[n])
                return -1;
            counts[m] -= counts[n];
        }
    }
    return 0;
}

/* The smallest value that at least `share` of the samples do not exceed. */
static double at_share(const uint64_t *counts, size_t size, uint64_t total, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)total - 1e-9), seen = 0;

    for (size_t us = 0; us < size; us++) {
        seen += counts[us];
        if (seen >= rank && seen > 0)
            return (double)us;
    }
    return NAN;
}

uint64_t wrk_unfill_latency(const uint64_t *counts, size_t size, struct drivers_latency *latency)
{
    double sum = 0, squares = 0;
    uint64_t total = 0;
    size_t max = 0;

    for (size_t us = 0; us < size; us++) {
        if (counts[us] == 0)
            continue;
        total += counts[us];
        sum += (double)us * (double)counts[us];
        max = us;
    }
    if (total == 0)
        return 0;
    latency->mean = sum / (double)total;
    for (size_t us = 0; us < size; us++)
        squares += (double)counts[us] * ((double)us - latency->mean) * ((double)us - latency->mean);
    latency->stddev = sqrt(squares / (double)total);
    latency->min = at_share(counts, size, total, 0);
    latency->p50 = at_share(counts, size, total, 0.5);
    latency->p75 = at_share(counts, size, total, 0.75);
    latency->p90 = at_share(counts, size, total, 0.9);
    latency->p95 = at_share(counts, size, total, 0.95);
    latency->p99 = at_share(counts, size, total, 0.99);
    latency->p99_9 = at_share(counts, size, total, 0.999);
    latency->p99_99 = at_share(counts, size, total, 0.9999);
    latency->max = (double)max;
    return total;
}
