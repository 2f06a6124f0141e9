/*
 * latency - distributions from the details' histograms, merged over rounds.
 *
 * A histogram is a list of [upper edge in us, count]. Merging adds counts at equal edges; nothing is interpolated, so a
 * percentile is the upper edge of the bucket that holds its nearest rank, at most the highest latency measured.
 */
#ifndef RESULTS_LATENCY_H
#define RESULTS_LATENCY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "results/cells.h"

struct latency_bucket {
    double upper_us;
    double count;
};

struct latency {
    struct latency_bucket *buckets; /* rising */
    size_t count;
    double total;
    double max_us; /* 0: unknown */
    uint32_t cells;
};

/* Adds one cell's latency_us object. A list that does not rise is left out. */
void latency_add(struct latency *latency, const json_t *latency_us);
/* Nearest rank; `fraction` in [0, 1]. NaN without samples. */
double latency_at_us(const struct latency *latency, double fraction);
double latency_mean_us(const struct latency *latency);
void latency_free(struct latency *latency);

/* The distributions of all groups; *latencies is an array of cells->group_count for latency_free_all(). */
int latency_read(const char *details, const struct cells *cells, struct latency **latencies, struct err *err);
void latency_free_all(struct latency *latencies, const struct cells *cells);

/* HdrHistogram's percentile text, in milliseconds. */
void latency_write_hgrm(const struct latency *latency, struct text *text);

#endif
