/*
 * export - a run as tidy CSV, one figure a line, for R or pandas; latency distributions for HdrHistogram's plotter.
 *
 * Columns: run, utc, server, round, test, connections, figure, value. Figures are the CSV's columns, CPU per request,
 * and what the details hold. What is unknown is an empty value.
 */
#ifndef RESULTS_EXPORT_H
#define RESULTS_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* Writes one run to `stream`; `with_header` for the first. */
int export_tidy(const char *csv, bool with_header, FILE *stream, struct err *err);
/* Writes FOLDER/NAME_ROW_TEST_CONNECTIONS.hgrm for every row, test and number of connections, merged over rounds. */
int export_hgrm(const char *csv, const char *folder, size_t *files, struct err *err);

#endif
