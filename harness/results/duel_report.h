/*
 * duel_report - what the rows `base`, `head` and `again` of one CSV say: head against base, and base against itself.
 *
 * The third arm, base measured once more in every round, shows what two equal builds differ by here: a change of head
 * that is no larger than that is none. A reference row beside them shows whether the machine was steady.
 * Both pair round by round (compare.h, one sitting), and what base differs from itself by is noise for the change, too.
 * Reads files only.
 *
 *     if (duel_report_open(csv, bound_pct, &report, &err) != 0) ...     ERR_CANNOT also while no pair is whole
 *     duel_report_text(&report, &text);  duel_report_markdown(&report, &text);
 *     duel_report_close(&report);
 */
#ifndef RESULTS_DUEL_REPORT_H
#define RESULTS_DUEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"
#include "results/compare.h"

/* Folders of the arms, the first part of their row ids. */
#define DUEL_BASE "base"
#define DUEL_HEAD "head"
#define DUEL_AGAIN "again"

struct duel_report {
    struct compare_run run;
    struct compare compare; /* row 0: base -> head; row 1: base -> again, when has_noise */
    bool has_noise;
    size_t pairs;         /* rounds that both arms have */
    size_t pairs_planned; /* 0: unknown */
    char *control;        /* title of the reference row; NULL: none */
    double control_pct;   /* its rate in the second half of the rounds against the first; NaN: fewer than two rounds */
    struct text proof;    /* one line */
};

int duel_report_open(const char *csv, double bound_pct, struct duel_report *report, struct err *err);
void duel_report_close(struct duel_report *report);

/* The widest half interval of head's rates, in per cent; INFINITY while noise is not known. */
double duel_report_widest_pct(const struct duel_report *report);
/* True for what head did, false for base against itself. */
bool duel_report_is_change(const struct compare_result *result);
/* True when base against itself was called different: then nothing here can be trusted. */
bool duel_report_is_unsteady(const struct duel_report *report);

void duel_report_text(const struct duel_report *report, struct text *text);
void duel_report_markdown(const struct duel_report *report, struct text *text);

#endif
