/*
 * run - one execution of a study, from the command line to the tables. The conductor: it decides the order, the other
 * modules do the work.
 *
 * run_study() sets everything up, measures every cell of the plan that is not there yet, and takes everything down
 * again, whatever happened. Only the files under the data folder stay.
 */
#ifndef STUDY_RUN_H
#define STUDY_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#include "study/options.h"

struct run_outcome {
    char *csv_path; /* the caller's; NULL when no file was begun */
    size_t measured;
    size_t failed;  /* cells, and rows that failed their build or contract */
    size_t skipped; /* rows whose toolchain is missing */
    size_t marks;
    double errors;
    bool complete;
};

/* -1: it could not run, or had to stop (ERR_CANNOT), or was interrupted (ERR_FAILED). */
int run_study(const struct run_options *options, struct run_outcome *outcome, struct err *err);
void run_outcome_free(struct run_outcome *outcome);

#endif
