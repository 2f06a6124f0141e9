/*
 * drift - the machine's speed between cells: the fixed job of calibrate once (0.2 s) on one of the server's CPUs.
 *
 * The server and the database live while it runs and may still work there: a JVM compiles for seconds after the load
 * has ended. That is not the machine's speed, so the time that they took from the job is taken out; what a stranger,
 * the hypervisor or a limit took stays in. A single job says little: whatever ran at that moment is in it. So a cell is
 * judged by the faster of the two around it, and against the median of all that the run has made.
 */
#ifndef STUDY_DRIFT_H
#define STUDY_DRIFT_H

#include <stddef.h>

#include "machine/sampler.h"

#define DRIFT_LEAST 5 /* probes before anything is judged */

/* Zeroed: nothing yet. */
struct drift {
    double *ms;
    size_t count;
};

struct drift_probe {
    double ms;     /* without what is `own_ms`; NaN: it could not be run */
    double own_ms; /* what the sampler's sides took from the job */
};

/* Runs the job on `cpu` and remembers its time. `sampler` has the sides whose time is not the machine's. */
struct drift_probe drift_probe(struct drift *drift, int cpu, struct sampler *sampler);
void drift_add(struct drift *drift, double ms);
void drift_free(struct drift *drift);

/*
 * Of a job that took `ms` and had no CPU for `waited_ms` of them, while the sides worked for `sides_ms`: how much of
 * the wait can have been theirs. They may have worked on other CPUs, or before it and after it. Unknown times take
 * nothing.
 */
double drift_own_ms(double waited_ms, double sides_ms);

/* By how much the faster of two differs from the median of all, in percent of that; NaN: unknown. */
double drift_of(const struct drift *drift, double before_ms, double after_ms);

#endif
