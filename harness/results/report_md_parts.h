/* report_md_parts - the sections of the markdown page that tell of machine, servers and reading. For report_md.c. */
#ifndef RESULTS_REPORT_MD_PARTS_H
#define RESULTS_REPORT_MD_PARTS_H

#include "base/text.h"
#include "results/record.h"

void report_md_write_ceiling(const struct record *record, struct text *text);
void report_md_write_rows(const struct record *record, struct text *text);
void report_md_write_machine(const struct record *record, struct text *text);
void report_md_write_reading(const struct record *record, struct text *text);

#endif
