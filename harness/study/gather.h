/*
 * gather - what judge wants to know, gathered from a window: pure selection and arithmetic, no reading.
 */
#ifndef STUDY_GATHER_H
#define STUDY_GATHER_H

#include "study/judge.h"
#include "study/life.h"
#include "study/window.h"

/* `contradiction`: room for a sentence of at least 256 bytes that evidence->accounting_text may point to. */
void gather_evidence(const struct life *life, const struct study_phase *phase, const struct window *window,
                     const char *rows_disagree, double drift_pct, char *contradiction, size_t size,
                     struct judge_evidence *evidence);

#endif
