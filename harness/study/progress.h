/*
 * progress - what a person sees while a run goes on, and what `restbench status` reads from another terminal.
 *
 * On a terminal one line at the bottom: cells done of all, what runs now, the last result, ETA. Elsewhere one plain
 * line a finished cell. STATE/run/status.json says the same to programs; it is removed at the end.
 */
#ifndef STUDY_PROGRESS_H
#define STUDY_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

struct progress {
    char *status_path;
    char *base; /* BASE of the run's files */
    size_t done;
    size_t total;
    double planned_s;   /* all cells, as planned */
    double remaining_s; /* of those, not yet done */
    double skipped_s;   /* planned seconds of cells that were there already or cannot be measured */
    int64_t started_ns; /* CLOCK_MONOTONIC */
    char now[160];
    char last[160];
};

void progress_start(struct progress *progress, const char *state_dir, const char *base, size_t done, size_t total,
                    double remaining_s);
/* What runs now: "round 1  go-nethttp  select_1  50 connections". */
void progress_now(struct progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A cell is finished; `result` such as "31.2k/s". `planned_s`: what the plan gave it. */
void progress_cell(struct progress *progress, const char *result, double planned_s);
/* Cells that will not be measured. */
void progress_drop(struct progress *progress, size_t cells, double planned_s);
void progress_end(struct progress *progress);
/* The line at the bottom of a terminal, again: something else may stand there by now. */
void progress_show(const struct progress *progress);
/* "1:58" or "2:03:10". */
void progress_format_eta(double seconds, char *text, size_t size);

#endif
