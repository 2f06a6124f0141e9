#include "study/plan.h"

#include <stdlib.h>

#include "base/text.h"

void plan_make(const struct study *study, size_t row_count, const bool *chosen, struct plan *plan)
{
    size_t rounds = (size_t)study->rounds;
    size_t n = 0;

    plan->cells =
        text_realloc(NULL, rounds * row_count * study->test_count * study->phase_count + 1, sizeof *plan->cells);
    for (size_t round = 1; round <= rounds; round++) {
        bool backwards = study->alternating && round % 2 == 0;

        for (size_t i = 0; i < row_count; i++) {
            size_t row = backwards ? row_count - 1 - i : i;

            for (size_t test = 0; test < study->test_count; test++)
                for (size_t phase = 0; chosen[test] && phase < study->phase_count; phase++)
                    plan->cells[n++] = (struct plan_cell){row, round, test, phase};
        }
    }
    plan->count = n;
}

void plan_free(struct plan *plan)
{
    free(plan->cells);
    *plan = (struct plan){0};
}

bool plan_starts_server(const struct plan *plan, size_t i)
{
    return i == 0 || plan->cells[i].row != plan->cells[i - 1].row || plan->cells[i].round != plan->cells[i - 1].round;
}

bool plan_starts_test(const struct plan *plan, size_t i)
{
    return plan_starts_server(plan, i) || plan->cells[i].test != plan->cells[i - 1].test;
}

/* Seen on two shared cores; only the first estimate rests on them, later ones on what cells really took. */
static const double start_and_check_s = 3.0;
static const double reset_s = 0.7;
static const double around_cell_s = 0.5;

double plan_cell_seconds(const struct study *study, const struct plan *plan, size_t i)
{
    const struct plan_cell *cell = &plan->cells[i];
    double seconds = study->phases[cell->phase].seconds + around_cell_s;

    if (plan_starts_server(plan, i))
        seconds += start_and_check_s;
    if (plan_starts_test(plan, i))
        seconds += study->warmup_seconds + (study->tests[cell->test].writes ? reset_s : 0);
    return seconds;
}

double plan_seconds(const struct study *study, const struct plan *plan)
{
    double seconds = 0;

    for (size_t i = 0; i < plan->count; i++)
        seconds += plan_cell_seconds(study, plan, i);
    return seconds;
}
