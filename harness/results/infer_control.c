#include "results/infer.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "results/infer_robust.h"

/* The finite ones of some logs, moved to the front of `kept`; returns how many. */
static size_t keep_finite(const double *values, size_t count, double *kept)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            kept[n++] = values[i];
    return n;
}

static double side_level(const double *values, size_t rounds)
{
    double *kept = text_alloc((rounds + 1) * sizeof *kept);
    size_t count = keep_finite(values, rounds, kept);
    double level = count > 0 ? infer_median(kept, count) : (double)NAN;

    free(kept);
    return level;
}

/* The control's mean deviation in each round of a side, from levels that both sides share; NaN: not measured. */
static double *deviations(const struct infer_cell *control, size_t count, const double *levels, bool head,
                          size_t rounds)
{
    double *mean = text_alloc((rounds + 1) * sizeof *mean);
    double *kept = text_alloc((count + 1) * sizeof *kept);
    double all = 0;
    size_t measured = 0;

    for (size_t r = 0; r < rounds; r++) {
        size_t n = 0;

        for (size_t c = 0; c < count; c++) {
            const double *values = head ? control[c].head : control[c].base;

            if (r < (head ? control[c].head_rounds : control[c].base_rounds) && isfinite(levels[c]) &&
                isfinite(values[r]))
                kept[n++] = values[r] - levels[c];
        }
        /* One disturbed cell of the control must not move every other row. */
        mean[r] = n > 0 ? infer_location(kept, n, fmax(INFER_RESOLUTION, infer_spread(kept, n))) : (double)NAN;
        if (n > 0) {
            all += mean[r];
            measured++;
        }
    }
    for (size_t r = 0; r < rounds; r++)
        if (!isfinite(mean[r]) && measured > 0)
            mean[r] = all / (double)measured;
    free(kept);
    return mean;
}

static size_t most_rounds(const struct infer_cell *cells, size_t count, bool head)
{
    size_t most = 0;

    for (size_t c = 0; c < count; c++) {
        size_t rounds = head ? cells[c].head_rounds : cells[c].base_rounds;

        most = rounds > most ? rounds : most;
    }
    return most;
}

bool infer_remove_control(struct infer_cell *cells, size_t count, const struct infer_cell *control,
                          size_t control_count)
{
    double *levels = text_alloc((control_count + 1) * sizeof *levels);
    bool any = false;

    for (size_t c = 0; c < control_count; c++) {
        levels[c] = (side_level(control[c].base, control[c].base_rounds) +
                     side_level(control[c].head, control[c].head_rounds)) /
                    2;
        any = any || isfinite(levels[c]);
    }
    for (int head = 0; any && head < 2; head++) {
        size_t rounds = most_rounds(cells, count, head);
        double *mean = deviations(control, control_count, levels, head, rounds);

        for (size_t c = 0; c < count; c++) {
            double *values = head ? cells[c].head : cells[c].base;
            size_t own = head ? cells[c].head_rounds : cells[c].base_rounds;

            for (size_t r = 0; r < own; r++)
                values[r] -= mean[r];
        }
        free(mean);
    }
    free(levels);
    return any;
}
