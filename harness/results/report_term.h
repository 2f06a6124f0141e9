/*
 * report_term - a run for people in front of a terminal: aligned columns, bars, what limited each row.
 *
 * Columns are aligned by display width (UTF-8, wide characters). Colours are asked for by the caller.
 */
#ifndef RESULTS_REPORT_TERM_H
#define RESULTS_REPORT_TERM_H

#include <stdbool.h>

#include "base/text.h"
#include "results/record.h"

struct report_term_options {
    bool color;
    int width; /* columns; 0: 100 */
};

/* What suits stdout: its width, and colour when it is a terminal, TERM is not dumb and NO_COLOR is not set. */
struct report_term_options report_term_detect(void);
void report_term_write(const struct record *record, const struct report_term_options *options, struct text *text);

#endif
