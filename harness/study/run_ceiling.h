/* run_ceiling - what the database alone does (alone.h), at the end of a run and beside its CSV, where reports look. */
#ifndef STUDY_RUN_CEILING_H
#define STUDY_RUN_CEILING_H

#include "study/run_state.h"

/* How long it will take; 0: it is not wanted. */
double run_ceiling_seconds(const struct setup *setup, const struct run_options *options);

/*
 * When the study ("ceiling": true) or --ceiling asks for it and a chosen test uses the database; nothing when the file
 * is there already (a resumed run). That it cannot be measured is said and noted: the run's own figures do not depend
 * on it. -1: interrupted.
 */
int run_ceiling(struct run *run, struct err *err);

#endif
