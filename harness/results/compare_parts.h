/* compare_parts - the steps of compare_make(), each in a file of its own. */
#ifndef RESULTS_COMPARE_PARTS_H
#define RESULTS_COMPARE_PARTS_H

#include "results/compare.h"

/* Fills rows, pairs and the findings about what has no partner. -1: nothing in common. */
int compare_pair_up(struct compare *compare, struct err *err);
/* Fills notes: what differs in machine, database, configuration, servers. */
void compare_note_differences(struct compare *compare);
/* Verdicts and words of all results; what fails. */
void compare_judge(struct compare *compare);
/* Decides which rows are controls (rows[].control, moved last) before pairs are made. */
void compare_choose_controls(struct compare *compare);
/* Finds cells of head that failed, have errors, or lack rounds; taints them. */
void compare_find_faults(struct compare *compare);
/* Fills results up to base, head and infer's input. */
void compare_collect(struct compare *compare);
/*
 * What the calibrations beside both CSVs say of the machine: log of head's time over base's for the same jobs, and how
 * sure that is. False when either has none.
 */
bool compare_calibration(const struct compare *compare, double *log_time, struct infer_allowance *allowance);

void compare_note(struct compare *compare, const char *format, ...) __attribute__((format(printf, 2, 3)));
void compare_find(struct compare *compare, enum compare_kind kind, bool fails, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
