/*
 * report_json - all that a report shows, as one JSON object a run; the HTML page is drawn from it too.
 *
 * The form is described by harness/schema/report.schema.json ("format": 1). Unknown figures are null.
 */
#ifndef RESULTS_REPORT_JSON_H
#define RESULTS_REPORT_JSON_H

#include <jansson.h>

#include "results/latency.h"
#include "results/record.h"

/* `latencies` NULL: without distributions; `published` NULL: not compared with the study. The caller's. */
json_t *report_json_run(const struct record *record, const struct latency *latencies, json_t *published);
/* {"format": 1, "restbench": VERSION, "runs": [...]}; `runs` is stolen. */
json_t *report_json_whole(json_t *runs);

#endif
