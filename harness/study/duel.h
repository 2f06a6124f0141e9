/*
 * duel - two builds of one server in one sitting, in turn, with a control.
 *
 * A duel is a run (study/run.h) of a study that is made here: rows `base`, `head`, `again` (base once more: the A/A
 * arm) and a reference, in alternating order (ABBA: base head again control, control again head base, ...), a fresh
 * process each time. So evidence, marks, survival and --resume are the run's. What the rows are made of lies in
 * STATE/duel/HASH: one copy of a folder an arm, named by its content, and the study.
 *
 * BASE and HEAD are, tried in this order: two commands (with `commands`), folders with a server.json, git revisions of
 * the row's folder (git archive: neither the working tree nor its branches are touched).
 */
#ifndef STUDY_DUEL_H
#define STUDY_DUEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "study/options.h"

struct duel_options {
    const char *base;
    const char *head;
    const char *server;  /* row: folder or folder:variant; NULL: the folder that BASE names */
    const char *control; /* row of the reference; NULL: the first one that servers/ has; "none" */
    const char *config;  /* study whose tests are used; NULL: the installed config/study.json, shorter (DUEL_*) */
    bool commands;
    int64_t pairs;          /* the most */
    double until_pct;       /* 0: all pairs */
    double bound_pct;       /* a difference up to this is of no interest */
    struct run_options run; /* tests, windows, security, cpus, data, state, servers_dir, resume and so on */
};

/* Without --config a pair should take minutes, not hours. */
#define DUEL_PAIRS 8
#define DUEL_SECONDS 5
#define DUEL_WARMUP 2
#define DUEL_CONNECTIONS 50

struct duel_outcome {
    char *csv;    /* the caller's; NULL when no file was begun */
    char *report; /* the markdown; NULL when there is none */
    char *text;   /* the table, for stdout */
    bool failed;  /* a row or a cell failed */
};

int duel(const struct duel_options *options, struct duel_outcome *outcome, struct err *err);
void duel_outcome_free(struct duel_outcome *outcome);

#endif
