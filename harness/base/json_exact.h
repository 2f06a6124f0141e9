/*
 * json_exact - JSON values compared as what they mean: numbers as decimals, never as binary floats.
 *
 * jansson reads 0.1 into a double. Here a text is read so that each number keeps its digits: 791.9, 791.90 and 7.919e2
 * are one value, 9999999999.99 and 9999999999.990000001 are two. Members of objects have no order, elements of arrays
 * do. A string of the form YYYY-MM-DDTHH:MM:SS in the expected value may have a fraction of a second in either text,
 * whose zeros at the end mean nothing.
 */
#ifndef BASE_JSON_EXACT_H
#define BASE_JSON_EXACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * 0 when `actual` means the same as `expected`. Else -1 with kind ERR_FAILED and the first difference: "[3].citta:
 * expected \"Roma 2\", got \"Roma\"". An `actual` that is no strict JSON (RFC 8259, no repeated names) is such a
 * difference; an `expected` that is none is ERR_CANNOT.
 */
int json_exact_compare(const char *expected, size_t expected_len, const char *actual, size_t actual_len,
                       struct err *err);

/* True when both are JSON numbers of one value. */
bool json_exact_number_equal(const char *a, const char *b);

#endif
