/* published_figure - figures of a run by the names that the published comparison uses. For published*.c. */
#ifndef RESULTS_PUBLISHED_FIGURE_H
#define RESULTS_PUBLISHED_FIGURE_H

#include <stdbool.h>

#include "results/record.h"

struct published_measure {
    double median;
    double min; /* of the rounds; of memory the highest value thrice */
    double max;
};

/* True for figures of which more is better. */
bool published_is_rate(const char *figure);
/* False when the run does not know it. */
bool published_measure(const struct record *record, const char *figure, uint32_t row, uint32_t test, uint32_t phase,
                       struct published_measure *measure);
/* The row of the run whose title has this key; INTERN_NONE. */
uint32_t published_find_row(const struct record *record, const char *key);

#endif
