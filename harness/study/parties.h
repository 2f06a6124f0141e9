/*
 * parties - what must be there before the first cell: CPUs, places, locks, the database with its table, the servers'
 * builds, the load tool, the contract, the security secret.
 *
 * parties_open() takes them in that order, each with a sentence when it fails; parties_close() ends all of them in the
 * reverse order and may be called after a failure.
 */
#ifndef STUDY_PARTIES_H
#define STUDY_PARTIES_H

#include "study/run_state.h"

int parties_open(struct run *run, struct err *err);
/* An error is a process or a group that could not be ended. */
int parties_close(struct run *run, struct err *err);

/* Makes sure that the database answers; a private one that died is started again. ERR_CANNOT when it cannot be had. */
int parties_revive_database(struct run *run, struct err *err);

#endif
