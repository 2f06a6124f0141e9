#include "results/infer.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

/* A change is called only where the permutation test is below this, or as low as it can get. */
#define EXACT_ALPHA 0.05
#define ROUNDS_MOST 1000

void infer_share(struct infer_cell *cells, size_t count, double share)
{
    size_t fitted = 0;

    for (size_t c = 0; c < count; c++)
        fitted += cells[c].state == INFER_OK;
    for (size_t c = 0; c < count; c++)
        cells[c].weight = cells[c].state == INFER_OK ? share / (double)fitted : 0;
}

static int by_weighted_p(const void *a, const void *b)
{
    const struct infer_cell *x = *(struct infer_cell *const *)a;
    const struct infer_cell *y = *(struct infer_cell *const *)b;
    double p = x->p / x->weight;
    double q = y->p / y->weight;

    return (p > q) - (p < q);
}

void infer_holm(struct infer_cell **cells, size_t count)
{
    double left = 0, most = 0;
    size_t fitted = 0;

    for (size_t i = 0; i < count; i++) {
        cells[i]->p_adjusted = 1;
        if (cells[i]->state != INFER_OK || cells[i]->weight <= 0)
            continue;
        left += cells[i]->weight;
        struct infer_cell *swap = cells[fitted];

        cells[fitted++] = cells[i];
        cells[i] = swap;
    }
    qsort(cells, fitted, sizeof(struct infer_cell *), by_weighted_p);
    for (size_t i = 0; i < fitted; i++) {
        most = fmax(most, fmin(1, cells[i]->p * left / cells[i]->weight));
        cells[i]->p_adjusted = most;
        left -= cells[i]->weight;
    }
}

/* How many rounds a side bring the interval's half width to `reach`, when noise stays as it is. -1: no number does. */
static int rounds_for(const struct infer_cell *cell, enum infer_design design, double reach)
{
    double sides = design == INFER_TWO_SITTINGS ? 2 : 1;

    for (int n = 2; n <= ROUNDS_MOST; n++) {
        double se = sqrt(cell->noise_sd * cell->noise_sd * sides / n + cell->fixed_se * cell->fixed_se);

        if (gsl_cdf_tdist_Pinv((1 + INFER_CONFIDENCE) / 2, fmax(cell->df, n - 1)) * se <= reach)
            return n;
    }
    return -1;
}

struct infer_judgement infer_judge(const struct infer_cell *cell, enum infer_design design, double bound_pct)
{
    struct infer_judgement judgement = {.verdict = INFER_CANNOT_TELL};
    double bound = log1p(bound_pct / 100);
    double widest, reach;
    int have, need;

    if (cell->state != INFER_OK)
        return judgement;
    widest = fmax(fabs(infer_pct(cell->low)), fabs(infer_pct(cell->high)));
    if (widest > INFER_TRIVIAL_PCT && cell->p_adjusted <= INFER_ALPHA &&
        cell->p_exact <= fmax(EXACT_ALPHA, cell->p_least + 1e-12)) {
        judgement.verdict = cell->change > 0 ? INFER_HIGHER : INFER_LOWER;
        return judgement;
    }
    if (widest <= bound_pct || widest <= INFER_TRIVIAL_PCT) {
        judgement.verdict = INFER_EQUAL;
        judgement.bound_pct = widest;
        return judgement;
    }
    /* Enough to say "changed" if it is as large as it looks, or else "no difference above the bound". */
    reach = fmax(bound / 2, fmax(fabs(cell->change) / 2, bound - fabs(cell->change)));
    need = rounds_for(cell, design, reach);
    have = (int)(cell->head_used < cell->base_used || design == INFER_LEVEL ? cell->head_used : cell->base_used);
    judgement.rounds_more = need < 0 ? -1 : need > have ? need - have : 1;
    return judgement;
}
