/*
 * simulate - comparisons whose truth is known, to put results/infer to the proof: how often it raises a false alarm,
 * finds a planted change, and covers the truth. Noise as real runs have it: heavy tails, disturbances shared by a
 * round, drift between sittings, tests that are noisier than others. Own generator of random numbers: the same on every
 * machine.
 *
 * Used by the unit test (few comparisons, fixed seeds) and by `make simulate` (many).
 */
#ifndef TESTS_SIMULATE_H
#define TESTS_SIMULATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "results/infer.h"

enum tails {
    TAILS_NORMAL,
    TAILS_T3,    /* Student's t, 3 degrees of freedom */
    TAILS_MIXED, /* 9 of 10 normal, the tenth slower by a lognormal amount: a neighbour, a checkpoint */
};

struct scenario {
    const char *name;
    enum infer_design design;
    enum tails tails;
    int rows;    /* beside the control */
    int cells;   /* tests x phases of a row */
    int metrics; /* families; the first is the primary one */
    int base_rounds;
    int head_rounds;
    double noise_sd;     /* of one figure, all of it but drift */
    double shared_share; /* share of its variance that all cells of a round have in common */
    double drift_sd;     /* between the sittings */
    double uneven;       /* cells' noise differs by up to this factor, both ways; 1: even */
    double missing;      /* share of rounds that a cell lacks */
    bool control;        /* a reference row was measured in the same rounds */
    double effect_pct;   /* planted in every cell of row 0, in the primary metric */
    bool must_find;      /* at least 90 % of the planted changes are to be found */
};

struct outcome {
    int comparisons;
    int alarms;  /* comparisons in which a cell without a change was called */
    int planted; /* cells with a change */
    int found;   /* of them, called in the right direction */
    int wrong;   /* called in the wrong one */
    int intervals;
    int covering;
};

#define SIM_ROUNDS_MOST 64

static uint64_t sim_state;

static void sim_seed(uint64_t seed)
{
    sim_state = seed * 0x9E3779B97F4A7C15ULL + 1;
}

/* splitmix64; uniform in (0, 1) */
static double sim_uniform(void)
{
    uint64_t z = sim_state += 0x9E3779B97F4A7C15ULL;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

static double sim_normal(void)
{
    return sqrt(-2 * log(sim_uniform())) * cos(6.283185307179586 * sim_uniform());
}

/* Noise with a standard deviation of 1. */
static double sim_noise(enum tails tails)
{
    if (tails == TAILS_T3) {
        double chi = 0;

        double z = sim_normal();

        for (int i = 0; i < 3; i++)
            chi += pow(sim_normal(), 2);
        return z / sqrt(chi / 3) / sqrt(3);
    }
    if (tails == TAILS_MIXED) {
        double z = sim_normal();

        if (sim_uniform() < 0.1)
            z -= 1.5 * exp(0.6 * sim_normal());
        return (z + 0.17958) / 1.21695; /* mean 0.1 x 1.5 x exp(0.18), variance 1 + 0.1 x 2.25 x exp(0.72) - mean^2 */
    }
    return sim_normal();
}

struct sim_side {
    double shared[8][SIM_ROUNDS_MOST]; /* by metric and round */
};

static void sim_draw_shared(const struct scenario *s, struct sim_side *side, double drift)
{
    for (int r = 0; r < SIM_ROUNDS_MOST; r++)
        for (int m = 0; m < s->metrics; m++)
            side->shared[m][r] = drift + s->noise_sd * sqrt(s->shared_share) * sim_noise(s->tails);
}

/* A figure: 0.7 of the variance of a cell's own noise is common to all metrics of that cell and round. */
static void sim_fill(const struct scenario *s, const struct sim_side *side, int rounds, double scale, double level,
                     double *const *values)
{
    double own = s->noise_sd * sqrt(1 - s->shared_share) * scale;

    for (int r = 0; r < rounds; r++) {
        double common = sim_noise(s->tails);
        bool missing = sim_uniform() < s->missing;

        for (int m = 0; m < s->metrics; m++) {
            double noise = m == 0 ? common : sqrt(0.7) * common + sqrt(0.3) * sim_noise(s->tails);

            values[m][r] = missing ? (double)NAN : (m == 0 ? level : 0) + side->shared[m][r] + own * noise;
        }
    }
}

static void sim_cell(const struct scenario *s, const struct sim_side *base, const struct sim_side *head, int cell,
                     int group, double effect, struct infer_cell *cells, size_t stride)
{
    double scale = s->uneven > 1 ? pow(s->uneven, 2.0 * cell / (s->cells > 1 ? s->cells - 1 : 1) - 1) : 1;
    double *base_values[8], *head_values[8];

    for (int m = 0; m < s->metrics; m++) {
        base_values[m] = cells[(size_t)m * stride].base;
        head_values[m] = cells[(size_t)m * stride].head;
        cells[(size_t)m * stride].group = group;
        cells[(size_t)m * stride].base_rounds = (size_t)s->base_rounds;
        cells[(size_t)m * stride].head_rounds = (size_t)s->head_rounds;
    }
    sim_fill(s, base, s->base_rounds, scale, 0, base_values);
    sim_fill(s, head, s->head_rounds, scale, effect, head_values);
}

static struct infer_cell *sim_cells(size_t count)
{
    struct infer_cell *cells = calloc(count + 1, sizeof *cells);

    for (size_t i = 0; i < count; i++) {
        cells[i].base = calloc(SIM_ROUNDS_MOST, sizeof(double));
        cells[i].head = calloc(SIM_ROUNDS_MOST, sizeof(double));
    }
    return cells;
}

static void sim_free(struct infer_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(cells[i].base);
        free(cells[i].head);
    }
    free(cells);
}

static void sim_count(const struct scenario *s, struct infer_cell *cells, size_t family, struct outcome *outcome)
{
    double effect = log1p(s->effect_pct / 100);
    bool alarm = false;

    for (size_t i = 0; i < family * (size_t)s->metrics; i++) {
        bool planted = i < (size_t)s->cells && s->effect_pct > 0;
        double truth = planted ? effect : 0;
        struct infer_judgement judgement = infer_judge(&cells[i], s->design, 3);

        if (cells[i].state != INFER_OK)
            continue;
        outcome->intervals++;
        outcome->covering += cells[i].low <= truth && truth <= cells[i].high;
        outcome->planted += planted;
        outcome->found += planted && judgement.verdict == INFER_HIGHER;
        outcome->wrong += planted && judgement.verdict == INFER_LOWER;
        alarm = alarm || (!planted && (judgement.verdict == INFER_HIGHER || judgement.verdict == INFER_LOWER));
    }
    outcome->comparisons++;
    outcome->alarms += alarm;
}

/* One comparison from start to verdicts, as results/compare does it. */
static void sim_compare(const struct scenario *s, struct outcome *outcome)
{
    size_t family = (size_t)s->rows * (size_t)s->cells, control_count = (size_t)s->cells;
    struct infer_cell *cells = sim_cells(family * (size_t)s->metrics);
    struct infer_cell *control = sim_cells(control_count * (size_t)s->metrics);
    struct infer_cell **all = calloc(family * (size_t)s->metrics, sizeof(struct infer_cell *));
    struct infer_allowance allowance = {.sd = 0, .df = INFINITY};
    struct sim_side base, head;

    if (!s->control && s->design == INFER_TWO_SITTINGS)
        allowance.sd = INFER_SITTING_SD;
    sim_draw_shared(s, &base, 0);
    sim_draw_shared(s, &head, s->drift_sd * sim_normal());
    /* What disturbs a pair disturbs its sides alike in part only: they are measured one after the other. */
    for (int r = 0; s->design == INFER_PAIRED && r < SIM_ROUNDS_MOST; r++)
        for (int m = 0; m < s->metrics; m++)
            head.shared[m][r] = (head.shared[m][r] + base.shared[m][r]) / sqrt(2);
    for (int row = 0; row < s->rows; row++)
        for (int c = 0; c < s->cells; c++)
            sim_cell(s, &base, &head, c, row * s->cells + c, row == 0 ? log1p(s->effect_pct / 100) : 0,
                     &cells[row * s->cells + c], family);
    for (int c = 0; c < s->cells; c++)
        sim_cell(s, &base, &head, c, c, 0, &control[c], control_count);
    for (int m = 0; m < s->metrics; m++) {
        struct infer_cell *of_metric = &cells[(size_t)m * family];

        if (s->control)
            infer_remove_control(of_metric, family, &control[(size_t)m * control_count], control_count);
        infer_fit(of_metric, family, s->design, &allowance);
    }
    infer_share(cells, family, s->metrics > 1 ? INFER_PRIMARY_SHARE : 1);
    infer_share(cells + family, family * (size_t)(s->metrics - 1), 1 - INFER_PRIMARY_SHARE);
    for (size_t i = 0; i < family * (size_t)s->metrics; i++)
        all[i] = &cells[i];
    infer_holm(all, family * (size_t)s->metrics);
    sim_count(s, cells, family, outcome);
    free(all);
    sim_free(cells, family * (size_t)s->metrics);
    sim_free(control, control_count * (size_t)s->metrics);
}

static struct outcome sim_run(const struct scenario *s, int comparisons, uint64_t seed)
{
    struct outcome outcome = {0};

    sim_seed(seed);
    for (int i = 0; i < comparisons; i++)
        sim_compare(s, &outcome);
    return outcome;
}

#endif
