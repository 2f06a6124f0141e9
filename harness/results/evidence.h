/*
 * evidence - what the details of a run say about each group of cells: verdicts, marks, errors by kind, failures.
 *
 * evidence_read() walks the details once; marks go into the cells themselves (cells_mark). Groups are numbered as in
 * struct cells. What is kept is small: a few numbers a cell.
 */
#ifndef RESULTS_EVIDENCE_H
#define RESULTS_EVIDENCE_H

#include <stdint.h>

#include "base/err.h"
#include "results/cells.h"
#include "results/details.h"

enum evidence_limit {
    EVIDENCE_UNKNOWN,
    EVIDENCE_GENERATOR,
    EVIDENCE_DATABASE,
    EVIDENCE_SERVER,
    EVIDENCE_LATENCY,
    EVIDENCE_LIMITS
};

extern const char *const evidence_limit_names[EVIDENCE_LIMITS];

enum evidence_share {
    EVIDENCE_GENERATOR_PCT,
    EVIDENCE_WAIT_PCT,
    EVIDENCE_SHARED_PCT,
    EVIDENCE_SERVER_PCT,
    EVIDENCE_DATABASE_PCT,
    EVIDENCE_SHARES
};

/* In the order of the load generator's errors object. */
#define EVIDENCE_ERROR_KINDS 7
extern const char *const evidence_error_names[EVIDENCE_ERROR_KINDS];

struct evidence_sample {
    enum evidence_limit limit;
    double shares[EVIDENCE_SHARES]; /* percent; NaN: unknown */
};

struct evidence_group {
    struct evidence_sample *samples;
    uint32_t count, cap;
    enum evidence_limit limit;      /* what most rounds say; of equals the later */
    double shares[EVIDENCE_SHARES]; /* medians */
    double errors[EVIDENCE_ERROR_KINDS];
};

/* A cell that was planned and could not be measured. */
struct evidence_failure {
    char *title, *test, *phase, *reason, *log; /* "" where the details do not say */
    int64_t round;
};

struct evidence {
    struct evidence_group *groups; /* [cells.group_count]; NULL without details */
    uint32_t group_count;
    struct evidence_failure *failures;
    uint32_t failure_count;
    uint32_t reconciled, unreconciled; /* server runs */
    uint32_t unknown_cells;            /* lines whose cell the CSV does not hold */
    char fault[1024];                  /* a cut last line, as it was reported; else empty */
};

int evidence_read(const char *path, struct cells *cells, struct evidence *evidence, struct err *err);
void evidence_free(struct evidence *evidence);
/* The group of a line of the details; NULL when the CSV has none. */
struct cells_group *evidence_group(const struct cells *cells, const struct details_line *line);
/* NULL when nothing is known of the group. */
const struct evidence_group *evidence_of(const struct evidence *evidence, const struct cells *cells,
                                         const struct cells_group *group);
/* "server (CPU 97 %: server 78, db 15)": how busy the CPUs in common were, and each side's share; "" when unknown. */
void evidence_add_verdict(const struct evidence_group *group, struct text *text);

#endif
