/*
 * record - a CSV together with what stands beside it: all that a report knows about one run.
 *
 *     struct record record;
 *     if (record_open("data/2026-11-30_no-auth.csv", &record, &err) != 0) ...
 *     record_close(&record);
 *
 * X_details.jsonl and X_machine.json are read when they are there; a lone CSV, from anybody's machine, is a record
 * too. Nothing here measures.
 */
#ifndef RESULTS_RECORD_H
#define RESULTS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "results/cells.h"
#include "results/evidence.h"
#include "results/machine_file.h"
#include "results/names.h"

struct record {
    char *csv;          /* as it was named */
    char *name;         /* its last part without .csv */
    char *details;      /* NULL: there is none */
    char *machine_path; /* NULL: there is none */
    struct machine_file machine;
    struct names names;
    struct cells cells;
    struct evidence evidence;
    double drift_pct;        /* of the machine, between the calibrations before and after; NaN: not known */
    struct json_doc ceiling; /* what the database alone does, of this run or its day; root NULL: not measured */
    uint32_t rounds;         /* planned; without machine.json the highest number found */
};

int record_open(const char *csv, struct record *record, struct err *err);
void record_close(struct record *record);

/* True for DATE_calibration_before.csv and _after.csv, which lie in the same folder and hold no measurements. */
bool record_is_calibration(const char *csv);
/* X.csv and "_details.jsonl" give "X_details.jsonl"; the caller's. */
char *record_beside(const char *csv, const char *suffix);
const char *record_test_title(const struct record *record, uint32_t test);
bool record_test_uses_database(const struct record *record, uint32_t test);
bool record_is_reference(const struct record *record, uint32_t row);
/* Transactions/s of this test's statement without a server; NaN: not measured. */
double record_ceiling(const struct record *record, uint32_t test);
/* Whether that it was or was not measured is worth a word: a run of this program with tests that use the database. */
bool record_ceiling_matters(const struct record *record);
/* The row of machine.json with this title; NULL without one. */
const struct machine_row *record_machine_row(const struct record *record, uint32_t row);

#endif
