#include "results/infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "base/text.h"
#include "results/infer_exact.h"
#include "results/infer_robust.h"

/* Where the exact test has this many rounds or fewer it is asked; beyond, ranks and t cannot disagree by luck. */
#define EXACT_ROUNDS_MOST 40

/* However much noise was pooled, the tails of what rounds really do are never nearer to normal than this. */
#define POOLED_DF_MOST 30.0

/* The usable rounds of one cell and side. */
struct sample {
    size_t cell;
    size_t count;
    size_t *rounds;
    double *values;
    double location;
};

struct fit {
    struct infer_cell *cells;
    size_t cell_count;
    enum infer_design design;
    struct sample *samples; /* two a cell: head, base (empty but for INFER_TWO_SITTINGS) */
    size_t *group_of;       /* of each cell: 0.. */
    size_t group_count;
    double *clip;  /* of each group: scale that residuals are clipped by, before Huber's k */
    size_t rounds; /* the most of any side */
};

double infer_log(double value)
{
    return isfinite(value) && value > 0 ? log(value) : (double)NAN;
}

double infer_pct(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

static void take_sample(struct sample *sample, size_t cell, const double *plus, size_t plus_rounds, const double *minus,
                        size_t minus_rounds)
{
    size_t rounds = minus != NULL && minus_rounds < plus_rounds ? minus_rounds : plus_rounds;

    sample->cell = cell;
    sample->values = text_alloc((rounds + 1) * sizeof *sample->values);
    sample->rounds = text_alloc((rounds + 1) * sizeof *sample->rounds);
    for (size_t r = 0; r < rounds; r++) {
        double value = minus == NULL ? plus[r] : plus[r] - minus[r];

        if (!isfinite(value))
            continue;
        sample->rounds[sample->count] = r;
        sample->values[sample->count++] = value;
    }
}

static void fit_open(struct fit *fit, struct infer_cell *cells, size_t count, enum infer_design design)
{
    *fit = (struct fit){.cells = cells, .cell_count = count, .design = design};
    fit->samples = text_alloc((2 * count + 1) * sizeof *fit->samples);
    fit->group_of = text_alloc((count + 1) * sizeof *fit->group_of);
    for (size_t c = 0; c < count; c++) {
        struct infer_cell *cell = &cells[c];
        bool paired = design == INFER_PAIRED;
        size_t other = 0;

        take_sample(&fit->samples[2 * c], c, cell->head, cell->head_rounds, paired ? cell->base : NULL,
                    cell->base_rounds);
        fit->samples[2 * c + 1].cell = c;
        if (design == INFER_TWO_SITTINGS)
            take_sample(&fit->samples[2 * c + 1], c, cell->base, cell->base_rounds, NULL, 0);
        while (other < c && cells[other].group != cell->group)
            other++;
        fit->group_of[c] = other < c ? fit->group_of[other] : fit->group_count++;
        if (cell->head_rounds > fit->rounds)
            fit->rounds = cell->head_rounds;
        if (cell->base_rounds > fit->rounds)
            fit->rounds = cell->base_rounds;
    }
}

static void fit_close(struct fit *fit)
{
    for (size_t s = 0; s < 2 * fit->cell_count; s++) {
        free(fit->samples[s].values);
        free(fit->samples[s].rounds);
    }
    free(fit->samples);
    free(fit->group_of);
    free(fit->clip);
}

/* The scale at which residuals are clipped: of the group, steadied by that of all groups. */
static void find_clips(struct fit *fit)
{
    struct infer_variance *groups = text_alloc((fit->group_count + 1) * sizeof *groups);
    struct infer_pairs *pairs = text_alloc((fit->group_count + 1) * sizeof *pairs);

    for (size_t s = 0; s < 2 * fit->cell_count; s++) {
        struct sample *sample = &fit->samples[s];
        size_t group = fit->group_of[sample->cell];

        infer_pairs_add(&pairs[group], sample->values, sample->count);
        if (sample->count > 1)
            groups[group].df += (double)(sample->count - 1) / 2; /* a median of pairs is worth about half */
    }
    for (size_t g = 0; g < fit->group_count; g++) {
        groups[g].value = pow(infer_pairs_scale(&pairs[g]), 2);
        infer_pairs_free(&pairs[g]);
    }
    infer_moderate(groups, fit->group_count, INFER_RESOLUTION * INFER_RESOLUTION);
    fit->clip = text_alloc((fit->group_count + 1) * sizeof *fit->clip);
    for (size_t g = 0; g < fit->group_count; g++)
        fit->clip[g] = fmax(sqrt(groups[g].value), INFER_RESOLUTION);
    free(pairs);
    free(groups);
}

/*
 * How much the cells of a round move together: the mean product of their clipped residuals, relative to the mean
 * square. Residuals are of samples whose level was estimated; numerator and denominator shrink alike.
 */
static double correlation(const struct fit *fit)
{
    double products = 0, pairs = 0, squares = 0, count = 0;

    for (int side = 0; side < 2; side++) {
        double *sum = text_alloc((fit->rounds + 1) * sizeof *sum);
        double *square = text_alloc((fit->rounds + 1) * sizeof *square);
        double *n = text_alloc((fit->rounds + 1) * sizeof *n);

        for (size_t c = 0; c < fit->cell_count; c++) {
            const struct sample *sample = &fit->samples[2 * c + (size_t)side];
            double reach = INFER_HUBER_K;

            for (size_t i = 0; sample->count > 1 && i < sample->count; i++) {
                double z = (sample->values[i] - sample->location) / fit->clip[fit->group_of[c]];
                size_t r = sample->rounds[i];

                z = fmax(-reach, fmin(reach, z));
                sum[r] += z;
                square[r] += z * z;
                n[r] += 1;
            }
        }
        for (size_t r = 0; r < fit->rounds; r++) {
            products += sum[r] * sum[r] - square[r];
            pairs += n[r] * (n[r] - 1);
            squares += square[r];
            count += n[r];
        }
        free(sum);
        free(square);
        free(n);
    }
    if (pairs <= 0 || squares <= 0)
        return 0;
    return fmax(0, fmin(1, products / pairs / (squares / count)));
}

/* Variances of the groups from winsorised residuals, with Huber's factor for what clipping takes from them. */
static void find_variances(const struct fit *fit, struct infer_variance *groups)
{
    double total = 0, inside = 0, spent = 0, all_df = 0, all_cells = 0, rho = correlation(fit), share, factor;
    size_t *members = text_alloc((fit->group_count + 1) * sizeof *members);

    for (size_t s = 0; s < 2 * fit->cell_count; s++) {
        const struct sample *sample = &fit->samples[s];
        size_t group = fit->group_of[sample->cell];
        double reach = INFER_HUBER_K * fit->clip[group];

        if (sample->count < 2)
            continue;
        if (s % 2 == 0)
            members[group]++;
        groups[group].df += (double)(sample->count - 1);
        spent += 1;
        for (size_t i = 0; i < sample->count; i++) {
            double residual = sample->values[i] - sample->location;

            total += 1;
            inside += fabs(residual) < reach;
            groups[group].value += pow(fmax(-reach, fmin(reach, residual)), 2);
        }
    }
    share = total > 0 ? inside / total : 1;
    factor = total > 0 && share > 0 ? (1 + spent / total * (1 - share) / share) / share : 1;
    for (size_t g = 0; g < fit->group_count; g++) {
        double cells = members[g] > 0 ? (double)members[g] : 1;

        if (groups[g].df <= 0)
            continue;
        all_df += groups[g].df;
        all_cells += cells;
        groups[g].value *= factor * factor / groups[g].df;
        groups[g].df /= 1 + (cells - 1) * rho * rho;
    }
    infer_moderate(groups, fit->group_count, INFER_RESOLUTION * INFER_RESOLUTION);
    /* What is borrowed from other groups was seen in the same rounds: together they are worth no more than this. */
    all_df = fmin(POOLED_DF_MOST, all_df / (1 + (all_cells - 1) * rho * rho));
    for (size_t g = 0; g < fit->group_count; g++)
        groups[g].df = fmin(groups[g].df, all_df);
    free(members);
}

static void locate(struct fit *fit)
{
    for (size_t s = 0; s < 2 * fit->cell_count; s++) {
        struct sample *sample = &fit->samples[s];

        if (sample->count > 0)
            sample->location = infer_location(sample->values, sample->count, fit->clip[fit->group_of[sample->cell]]);
    }
}

/* Variances that are added, each with its degrees of freedom (Satterthwaite). */
static void add_variance(double *variance, double *df, double more, double more_df)
{
    double weight = *variance * *variance / *df + (more > 0 ? more * more / more_df : 0);

    *variance += more;
    *df = weight > 0 ? fmin(1e4, *variance * *variance / weight) : *df;
}

static void exact(const struct fit *fit, struct infer_cell *cell, const struct sample *head, const struct sample *base)
{
    cell->p_exact = 0;
    cell->p_least = 0;
    if (fit->design == INFER_LEVEL || head->count > EXACT_ROUNDS_MOST || base->count > EXACT_ROUNDS_MOST)
        return;
    if (fit->design == INFER_PAIRED)
        cell->p_exact = infer_exact_paired(head->values, head->count, &cell->p_least);
    else
        cell->p_exact = infer_exact_two(head->values, head->count, base->values, base->count, &cell->p_least);
}

static void fit_cell(const struct fit *fit, size_t index, const struct infer_variance *noise,
                     const struct infer_allowance *allowance)
{
    struct infer_cell *cell = &fit->cells[index];
    const struct sample *head = &fit->samples[2 * index];
    const struct sample *base = head + 1;
    bool two = fit->design == INFER_TWO_SITTINGS;
    double variance, df, reach;

    cell->head_used = head->count;
    cell->base_used = fit->design == INFER_PAIRED ? head->count : base->count;
    cell->p = cell->p_adjusted = cell->p_exact = cell->p_least = 1;
    cell->change = cell->se = cell->low = cell->high = cell->noise_sd = cell->df = (double)NAN;
    cell->fixed_se = allowance != NULL ? allowance->sd : 0;
    cell->state = INFER_EMPTY;
    if (head->count == 0 || (two && base->count == 0))
        return;
    cell->change = head->location - (two ? base->location : 0);
    cell->state = INFER_NO_NOISE;
    if (noise->df <= 0)
        return;
    cell->state = INFER_OK;
    cell->noise_sd = sqrt(noise->value);
    variance = noise->value * (1 / (double)head->count + (two ? 1 / (double)base->count : 0));
    df = noise->df;
    if (cell->fixed_se > 0)
        add_variance(&variance, &df, cell->fixed_se * cell->fixed_se, allowance->df);
    cell->se = sqrt(variance);
    cell->df = df;
    reach = gsl_cdf_tdist_Pinv((1 + INFER_CONFIDENCE) / 2, df) * cell->se;
    cell->low = cell->change - reach;
    cell->high = cell->change + reach;
    cell->p = fmin(1, 2 * gsl_cdf_tdist_Q(fabs(cell->change) / cell->se, df));
    exact(fit, cell, head, base);
}

void infer_fit(struct infer_cell *cells, size_t count, enum infer_design design,
               const struct infer_allowance *allowance)
{
    struct infer_variance *groups;
    struct fit fit;

    fit_open(&fit, cells, count, design);
    groups = text_alloc((fit.group_count + 1) * sizeof *groups);
    find_clips(&fit);
    locate(&fit);
    find_variances(&fit, groups);
    for (size_t c = 0; c < count; c++)
        fit_cell(&fit, c, &groups[fit.group_of[c]], allowance);
    free(groups);
    fit_close(&fit);
}
