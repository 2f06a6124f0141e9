/*
 * machine_file - reads X_machine.json: the machine, the database, the rows and tests of a run, its configuration.
 *
 * Only `format` must be there; what is missing is NULL, 0 or false. The document stays loaded (`doc`), so that reports
 * can show what this struct does not name. Strings are borrowed from it; end with machine_file_free().
 */
#ifndef RESULTS_MACHINE_FILE_H
#define RESULTS_MACHINE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fsx.h"
#include "base/json.h"

struct machine_row {
    const char *id; /* "folder" or "folder:variant" */
    const char *title;
    const char *status; /* planned, measured, skipped, failed */
    const char *reason;
    const char *log;
    const char *approach;
    const char *caches;
    bool reference;
    const json_t *json;
};

struct machine_test {
    const char *name;
    const char *title;
    bool database;
    bool writes;
};

struct machine_phase {
    const char *name;
    int64_t connections; /* 0: unknown */
};

struct machine_file {
    struct json_doc doc;
    struct machine_row *rows;
    size_t row_count;
    struct machine_test *tests;
    size_t test_count;
    struct machine_phase *phases;
    size_t phase_count;
    int64_t rounds; /* planned; 0: unknown */
    const char *mode;
    const char *started_utc;
    bool complete;
};

int machine_file_load(const char *path, struct machine_file *machine, struct err *err);
void machine_file_free(struct machine_file *machine);
/*
 * study_sha256, FSX_SHA256_SIZE bytes: of the configuration's one-line form (json_line) and of the hashes of the files
 * that it names (study_files; NULL: none), a line each. Rounds are left out: a run may be continued with more.
 */
void machine_file_hash(const json_t *study, const json_t *files, char *hex);

#endif
