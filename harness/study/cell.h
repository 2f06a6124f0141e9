/*
 * cell - one row x round x test x phase: measured, judged, and on disk.
 *
 * The window's evidence becomes one line of the CSV and one object of the details (harness/schema/details.schema.json).
 */
#ifndef STUDY_CELL_H
#define STUDY_CELL_H

#include "study/life.h"
#include "study/plan.h"
#include "study/run_state.h"

/*
 * Measures in a life that is prepared for the cell's test and writes both lines. `attempt` from 1; `earlier`: why the
 * attempt before failed, NULL. On failure nothing was written; ERR_CANNOT means that the files cannot be written and
 * the run must stop. `result` (of `size` bytes): "31.2k/s" for the progress line.
 */
int cell_measure(struct life *life, const struct plan_cell *cell, int attempt, const char *earlier, char *result,
                 size_t size, struct err *err);

/* {"id","folder","variant","title"}, as every line of the details names its row. */
json_t *cell_row_json(const struct row *row);

/* Records that a cell could not be measured: a line of kind "failed". */
int cell_failed(struct run *run, const struct plan_cell *cell, const char *reason, struct err *err);

#endif
