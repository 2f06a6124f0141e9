/*
 * compare_metric - what a comparison looks at: one row a metric, with its direction, unit and words.
 */
#ifndef RESULTS_COMPARE_METRIC_H
#define RESULTS_COMPARE_METRIC_H

#include <stdbool.h>

#include "base/text.h"

enum compare_metric {
    COMPARE_RATE,
    COMPARE_P50,
    COMPARE_P99,
    COMPARE_CPU,
    COMPARE_CPU_USER,
    COMPARE_CPU_KERNEL,
    COMPARE_CPU_POSTGRES,
    COMPARE_WORKING_SET,
    COMPARE_PRIVATE,
    COMPARE_STARTUP,
    COMPARE_ERRORS,
    COMPARE_METRICS
};

struct compare_metric_kind {
    const char *name; /* in JSON */
    const char *title;
    const char *unit;
    bool higher_is_better;
    bool per_row;     /* one figure a server's life: of the row, not of a cell */
    bool of_machine;  /* moves with the speed of the machine: drift is taken out, or allowed for */
    const char *more; /* "20 % more" */
    const char *less;
};

extern const struct compare_metric_kind compare_metrics[COMPARE_METRICS];

/* A figure with three digits and k or M: "91.5k", "0.832"; "n/a" for NaN. */
void compare_add_figure(struct text *text, double value);
/* "+7.1 %", "-20 %"; two significant digits or one decimal, whichever is more; "n/a" for NaN. */
void compare_add_pct(struct text *text, double pct);
/* The same without a sign. */
void compare_add_size(struct text *text, double pct);

#endif
