/*
 * drift - the machine's speed between cells: the fixed job of calibrate once (0.2 s) on one of the server's CPUs.
 *
 * A single one says little: whatever ran at that moment is in it. So a cell is judged by the faster of the two around
 * it, and against the median of all that the run has made.
 */
#ifndef STUDY_DRIFT_H
#define STUDY_DRIFT_H

#include <stddef.h>

#define DRIFT_LEAST 5 /* probes before anything is judged */

/* Zeroed: nothing yet. */
struct drift {
    double *ms;
    size_t count;
};

/* Runs the job on `cpu` and remembers its time. NaN: it could not be run. */
double drift_probe(struct drift *drift, int cpu);
void drift_add(struct drift *drift, double ms);
void drift_free(struct drift *drift);

/* By how much the faster of two differs from the median of all, in percent of that; NaN: unknown. */
double drift_of(const struct drift *drift, double before_ms, double after_ms);

#endif
