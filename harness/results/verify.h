/*
 * verify - what the files of a run contradict: themselves, each other, arithmetic.
 *
 *     struct verify verify = {0};
 *     if (verify_run("data/X.csv", &verify, &err) != 0) ...     a file cannot be read: err
 *     verify.faults, verify.text                                 one line each: file:line: what is wrong
 *     verify_free(&verify);
 *
 * Of the CSV: columns, ranges, sums, order of time, one line a cell, the rate against its answers. Of the details:
 * p50 <= p99 <= max, identities of the generator, the same figures as the CSV, the marks that the evidence asks for. Of
 * machine.json: the hash of the configuration, and that a complete run holds every cell. Calibration files, by their
 * name, have their own form. What a lone CSV cannot show is not asked of it.
 */
#ifndef RESULTS_VERIFY_H
#define RESULTS_VERIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "results/csv.h"
#include "results/intern.h"
#include "results/marks.h"

#define VERIFY_WINDOW_SLACK 0.02 /* share of a window by which it may differ */
#define VERIFY_LATE_S 0.15       /* that another tool may end after its window */
#define VERIFY_SHOWN 200         /* more faults are counted, not printed */

struct verify_cell {
    struct csv_line line;  /* its strings are not kept: NULL */
    uint32_t server, test; /* in the interned strings */
    char utc[21];
    uint64_t number; /* line of the CSV */
    bool in_details;
};

struct verify {
    struct text text;
    uint64_t faults;
    uint64_t cells;
    bool details, machine; /* these files were there too */
    /* internal */
    struct intern servers, tests;
    struct intern failed; /* cells that the details say could not be measured: verify_key() */
    struct verify_cell *lines;
    uint64_t *slots; /* index + 1 of lines, by cell */
    uint64_t line_count, line_cap, slot_count;
};

int verify_run(const char *csv, struct verify *verify, struct err *err);
void verify_free(struct verify *verify);

/* For the parts of verify_run(). */
int verify_csv(const char *csv, struct verify *verify, struct err *err);
int verify_calibration(const char *path, struct verify *verify, struct err *err);
int verify_details(const char *path, struct verify *verify, struct err *err);
void verify_marks(struct verify *verify, const char *file, uint64_t number, const json_t *cell);
bool verify_is_marked(const json_t *cell, enum mark_id id);
void verify_machine(const char *path, const char *csv, struct verify *verify);
/* One string for a cell, the caller's. */
char *verify_key(const char *server, int64_t round, const char *test, int64_t connections);
/* `file` NULL: the text says where. `line` 0: no line. */
void verify_fault(struct verify *verify, const char *file, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
struct verify_cell *verify_find(const struct verify *verify, const char *server, int64_t round, const char *test,
                                int64_t connections);

#endif
