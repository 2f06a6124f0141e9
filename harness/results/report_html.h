/*
 * report_html - runs as one self-contained page: no network, no files beside it.
 *
 * The page's template, style and script (results/html/) are part of the program; Chart.js is the distribution's
 * (libjs-chart.js), found when the page is written and put into it. All data is one JSON block in which every '<' is
 * escaped; the script shows text as text only, so that a title can do nothing.
 */
#ifndef RESULTS_REPORT_HTML_H
#define RESULTS_REPORT_HTML_H

#include "base/err.h"
#include "base/text.h"
#include "results/latency.h"
#include "results/record.h"

struct report_html_part {
    const struct record *record;
    const struct latency *latencies; /* NULL: no details */
    json_t *published;               /* NULL: not compared with the study */
};

/* More groups of cells than this make no page for a browser. */
#define REPORT_HTML_GROUPS 5000

/* `*missing`: why the page has no charts, the caller's; NULL: it has. Fails when there are too many cells. */
int report_html_write(const struct report_html_part *parts, size_t count, struct text *html, char **missing,
                      struct err *err);

#endif
