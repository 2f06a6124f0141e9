/*
 * identity - arithmetic that the figures of a cell must keep, whoever measured it: asked when a cell is judged and
 * again when its files are verified.
 */
#ifndef RESULTS_IDENTITY_H
#define RESULTS_IDENTITY_H

#include <stdbool.h>

/*
 * In a closed loop without errors every connection is always busy: rate x mean latency is their number, within 5 %
 * and what was open at the window's end (up to the longest latency of each connection, and in no mean). What is
 * missing beyond that the generator spent between an answer and the next request: where it was the limit, that is no
 * contradiction. Unknown (NaN) contradicts nothing.
 */
bool identity_keeps_busy(double connections, double rate_per_s, double mean_ms, double max_ms, double window_s,
                         bool generator_bound);

#endif
