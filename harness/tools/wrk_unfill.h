/*
 * wrk_unfill - takes the samples out of wrk's histogram that wrk has invented.
 *
 * At its end wrk 4 adds, for every latency n of at least twice the mean interval between a connection's requests,
 * samples at n - interval, n - 2 x interval, ... above the interval. That is right for a fixed rate and wrong for a
 * closed loop, where those requests were never due. The filling goes upwards and adds only below what it looks at, so
 * it can be taken back exactly, downwards.
 */
#ifndef TOOLS_WRK_UNFILL_H
#define TOOLS_WRK_UNFILL_H

#include <stddef.h>
#include <stdint.h>

#include "tools/drivers.h"

/* counts[us] for us in [0, size). Returns -1 and leaves `counts` undefined where they cannot be such a filling. */
int wrk_unfill(uint64_t *counts, size_t size, uint64_t interval_us);

/* min to max of counts[us] by nearest rank; `latency` is left alone when there is no sample. Returns the number of
 * samples. */
uint64_t wrk_unfill_latency(const uint64_t *counts, size_t size, struct drivers_latency *latency);

#endif
