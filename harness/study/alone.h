/*
 * alone - what the database does without a server in front of it: each database test's statement by pgbench, as many
 * clients as a server has connections, on the CPUs of the run. No server can be faster, so it is their ceiling.
 *
 *     struct alone alone = {.study = ..., ...};
 *     alone_open(&alone, &err)             finds pgbench
 *     alone_measure(&alone, path, &err)    warm-up and window a test, then the file (ceiling.schema.json)
 *     alone_close(&alone)                  also after a failure
 *
 * Scripts for pgbench lie in the folder ceiling beside the study's schema; a test without one is left out. Writing
 * tests find the table as a server finds it, and it is put back at the end.
 */
#ifndef STUDY_ALONE_H
#define STUDY_ALONE_H

#include "machine/place.h"
#include "study/config.h"
#include "target/database.h"

struct alone {
    /* Borrowed, filled by the caller; `database` not before alone_measure(). */
    const struct study *study;
    struct database *database;
    const struct machine *machine;
    const struct place *place; /* where the database lives */
    const char *work_dir;      /* of a file with the password */
    const bool *tests;         /* chosen ones, by index; NULL: all */
    double warmup_seconds;
    double seconds;
    /* alone_open()'s. */
    char *scripts;
    char *pgbench;
    char *version;
};

int alone_open(struct alone *alone, struct err *err);
/* Writes a new file `path`, only when every test was measured; -1 also when no chosen test has a script. */
int alone_measure(const struct alone *alone, const char *path, struct err *err);
void alone_close(struct alone *alone);
/* How many tests will be measured. */
size_t alone_count(const struct alone *alone);

#endif
