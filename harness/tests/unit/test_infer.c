#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "results/infer.h"
#include "results/infer_exact.h"
#include "results/infer_robust.h"
#include "tests/simulate/simulate.h"

#define ROUNDS 5

static double logs[16][2][ROUNDS];
static struct infer_cell cells[16];

/* Cells of the same noise, base around 100 and head around 100 + change %. */
static void make(size_t count, const double *change_pct, double noise_pct)
{
    static const double wiggle[2][ROUNDS] = {{-1, 0.4, 1, -0.6, 0.2}, {0.7, -1, 0.1, 0.9, -0.5}};

    for (size_t c = 0; c < count; c++) {
        for (int r = 0; r < ROUNDS; r++) {
            logs[c][0][r] = infer_log(100 * (1 + noise_pct / 100 * wiggle[c % 2][(r + (int)c) % ROUNDS]));
            logs[c][1][r] = infer_log((100 + change_pct[c]) *
                                      (1 + noise_pct / 100 * wiggle[(c + 1) % 2][(r + 2 * (int)c + 1) % ROUNDS]));
        }
        cells[c] = (struct infer_cell){
            .base = logs[c][0], .head = logs[c][1], .base_rounds = ROUNDS, .head_rounds = ROUNDS, .group = (int)c};
    }
}

static void fit(size_t count, enum infer_design design)
{
    struct infer_cell *all[16];

    infer_fit(cells, count, design, NULL);
    infer_share(cells, count, 1);
    for (size_t c = 0; c < count; c++)
        all[c] = &cells[c];
    infer_holm(all, count);
}

static void logs_exist_of_positive_numbers_only(void **state)
{
    (void)state;
    assert_true(isnan(infer_log(0)));
    assert_true(isnan(infer_log(-1)));
    assert_true(isnan(infer_log(NAN)));
    assert_true(isnan(infer_log(INFINITY)));
    assert_true(fabs(infer_pct(infer_log(1.25)) - 25) < 1e-9);
}

static void one_disturbed_round_does_not_move_the_level(void **state)
{
    static const double values[] = {1.00, 1.01, 0.99, 1.02, 5};

    (void)state;
    assert_true(fabs(infer_location(values, 5, 0.01) - 1.01) < 0.01);
    assert_true(fabs(infer_location(values, 3, 0.01) - 1.0) < 1e-9);
    assert_true(fabs(infer_median(values, 4) - 1.005) < 1e-9);
}

static void permutations_are_counted_exactly(void **state)
{
    static const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10}, same[] = {2, 2, 2, 2};
    double least;

    (void)state;
    assert_true(fabs(infer_exact_two(low, 5, high, 5, &least) - 2.0 / 252) < 1e-12);
    assert_true(fabs(least - 2.0 / 252) < 1e-12);
    assert_true(fabs(infer_exact_two(low, 3, high, 3, &least) - 0.1) < 1e-12);
    /* 5 of 1..6 against one: the odd one out at an end */
    assert_true(fabs(infer_exact_two(low, 5, high, 1, &least) - 2.0 / 6) < 1e-12);
    assert_true(fabs(infer_exact_two(same, 4, same, 4, &least) - 1) < 1e-12);
    assert_true(fabs(least - 1) < 1e-12);
    assert_true(fabs(infer_exact_paired(low, 5, &least) - 2.0 / 32) < 1e-12);
    assert_true(fabs(least - 2.0 / 32) < 1e-12);
    assert_true(fabs(infer_exact_two(low, 0, high, 5, &least) - 1) < 1e-12);
}

static void tied_ranks_are_shared(void **state)
{
    static const double a[] = {1, 2}, b[] = {2, 3};
    double least, p;

    (void)state;
    /* mean ranks 1, 2.5, 2.5, 4: sums of two of them 3.5 3.5 5 5 6.5 6.5; a has 3.5: 4 of 6 are as far from 5 */
    p = infer_exact_two(a, 2, b, 2, &least);
    assert_true(fabs(p - 4.0 / 6) < 1e-12);
    assert_true(fabs(least - 4.0 / 6) < 1e-12);
}

static void variances_that_agree_are_pooled(void **state)
{
    struct infer_variance alike[] = {{1.0, 4}, {1.2, 4}, {0.9, 4}, {0, 0}};
    struct infer_variance apart[] = {{1.0, 40}, {100.0, 40}};

    (void)state;
    infer_moderate(alike, 4, 1e-9);
    assert_true(fabs(alike[0].value - alike[2].value) < 0.1);
    assert_true(alike[0].df > 8);
    assert_true(alike[3].value > 0.8 && alike[3].value < 1.3 && alike[3].df > 0);
    infer_moderate(apart, 2, 1e-9);
    assert_true(apart[0].value < 5 && apart[1].value > 90);
}

static void a_change_is_found_and_none_is_bounded(void **state)
{
    double change[] = {10, 0, -10, 0};

    (void)state;
    make(4, change, 1);
    fit(4, INFER_TWO_SITTINGS);
    assert_int_equal(infer_judge(&cells[0], INFER_TWO_SITTINGS, 3).verdict, INFER_HIGHER);
    assert_int_equal(infer_judge(&cells[2], INFER_TWO_SITTINGS, 3).verdict, INFER_LOWER);
    assert_int_equal(infer_judge(&cells[1], INFER_TWO_SITTINGS, 3).verdict, INFER_EQUAL);
    assert_true(infer_judge(&cells[1], INFER_TWO_SITTINGS, 3).bound_pct < 3);
    assert_true(infer_pct(cells[0].low) < 10 && infer_pct(cells[0].high) > 10);
    /* swapped sides give the mirrored ratio */
    assert_true(fabs(infer_pct(-cells[0].change) + 100 * (1 - 1 / 1.1)) < 1);
}

static void too_much_noise_cannot_tell_and_says_how_many_rounds(void **state)
{
    double change[] = {3, 1};
    struct infer_judgement judgement;

    (void)state;
    make(2, change, 8);
    fit(2, INFER_TWO_SITTINGS);
    judgement = infer_judge(&cells[0], INFER_TWO_SITTINGS, 3);
    assert_int_equal(judgement.verdict, INFER_CANNOT_TELL);
    assert_true(judgement.rounds_more > 5);
    /* an allowance that rounds do not lower */
    infer_fit(cells, 2, INFER_TWO_SITTINGS, &(struct infer_allowance){.sd = 0.1, .df = INFINITY});
    assert_int_equal(infer_judge(&cells[0], INFER_TWO_SITTINGS, 3).rounds_more, -1);
}

static void a_trivial_change_is_no_difference(void **state)
{
    double change[] = {0.3, 0.3, 5};
    struct infer_judgement judgement;

    (void)state;
    make(3, change, 0.01);
    fit(3, INFER_TWO_SITTINGS);
    assert_true(cells[0].p_adjusted < 0.01);
    judgement = infer_judge(&cells[0], INFER_TWO_SITTINGS, 0.1);
    assert_int_equal(judgement.verdict, INFER_EQUAL);
    assert_true(judgement.bound_pct > 0.3 && judgement.bound_pct < 0.5);
    assert_int_equal(infer_judge(&cells[2], INFER_TWO_SITTINGS, 10).verdict, INFER_HIGHER);
}

static void odd_shapes_have_a_state(void **state)
{
    double change[] = {0, 0, 5};

    (void)state;
    /* one round a side in one cell: the noise of the others serves; one side empty; all equal */
    make(3, change, 1);
    cells[0].base_rounds = cells[0].head_rounds = 1;
    for (int r = 0; r < ROUNDS; r++)
        logs[1][1][r] = NAN;
    logs[2][0][1] = NAN;
    fit(3, INFER_TWO_SITTINGS);
    assert_int_equal(cells[0].state, INFER_OK);
    assert_true(cells[0].se > cells[2].se);
    assert_int_equal(cells[1].state, INFER_EMPTY);
    assert_true(isnan(cells[1].change));
    assert_int_equal(infer_judge(&cells[1], INFER_TWO_SITTINGS, 3).verdict, INFER_CANNOT_TELL);
    assert_int_equal(cells[2].base_used, 4);
    /* one round everywhere: the change is known, the noise is not */
    make(2, change, 1);
    cells[0].base_rounds = cells[0].head_rounds = cells[1].base_rounds = cells[1].head_rounds = 1;
    fit(2, INFER_TWO_SITTINGS);
    assert_int_equal(cells[0].state, INFER_NO_NOISE);
    assert_true(isfinite(cells[0].change) && isnan(cells[0].low));
    assert_int_equal(infer_judge(&cells[0], INFER_TWO_SITTINGS, 3).verdict, INFER_CANNOT_TELL);
    /* no noise at all */
    make(3, change, 0);
    fit(3, INFER_TWO_SITTINGS);
    assert_int_equal(infer_judge(&cells[0], INFER_TWO_SITTINGS, 3).verdict, INFER_EQUAL);
    assert_int_equal(infer_judge(&cells[2], INFER_TWO_SITTINGS, 3).verdict, INFER_HIGHER);
    infer_fit(cells, 0, INFER_TWO_SITTINGS, NULL);
}

static void a_control_takes_drift_out(void **state)
{
    double change[] = {6, 6, 6, 6};
    struct infer_cell control[2];

    (void)state;
    make(4, change, 1);
    control[0] = cells[2];
    control[1] = cells[3];
    logs[3][1][2] = NAN;
    assert_true(infer_remove_control(cells, 2, control, 2));
    fit(2, INFER_TWO_SITTINGS);
    assert_true(fabs(infer_pct(cells[0].change)) < 2);
    control[0].base_rounds = control[1].base_rounds = 0;
    assert_false(infer_remove_control(cells, 2, control, 2));
}

static void pairs_ignore_what_both_sides_share(void **state)
{
    double change[] = {2, 2};

    (void)state;
    make(2, change, 0.2);
    for (int r = 0; r < ROUNDS; r++)
        for (int side = 0; side < 2; side++)
            for (int c = 0; c < 2; c++)
                logs[c][side][r] += 0.2 * (r % 3);
    fit(2, INFER_PAIRED);
    assert_int_equal(infer_judge(&cells[0], INFER_PAIRED, 3).verdict, INFER_HIGHER);
    fit(2, INFER_TWO_SITTINGS);
    assert_int_equal(infer_judge(&cells[0], INFER_TWO_SITTINGS, 3).verdict, INFER_CANNOT_TELL);
}

/* Bounds are those of the method plus three standard errors of so few comparisons; `make simulate` is the long form. */
static void simulated_comparisons_keep_their_promises(void **state)
{
    static const struct scenario scenarios[] = {
#include "tests/simulate/scenarios.h"
    };

    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        const struct scenario *s = &scenarios[i];
        int comparisons = s->rows > 1 ? 30 : 80;
        struct outcome o = sim_run(s, comparisons, 7 + i);
        double covered = 100.0 * o.covering / o.intervals;
        double off = 2 + 300 * sqrt(0.05 * 0.95 / o.intervals);

        if (o.alarms > comparisons * 0.05 + 3 * sqrt(comparisons * 0.05 * 0.95) || fabs(covered - 95) > off ||
            o.wrong > 0 || (s->must_find && o.found < 0.9 * o.planted))
            fail_msg("%s: %d alarms of %d, %.1f %% covered, %d of %d found, %d wrong", s->name, o.alarms, o.comparisons,
                     covered, o.found, o.planted, o.wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_exist_of_positive_numbers_only),
        cmocka_unit_test(one_disturbed_round_does_not_move_the_level),
        cmocka_unit_test(permutations_are_counted_exactly),
        cmocka_unit_test(tied_ranks_are_shared),
        cmocka_unit_test(variances_that_agree_are_pooled),
        cmocka_unit_test(a_change_is_found_and_none_is_bounded),
        cmocka_unit_test(too_much_noise_cannot_tell_and_says_how_many_rounds),
        cmocka_unit_test(a_trivial_change_is_no_difference),
        cmocka_unit_test(odd_shapes_have_a_state),
        cmocka_unit_test(a_control_takes_drift_out),
        cmocka_unit_test(pairs_ignore_what_both_sides_share),
        cmocka_unit_test(simulated_comparisons_keep_their_promises),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
