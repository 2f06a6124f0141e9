/*
 * manifest - machine.json of a run (harness/schema/machine.schema.json): what was measured, on what, with which
 * versions and configuration. Written when the run starts, when a row's state changes, and at its end.
 */
#ifndef STUDY_MANIFEST_H
#define STUDY_MANIFEST_H

#include "study/run_state.h"

/* Makes run->machine; the database is open and the rows are built. */
void manifest_make(struct run *run);
/* Brings the rows' states up to date and writes the file. */
int manifest_write(struct run *run, struct err *err);
/* What the load tool gets, but for its command, which each cell has; the first is kept. */
void manifest_tool(struct run *run, json_t *record);
/* A sentence that a reader should know. */
void manifest_note(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * May this run go on with data that began with `machine`? Differences in configuration, machine or a server's build
 * are an error that names them, or with --force-mixed a note in the file. Takes `machine` over as run->machine.
 */
int manifest_continue(struct run *run, json_t *machine, struct err *err);

#endif
