/*
 * tables - the study's tables in markdown: throughput per test, CPU per request, memory, errors.
 *
 * The form is fixed, byte for byte, in any locale (tests/cases/golden). What is added stands below it and only where
 * there is something to say: the marks, whose signs ([A], [B]...) stand behind the figures, and the rows and cells that
 * were planned but not measured, with the reason.
 */
#ifndef RESULTS_TABLES_H
#define RESULTS_TABLES_H

#include "base/text.h"
#include "results/record.h"

void tables_write(const struct record *record, struct text *text);
/* How text from outside is made harmless: markdown_add, or this one for a terminal. */
typedef void tables_add(struct text *text, const char *string);
void tables_add_plain(struct text *text, const char *string);

/* The marks found, a line each, with their signs, sentences and first cells; nothing when there are none. */
void tables_write_marks(const struct record *record, tables_add *add, struct text *text);
/* What was planned and not measured; nothing when all was. */
void tables_write_missing(const struct record *record, tables_add *add, struct text *text);

/* The sign of a mark in this record: 'A' for the first of those found, in the order of mark_kinds. */
char tables_sign(const struct cells *cells, enum mark_id mark);
/* " [A]" or " [A,C]" for the marks of a bit set, "" for none. */
void tables_add_signs(const struct cells *cells, unsigned marks, struct text *text);

/* The best printed value of a column: the highest or lowest of the rows that may be bold. NaN: nobody. */
double tables_best_rate(const struct record *record, uint32_t test, uint32_t phase);
double tables_best_cpu(const struct record *record, uint32_t test, uint32_t phase);
/* Server CPU of a request as printed: the rounded user and kernel medians added. NaN: not known. */
double tables_cpu(const struct cells_group *group);
/* The same for PostgreSQL; a negative median is not known. */
double tables_postgres(const struct cells_group *group);

#endif
