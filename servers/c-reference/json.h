/* Strict JSON (RFC 8259), read in one pass from a buffer that may be written to.
 *
 * Nouns: a text (the bytes), a slice (a string's decoded bytes or a number's digits, inside the text), a batch (the
 * five columns of the rows to insert, each a PostgreSQL array in binary form, ready to be a statement's parameter).
 *
 * Strings are decoded where they stand, so nothing is copied or allocated per value. A number stays the digits that
 * were sent: a balance never passes through a binary float. The text must be UTF-8; anything behind the value, a
 * field twice, missing or of another type is an error. Fields that the table does not have are checked and ignored.
 */
#ifndef JSON_H
#define JSON_H

#include "buf.h"

#include <stdbool.h>

enum { BATCH_COLUMNS = 5 };

struct batch {
    struct buf column[BATCH_COLUMNS];
    uint32_t rows;
};

/* Reads [{...},...] into b, which keeps its storage from one call to the next. Returns NULL, or what is wrong (a
 * constant, fit to be a part of a JSON string). The text is destroyed. */
const char *json_read_batch(char *text, size_t len, struct batch *b);

/* A token's header is {"alg":"HS256",...}. */
bool json_is_hs256(char *text, size_t len);

/* The payload's "exp" is a number; seconds since 1970. */
bool json_read_exp(char *text, size_t len, double *exp_s);

#endif
