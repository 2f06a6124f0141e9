/*
 * infer - is a difference between two sets of rounds more than noise? Pure statistics: no files, no clocks, no titles.
 *
 * A cell is one figure of one row, test and phase, measured in some rounds on the base and on the head side; a family
 * is the cells of one metric (all rates, or all p99) in one comparison. Figures are natural logarithms, so that a
 * change is a ratio and halving is as far from equal as doubling.
 *
 * Model: log figure = level of the cell and side + what its sitting or round does to all cells + noise of its own.
 *   - What a sitting or a round does to all cells is taken out by a control (a reference row measured in the same
 *     rounds) where there is one: infer_remove_control().
 *   - Level: Huber's location per cell and side (k = 1.5), so that one disturbed round moves it little.
 *   - Noise: winsorised residuals, pooled over the cells of a group, and the groups' variances drawn towards each other
 * as far as they agree (Smyth 2004, moderated t; in a comparison each cell is a group: how comparable cells are is for
 *     the data to say): that is why three
 *     rounds can be enough. Rounds whose cells move together lower the degrees of freedom by the design effect
 *     1 + (cells - 1) rho^2; more than 30 are never used, because real noise has heavier tails than the normal one.
 *   - 95 % interval and p-value: Student's t.
 *   - Cross-check without any model: the exact permutation distribution of the rank sum (two sittings) or of the signed
 *     ranks (paired). A change is called only where it agrees as far as so many rounds can (infer_exact.h).
 *   - Many cells: Holm over all cells and metrics of one comparison, at 5 % for the whole comparison, of which one half
 *     belongs to the rates and the other to all other metrics. Hence, when nothing changed, at most 5 of 100
 *     comparisons raise any alarm. Intervals are 95 % each, by themselves.
 * All of this is put to the proof by `make simulate` and, in short, by the unit tests.
 *
 * Student's t, its quantile, and trigamma come from GSL: own code for these would be longer than the rest of the
 * method.
 *
 * Sequence: fill cells (infer_log of each figure) -> infer_remove_control() -> infer_fit() for each family ->
 * infer_holm() over all families -> infer_judge() per cell. Nothing here can fail; what cannot be said has a state.
 */
#ifndef RESULTS_INFER_H
#define RESULTS_INFER_H

#include <stdbool.h>
#include <stddef.h>

#define INFER_CONFIDENCE 0.95
#define INFER_ALPHA 0.05
/* Share of INFER_ALPHA that the primary family (rates) may spend. */
#define INFER_PRIMARY_SHARE 0.5
/* No noise is believed to be smaller than this (as a log): figures are printed with about four digits. */
#define INFER_RESOLUTION 5e-4
/* An interval within +-this is no difference, even where it does not hold zero: nobody acts on it. */
#define INFER_TRIVIAL_PCT 0.5
/* Between two sittings without a control a machine may have changed by this much (standard deviation, as a log). */
#define INFER_SITTING_SD 0.02

enum infer_design {
    INFER_TWO_SITTINGS, /* rounds of base and head are independent */
    INFER_PAIRED,       /* round r of base and of head were measured one after the other: differences are taken */
    INFER_LEVEL,        /* only head is looked at: the level itself and its interval */
};

enum infer_state {
    INFER_OK = 0,
    INFER_EMPTY,   /* a side has no usable round */
    INFER_NO_NOISE /* no cell of the family has two rounds on a side: noise is unknown, the change is not */
};

struct infer_cell {
    /* input: logs by round, NaN where missing; borrowed, infer_remove_control() writes into them */
    double *base;
    double *head;
    size_t base_rounds;
    size_t head_rounds;
    int group;     /* cells with one number are comparable: their noise is pooled */
    double weight; /* share of INFER_ALPHA; set by infer_share() */
    /* output */
    enum infer_state state;
    size_t base_used; /* rounds that took part */
    size_t head_used;
    double change;   /* log ratio head / base (INFER_LEVEL: log level) */
    double noise_sd; /* of one round, as a log */
    double se;       /* standard error of change, allowance included */
    double fixed_se; /* the part of it that more rounds do not lower */
    double df;
    double low; /* 95 % interval of change */
    double high;
    double p;          /* two-sided, of "no change" */
    double p_exact;    /* exact permutation test, two-sided */
    double p_least;    /* the least that p_exact can be with these rounds */
    double p_adjusted; /* after Holm; 1 until infer_holm() */
};

/* What a comparison of two sittings cannot know about the machine. */
struct infer_allowance {
    double sd; /* log, 0: none */
    double df; /* degrees of freedom behind sd; INFINITY where it is a constant */
};

/* Natural logarithm; NaN for zero, negative and not finite values, which have none. */
double infer_log(double value);
/* A log ratio as a percentage: 0.0953 -> 10. */
double infer_pct(double log_ratio);

/*
 * Takes what the control's cells did together, in each round and side, out of `cells`. A round in which the control is
 * missing is corrected by the control's mean over its side. Returns false, and changes nothing, when the control has no
 * cell that was measured on both sides.
 */
bool infer_remove_control(struct infer_cell *cells, size_t count, const struct infer_cell *control,
                          size_t control_count);

/* Fills the output of the cells of one family (but p_adjusted). */
void infer_fit(struct infer_cell *cells, size_t count, enum infer_design design,
               const struct infer_allowance *allowance);

/* Divides `share` of INFER_ALPHA equally among the family's cells that were fitted. */
void infer_share(struct infer_cell *cells, size_t count, double share);
/* Weighted Holm over all cells of a comparison (pointers into its families). */
void infer_holm(struct infer_cell **cells, size_t count);

enum infer_verdict {
    INFER_HIGHER, /* head is above base, by more than noise */
    INFER_LOWER,  /* below */
    INFER_EQUAL,  /* the whole interval lies within +-bound */
    INFER_CANNOT_TELL
};

struct infer_judgement {
    enum infer_verdict verdict;
    double bound_pct; /* EQUAL: no difference of more than this */
    int rounds_more; /* CANNOT_TELL: about so many more rounds a side would do; -1: more rounds would not; 0: unknown */
};

/* `bound_pct`: a difference up to this is of no interest ("no difference of more than"). */
struct infer_judgement infer_judge(const struct infer_cell *cell, enum infer_design design, double bound_pct);

#endif
