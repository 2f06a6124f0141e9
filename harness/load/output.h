/*
 * output - what a run of the generator says: one JSON object with bombardier's keys under "spec" and "result" and all
 * else under "restbench", or plain text in bombardier's form. A value without a sample is null, in text "-".
 */
#ifndef LOAD_OUTPUT_H
#define LOAD_OUTPUT_H

#include <jansson.h>

#include "base/text.h"
#include "load/load.h"

struct output_options {
    const char *body_file;     /* as given; NULL: none */
    bool latency_distribution; /* -l */
};

json_t *output_json(const struct load *load, const struct output_options *options);
/* "Bombarding URL for 10s using 125 connection(s)" */
void output_intro(struct text *text, const struct load *load);
void output_text(struct text *text, const struct load *load, const struct output_options *options);

/* Requests per second over the window, and over its seconds. NaN where there is no sample. */
struct output_rates {
    double mean, stddev, max;
    double p50, p75, p90, p95, p99;
};
void output_rates(const struct load_result *result, struct output_rates *rates);
double output_window_s(const struct load_result *result);

#endif
