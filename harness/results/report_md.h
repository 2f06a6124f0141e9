/*
 * report_md - a run as a markdown page: the study's tables, then what stands behind them.
 *
 * Spread of every figure over the rounds, errors by kind, what limited each cell, how each server was built, machine,
 * configuration, and how to read it all. What a lone CSV does not tell is left out, not guessed.
 */
#ifndef RESULTS_REPORT_MD_H
#define RESULTS_REPORT_MD_H

#include "base/text.h"
#include "results/record.h"

struct report_md_chart {
    const char *file; /* beside the page; NULL: it could not be drawn */
    const char *title;
};

struct report_md_extras {
    const struct report_md_chart *charts;
    size_t chart_count;
    const char *no_charts;   /* why some are missing; NULL: none is */
    const char *html;        /* file of the page for browsers beside this one; NULL: none */
    const json_t *published; /* the comparison with the study; NULL: none was asked for */
};

void report_md_write(const struct record *record, const struct report_md_extras *extras, struct text *text);

#endif
