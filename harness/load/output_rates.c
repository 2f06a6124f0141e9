#include <math.h>
#include <stdlib.h>

#include "load/output.h"

/* A piece of a second shorter than this has no rate of its own. */
#define LEAST_S 0.1

double output_window_s(const struct load_result *result)
{
    return (double)(result->end_ns - result->begin_ns) / 1e9;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static double at(const double *sorted, size_t count, double pct)
{
    size_t rank = (size_t)ceil(pct / 100 * (double)count);

    return count == 0 ? NAN : sorted[rank > 0 ? rank - 1 : 0];
}

void output_rates(const struct load_result *result, struct output_rates *rates)
{
    double window_s = output_window_s(result);
    double *sorted = text_alloc((result->second_count + 1) * sizeof *sorted);
    size_t count = 0;
    double sum = 0;
    double squares = 0;

    for (size_t i = 0; i < result->second_count; i++) {
        double left_s = window_s - (double)i;
        double length_s = left_s < 1 ? left_s : 1;

        if (length_s >= LEAST_S || (result->second_count == 1 && length_s > 0))
            sorted[count++] = (double)result->seconds[i].ok / length_s;
    }
    qsort(sorted, count, sizeof *sorted, by_value);
    for (size_t i = 0; i < count; i++)
        sum += sorted[i];
    for (size_t i = 0; i < count; i++)
        squares += (sorted[i] - sum / (double)count) * (sorted[i] - sum / (double)count);
    rates->mean = window_s > 0 ? (double)result->total.latency.count / window_s : NAN;
    rates->stddev = count > 0 ? sqrt(squares / (double)count) : NAN;
    rates->max = count > 0 ? sorted[count - 1] : NAN;
    rates->p50 = at(sorted, count, 50);
    rates->p75 = at(sorted, count, 75);
    rates->p90 = at(sorted, count, 90);
    rates->p95 = at(sorted, count, 95);
    rates->p99 = at(sorted, count, 99);
    free(sorted);
}
