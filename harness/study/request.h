/*
 * request - what each test of a run sends and what its answer must mean, made once: bodies from files, text, JSON or
 * SQL; headers with the run's token. Bodies lie as files in the run's work folder, where load tools read them.
 */
#ifndef STUDY_REQUEST_H
#define STUDY_REQUEST_H

#include <stdint.h>

#include "study/run_state.h"
#include "target/server.h"

/* Fills run->requests; needs the database when a test has SQL. */
int request_make_all(struct run *run, struct err *err);
void request_free_all(struct run *run);

/*
 * Sends the test's request once to a server and compares the answer with what is expected, as values. The answer's
 * bytes are then what the load tool compares with during the window: *expect_path is a file in the work folder, the
 * caller's; NULL when nothing is expected. An error (ERR_FAILED) says what was different.
 */
int request_try(struct run *run, const struct server *server, size_t test, char **expect_path, struct err *err);

/* The job of a load tool; strings are borrowed from the run. `url` is the caller's buffer, freed by the caller. */
struct tool_job request_job(const struct run *run, const struct server *server, size_t test, char **url);

#endif
