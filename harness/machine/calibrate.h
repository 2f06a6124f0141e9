/*
 * calibrate - a fixed job that tells how fast this machine is now: the same work everywhere and always, in memory that
 * fits a core's cache, so that its time depends on the CPUs alone (their speed, and who else uses them).
 *
 * calibrate_all() runs it with 1, 4 and 8 processes at once, each doing the whole job, on all of `cpus`, and takes the
 * median of three runs: a few seconds in all. calibrate_probe() runs it once on one CPU (about 0.2 s), between cells.
 * Times are wall-clock milliseconds from the common start to the end of the last process.
 */
#ifndef MACHINE_CALIBRATE_H
#define MACHINE_CALIBRATE_H

#include <stdint.h>

#include "base/err.h"
#include "machine/cpus.h"

#define CALIBRATE_JOBS 3

struct calibration {
    int processes[CALIBRATE_JOBS]; /* 1, 4, 8 */
    double ms[CALIBRATE_JOBS];
};

int calibrate_all(const struct cpus *cpus, struct calibration *calibration, struct err *err);
/* NAN when it could not be run (or was interrupted). *waited_ms: how long of it the job had no CPU; may be NULL. */
double calibrate_probe(int cpu, double *waited_ms);

/* The job itself: `units` of work; the result depends on nothing but them. */
uint64_t calibrate_job(int units);

/* The CSV: header and lines of "utc,processes,ms". */
#define CALIBRATE_HEADER "utc,processes,ms"
/* One line without its end, the caller's. */
char *calibrate_line(const char *utc, const struct calibration *calibration, int job);

#endif
