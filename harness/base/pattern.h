/*
 * pattern - names chosen on the command line by a PCRE2 expression.
 *
 * An expression must match a whole name (anchored at both ends by the engine, so that alternatives are tried until one
 * spans the name), without regard to case, in UTF-8. A match that costs too much is an error, never a hang.
 * The same functions without anchors find versions in a tool's output.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pattern;

/* `what` stands in front of messages ("--servers"). NULL on error: the text names the offset. */
struct pattern *pattern_open(const char *what, const char *expression, struct err *err);
/* The same, not anchored, case-sensitive: for pattern_find(). */
struct pattern *pattern_open_search(const char *what, const char *expression, struct err *err);
void pattern_close(struct pattern *pattern);

/* 1 yes, 0 no, -1 error (the match limit). */
int pattern_matches(struct pattern *pattern, const char *name, struct err *err);

/* err_set for a pattern that matched none of `names`: "OPTION: no WHAT matches ...; nearest: ...; there are: ...". */
int pattern_matched_none(const char *option, const char *what, const char *expression, const char *const *names,
                         size_t count, struct err *err);

/* The first group (the whole match when there is no group) of the first match in `text`, the caller's; NULL: none. */
char *pattern_find(struct pattern *pattern, const char *text, size_t len);

#endif
