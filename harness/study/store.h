/*
 * store - the files of one run, in the data folder:
 *
 *   BASE.csv             one line per finished cell: the projection onto the study's columns
 *   BASE_details.jsonl   one object per finished cell with all its evidence, and lines of other kinds
 *   BASE_machine.json    machine, versions, rows, configuration; replaced as a whole when something changes
 *
 * BASE is DATE_MODE or DATE_MODE_NAME; a number is appended when such files exist: nothing is ever overwritten.
 * A cell's details are appended and fsynced before its CSV line, and the CSV line before the next cell begins: a cell
 * is finished when its CSV line is whole. store_resume() sets aside (never deletes, never guesses) what a killed run
 * left half-written: a last line without a newline, and details without a CSV line, go to BASE_aside_N.txt.
 */
#ifndef STUDY_STORE_H
#define STUDY_STORE_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "results/csv.h"

struct store {
    char *base; /* data folder and BASE */
    char *csv_path;
    char *details_path;
    char *machine_path;
    int csv_fd;
    int details_fd;
};

/* Makes the files of a new run that started at `wall_ns`; `name` NULL: none. */
int store_create(const char *data_dir, long long wall_ns, const char *mode, const char *name, struct store *store,
                 struct err *err);

/*
 * Opens an unfinished run: the one whose BASE ends in `name`, else the one that started last; `mode` as above.
 * A finished run of this name counts as unfinished when it has fewer than `rounds` rounds (0: never).
 * 1: found, `*machine` is its machine.json (the caller's); 0: there is none; -1: error. Nothing is changed yet.
 */
int store_resume(const char *data_dir, const char *mode, const char *name, int64_t rounds, struct store *store,
                 json_t **machine, struct err *err);
/* Sets aside what a killed run left half done; `notes` (an array) says what. */
int store_put_in_order(struct store *store, json_t *notes, struct err *err);

/* BASE of the unfinished run of any mode that started last, with its machine.json (both the caller's); NULL: none. */
char *store_unfinished(const char *data_dir, json_t **machine);

void store_close(struct store *store);

/* Details, then the CSV line; both on disk when it returns 0. */
int store_add_cell(struct store *store, const struct csv_line *line, const json_t *details, struct err *err);
/* A line of another kind (failed, reconciliation). */
int store_add_detail(struct store *store, const json_t *details, struct err *err);
int store_write_machine(struct store *store, const json_t *machine, struct err *err);

/* Calls `each` with the details object of every finished cell. */
int store_each_cell(const struct store *store, void (*each)(const json_t *cell, void *context), void *context,
                    struct err *err);

#endif
