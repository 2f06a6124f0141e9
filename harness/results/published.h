/*
 * published - a run set beside the study's published medians (data/published).
 *
 * Rows are paired by title without version numbers: "Go 1.27 · net/http" and "Go 1.24 · net/http" are one row; a
 * number before "process" stays. Figures are compared as ratios to one reference row, because machines differ, as
 * ranks, and by Spearman's rank correlation over the rows that both have.
 * What the study concluded stands in data/published/conclusions.json, each with a rule. A rule that compares two rows
 * is decided when their rounds do not overlap: it holds, or it does not; else it cannot be decided, and says why.
 */
#ifndef RESULTS_PUBLISHED_H
#define RESULTS_PUBLISHED_H

#include <jansson.h>

#include "base/err.h"
#include "base/text.h"
#include "results/record.h"

struct published_row {
    char *title;
    char *key; /* the title without version numbers */
};

struct published_figure {
    const char *figure; /* one of published_figures */
    size_t row;
    char *test;          /* "" for memory */
    int64_t connections; /* 0: of the first phase, or of all */
    double value;
};

struct published {
    char *name; /* 2026-11-05_no-auth */
    struct json_doc conclusions;
    struct published_row *rows;
    size_t row_count;
    struct published_figure *figures;
    size_t figure_count;
};

/* `mode`: "no-auth" or "jwt". */
int published_load(const char *mode, struct published *published, struct err *err);
void published_free(struct published *published);
/* NaN: the study does not tell. */
double published_value(const struct published *published, const char *figure, size_t row, const char *test,
                       int64_t connections);

/* A title without version numbers; the caller's. */
char *published_key(const char *title);
/* "jwt" or "no-auth", from the machine file, else from the file's name. */
const char *published_mode(const struct record *record);

/*
 * The whole comparison as JSON, the caller's. `reference`: a title, or its key, of a row that both have; NULL: the
 * first of the study's order.
 */
int published_compare(const struct record *record, const char *reference, json_t **comparison, struct err *err);
/* The list "conclusions" of it. */
json_t *published_conclude(const struct record *record, const struct published *published);
/* The comparison as a section of a markdown page. */
void published_write(const json_t *comparison, struct text *text);

#endif
