/* markdown - text from outside, made harmless where it stands in a markdown table or paragraph. */
#ifndef RESULTS_MARKDOWN_H
#define RESULTS_MARKDOWN_H

#include "base/text.h"

/* Adds the string so that it shows as it is: `|`, stars, tags and entities escaped, control characters visible. */
void markdown_add(struct text *text, const char *string);

#endif
