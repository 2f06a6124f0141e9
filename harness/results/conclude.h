/*
 * conclude - what a run allows to say and what it does not, by stated rules.
 *
 * A test is decided at a number of connections when the worst round of its fastest row is faster than the best round
 * of every other row. Reference rows and rows whose marks forbid bold do not compete. One round decides nothing.
 * The resolution is the width (max - min, of the median) that three of four cells' rates stayed within over their
 * rounds: smaller differences cannot be told apart.
 */
#ifndef RESULTS_CONCLUDE_H
#define RESULTS_CONCLUDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "results/record.h"

struct conclude_test {
    uint32_t competitors; /* rows with a known rate; 0: the test says nothing */
    uint32_t leader;      /* row with the highest median */
    uint32_t rivals;      /* others whose rounds reach the leader's */
    double lead_pct;      /* of the leader's median over the second's; NaN without a second */
    bool decided;
};

void conclude_test(const struct record *record, uint32_t test, uint32_t phase, struct conclude_test *conclusion);
/* NaN when no cell has two rounds. */
double conclude_resolution_pct(const struct record *record);
/* The first phase at which anything was measured. */
uint32_t conclude_phase(const struct record *record);
/* One sentence each, in plain text: what can be concluded (may be empty), and what cannot. */
void conclude_write(const struct record *record, struct text *can, struct text *cannot);

#endif
