/*
 * drivers - the rows of the table in tool.c, one file each, and what they share.
 *
 * Other tools count by other rules. A driver computes the study's figure where it can and says so
 * (drivers_corrected()); where it cannot, it keeps the tool's and says why that is not to be trusted
 * (drivers_doubtful()).
 */
#ifndef TOOLS_DRIVERS_H
#define TOOLS_DRIVERS_H

#include "base/json.h"
#include "tools/tool.h"

extern const struct tool tool_restbench, tool_bombardier, tool_wrk, tool_oha, tool_h2load, tool_h2load_http2;

/* An argv that grows: `items` is NULL-terminated once there is one. */
struct words {
    char **items;
    size_t count;
};

void words_add(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes `value`. */
void words_pair(struct words *words, const char *option, char *value);
void words_free(struct words *words);
/* "1.500s": `value` with so many decimals and what stands behind it; the caller's. */
char *words_decimal(double value, int decimals, const char *unit);
/* The option and "Name: value" for every header of the job, whatever the blanks in it. */
int words_headers(struct words *words, const struct tool_job *job, const char *option, struct err *err);

/* Splits "Name: value"; both are the caller's. */
int drivers_header(const char *header, char **name, char **value, struct err *err);
/* The URL with "/" where it has no path, and without a fragment; the caller's. Tools disagree about the rest. */
char *drivers_url(const char *url);
void drivers_corrected(struct tool_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
void drivers_doubtful(struct tool_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The output as one JSON object; the caller's. NULL: err says what it is instead. */
json_t *drivers_object(const char *output, size_t len, struct err *err);
/* A number of an object that must be there, finite and at least 0. */
int drivers_number(const json_t *object, const char *key, double *value, struct err *err);
/* Sets responses_2xx, window_s and requests_per_s. */
int drivers_rate(struct tool_result *result, double ok, double seconds, struct err *err);

/* In microseconds; NaN where the tool does not tell. */
struct drivers_latency {
    double min, mean, stddev, p50, p75, p90, p95, p99, p99_9, p99_99, max;
};

#define DRIVERS_NO_LATENCY                                                                                             \
    {                                                                                                                  \
        NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN                                                          \
    }

/* Into the result, and as "latency_us" into its report; a wrong order is said. */
void drivers_latency(struct tool_result *result, const struct drivers_latency *latency);

#endif
