#include "study/drift.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "machine/calibrate.h"
#include "results/stats.h"

double drift_own_ms(double waited_ms, double sides_ms)
{
    return waited_ms > 0 && sides_ms > 0 ? fmin(waited_ms, sides_ms) : 0;
}

struct drift_probe drift_probe(struct drift *drift, int cpu, struct sampler *sampler)
{
    struct drift_probe probe;
    struct machine_usage usage;
    double waited_ms;
    double sides_ms = 0;

    sampler_begin(sampler);
    probe.ms = calibrate_probe(cpu, &waited_ms);
    sampler_end(sampler, &usage);
    for (size_t i = 0; i < usage.side_count; i++)
        if (usage.sides[i].source != NULL)
            sides_ms += 1000 * usage.sides[i].total_s;
    machine_usage_free(&usage);
    probe.own_ms = drift_own_ms(waited_ms, sides_ms);
    probe.ms -= probe.own_ms;
    drift_add(drift, probe.ms);
    return probe;
}

void drift_add(struct drift *drift, double ms)
{
    if (isnan(ms))
        return;
    drift->ms = text_realloc(drift->ms, drift->count + 1, sizeof *drift->ms);
    drift->ms[drift->count++] = ms;
}

void drift_free(struct drift *drift)
{
    free(drift->ms);
    *drift = (struct drift){0};
}

double drift_of(const struct drift *drift, double before_ms, double after_ms)
{
    double *room;
    double median;

    if (drift->count < DRIFT_LEAST || isnan(before_ms) || isnan(after_ms))
        return NAN;
    room = text_realloc(NULL, drift->count, sizeof *room);
    median = stats_spread(drift->ms, drift->count, room).median;
    free(room);
    return 100 * (fmin(before_ms, after_ms) - median) / median;
}
