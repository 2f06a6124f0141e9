/* report_files - writes a report's files: the markdown page, its charts by gnuplot, the page for browsers. */
#ifndef CLI_REPORT_FILES_H
#define CLI_REPORT_FILES_H

#include <stddef.h>

#include "base/err.h"
#include "results/record.h"

/*
 * Writes OUT/NAME.md, OUT/NAME_*.svg and OUT/NAME.html, NAME being the first record's, and says each on stderr. What
 * cannot be drawn because a program or library is missing is said, here and in the page, and is no failure.
 * published[i] NULL: not compared with the study.
 */
int report_files_write(const struct record *records, json_t *const *published, size_t count, const char *out,
                       struct err *err);

#endif
