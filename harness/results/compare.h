/*
 * compare - what changed between two runs, and whether it is more than noise.
 *
 * Nouns: base and head are the two sides (struct compare_run); a pair is a cell (row, test, phase) that both have; a
 * result is one metric of one pair, or of one pair of rows for memory and startup; a finding is what stands against the
 * comparison: a cell that is missing, failed or has errors; a note is what differs in how the two were measured.
 *
 * Rows pair by --map, then by their id of machine.json when both have one, then by title. Tests pair by name, phases by
 * connections. When base and head are the same file, rounds pair too (infer.h, INFER_PAIRED): two rows of one run.
 * Otherwise these are two sittings, and what the machine did between them is taken out by the reference rows that both
 * have, else by the calibrations of both, else it is allowed for (INFER_SITTING_SD).
 *
 * All ratios are head / base: -20 % one way is +25 % the other.
 *
 *     if (compare_make(&base, &head, &options, &compare, &err) != 0) ...    borrows both runs
 *     compare_text(&compare, &text);  compare_markdown(...);  compare_json(...);
 *     compare_free(&compare);
 *
 * Fails (ERR_CANNOT) when the two have no cell in common; then compare.aside holds lines for a person: what each side
 * has, side by side. Free it in every case.
 */
#ifndef RESULTS_COMPARE_H
#define RESULTS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/text.h"
#include "results/compare_metric.h"
#include "results/compare_run.h"
#include "results/infer.h"

/* A difference up to this is of no interest, unless --bound says otherwise. */
#define COMPARE_BOUND_PCT 3.0

struct compare_options {
    const char *const *maps; /* "A=B": base's A is head's B (titles, ids, or the modes no-auth and jwt) */
    size_t map_count;
    double bound_pct;      /* a difference up to this is of no interest; COMPARE_BOUND_PCT */
    double fail_above_pct; /* NaN: nothing fails */
    bool pool_rows;        /* all rows are builds of one server: their noise in one cell is one */
};

enum compare_verdict {
    COMPARE_BETTER,
    COMPARE_WORSE,
    COMPARE_EQUAL,
    COMPARE_CANNOT_TELL,
    COMPARE_NO_IMPROVEMENT, /* it looks better, but the cell has errors or failed */
    COMPARE_CONTROL,        /* a reference row: what it did was taken out of the others */
    COMPARE_VERDICTS
};

struct compare_row {
    uint32_t base;
    uint32_t head;
    char *label; /* the title, or both */
    bool control;
    bool tainted; /* a cell of head failed, is missing, or has errors */
};

struct compare_pair {
    size_t row;
    uint32_t base_test;
    uint32_t head_test;
    int64_t phase;
    bool tainted; /* head failed in a round, or more than 0.1 % of its requests did */
};

struct compare_result {
    enum compare_metric metric;
    size_t row;
    size_t pair; /* SIZE_MAX for metrics of rows */
    double base; /* medians of the rounds */
    double head;
    struct infer_cell infer; /* change and interval; logs of the rounds are owned */
    bool zero;               /* a side is zero: it has no ratio */
    enum compare_verdict verdict;
    double bound_pct; /* COMPARE_EQUAL */
    char *words;      /* "worse: 20 % slower" */
    bool fails;       /* worse by more than fail_above_pct */
};

enum compare_kind { COMPARE_FOUND_MISSING, COMPARE_FOUND_FAILED, COMPARE_FOUND_ERRORS, COMPARE_FOUND_UNPAIRED };

struct compare_finding {
    enum compare_kind kind;
    char *text;
    bool fails; /* head lacks or broke what base had */
};

enum compare_control { COMPARE_NO_CONTROL, COMPARE_SAME_SITTING, COMPARE_REFERENCE, COMPARE_CALIBRATION };

struct compare_strings {
    char **items;
    size_t count;
};

struct compare {
    const struct compare_run *base;
    const struct compare_run *head;
    struct compare_options options;
    enum infer_design design;
    enum compare_control control;
    double drift_pct; /* of the control, in the direction of a rate; NaN without one */
    struct infer_allowance allowance;
    struct compare_row *rows; /* controls last */
    size_t row_count;
    struct compare_pair *pairs;
    size_t pair_count;
    size_t base_cells; /* cells of each file, paired or not */
    size_t head_cells;
    struct compare_result *results; /* by metric, then row, test, phase; controls last within a metric */
    size_t result_count;
    struct compare_finding *findings;
    size_t finding_count;
    struct compare_strings notes;
    size_t verdicts[COMPARE_VERDICTS];
    bool concluded; /* false: no figure had two rounds, so nothing can be said */
    bool fails;     /* under fail_above_pct */
    struct text aside;
};

int compare_make(const struct compare_run *base, const struct compare_run *head, const struct compare_options *options,
                 struct compare *compare, struct err *err);
void compare_free(struct compare *compare);

/* "better", "worse", ... as in JSON. */
extern const char *const compare_verdict_names[COMPARE_VERDICTS];
extern const char *const compare_kind_names[];

void compare_text(const struct compare *compare, struct text *text);
void compare_markdown(const struct compare *compare, struct text *text);
/* The object of one comparison (schema/compare.schema.json). */
json_t *compare_json(const struct compare *compare);

/* "select_1, 50" and the like: which cell of its row a result is of; "" for metrics of rows. The caller's. */
char *compare_cell_name(const struct compare *compare, const struct compare_result *result);
/* "+5.9 .. +8.4", "n/a" without noise. The caller's. */
char *compare_interval(const struct compare_result *result);

/*
 * Geometric mean of the ratios of one metric, over the pairs that have one (controls apart).
 * `*of`: how many have; `*left_out`: those with a zero, "; " between, the caller's.
 */
double compare_mean_pct(const struct compare *compare, enum compare_metric metric, size_t *used, size_t *of,
                        char **left_out);

#endif
