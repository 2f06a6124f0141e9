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

/* True when the database went away since it was opened: what was done meanwhile is void, whatever it came to. */
bool parties_database_lost(const struct run *run);
/* Fails (ERR_CANNOT) when the database's disk is full. */
int parties_database_room(const struct run *run, struct err *err);
/* Adds to the error of a cell whose lock was in its way; false: nobody's. */
bool parties_name_stranger(const struct run *run, struct err *err);
/*
 * Makes sure that there is a database that answers: one that was lost is opened again, a private one started again,
 * another one waited for. ERR_CANNOT when it cannot be had, or is lost again and again without a finished cell.
 */
int parties_revive_database(struct run *run, struct err *err);

#endif
