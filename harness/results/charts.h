/*
 * charts - scripts for gnuplot that draw a run as SVG on standard output.
 *
 * gnuplot is the distribution's plotting program: it has drawn SVG for decades, and a script is data that can be read.
 * Nothing is started here; cli/ runs the program and keeps what it prints.
 */
#ifndef RESULTS_CHARTS_H
#define RESULTS_CHARTS_H

#include "base/text.h"
#include "results/latency.h"
#include "results/record.h"

/* requests/s per test: a bar a row and number of connections, the rounds as points on it. */
void charts_write_rates(const struct record *record, struct text *script);
/* CPU per request per test at the first phase: server user, kernel, PostgreSQL. */
void charts_write_cpu(const struct record *record, struct text *script);
/* Latency by percentile, all rows in one panel a test; false when there are no distributions. */
bool charts_write_latency(const struct record *record, const struct latency *latencies, struct text *script);

#endif
