#include "study/drift.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "machine/calibrate.h"
#include "results/stats.h"

double drift_probe(struct drift *drift, int cpu)
{
    double ms = calibrate_probe(cpu);

    drift_add(drift, ms);
    return ms;
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
