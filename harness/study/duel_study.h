/* duel_study - the study file of a duel: another study's tests, with the duel's rows. */
#ifndef STUDY_DUEL_STUDY_H
#define STUDY_DUEL_STUDY_H

#include "base/err.h"

/*
 * Writes `to`/study.json. `given` NULL: the tests of the installed study, with the duel's shorter windows. `variant`
 * NULL: none; `control` (a row id) NULL: none.
 */
int duel_study_write(const char *to, const char *given, const char *variant, const char *control, struct err *err);

#endif
