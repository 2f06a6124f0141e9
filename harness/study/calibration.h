/* calibration - the fixed job before and after a run, into DATE_calibration_{before,after}.csv and machine.json. */
#ifndef STUDY_CALIBRATION_H
#define STUDY_CALIBRATION_H

#include <stdbool.h>

#include "study/run_state.h"

/* Appends to the file (made with its header when missing) and to "calibration" of machine.json. */
int calibration_run(struct run *run, bool after, struct err *err);

#endif
