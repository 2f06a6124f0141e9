/*
 * json - strict JSON documents, and where in their text a value stands.
 *
 * A document is read whole: duplicate keys, bytes behind the end, NaN, comments and a byte-order mark are refused with
 * file:line:column. jansson gives positions for syntax errors only; a document keeps its text, so that an error about
 * a value can name the line and column of that value's path ("tests[2].path").
 *
 * struct json_doc owns text and root; free with json_doc_free().
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct json_doc {
    char *file; /* name used in messages */
    char *text;
    size_t len;
    json_t *root;
};

/* Makes what jansson says fit for a message: what it quotes may have line breaks, or end inside a character. */
void json_error_clean(json_error_t *error);

/* Reads `path` ("-" is not special). */
int json_doc_load(const char *path, struct json_doc *doc, struct err *err);
/* The same from memory; `name` stands for the file in messages. */
int json_doc_parse(const char *name, const char *text, size_t len, struct json_doc *doc, struct err *err);
void json_doc_free(struct json_doc *doc);

/*
 * Line and column (both from 1; columns count bytes) of the value at `path`: keys joined by '.', indices in
 * brackets: "phases[1].connections". A key itself: the path of an object and then "!key". Returns -1 when there is
 * no such value; then line and column are those of the longest prefix found.
 */
int json_doc_locate(const struct json_doc *doc, const char *path, int *line, int *column);

/* err_set with "file:line:column: " of `path` in front. Returns -1. */
int json_doc_error(const struct json_doc *doc, const char *path, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * A cursor into a document: an object or array together with its path, for readers that check as they go. All
 * json_at_* functions report a wrong type or range as file:line:column with the key's name, and return -1.
 */
struct json_at {
    const struct json_doc *doc;
    json_t *value; /* borrowed; NULL where the key is missing */
    char path[256];
};

struct json_at json_at_root(const struct json_doc *doc);
struct json_at json_at_key(const struct json_at *at, const char *key);
struct json_at json_at_index(const struct json_at *at, size_t index);

/* Every key of the object must be one of `keys` (NULL-terminated); else "unknown key, nearest: ...". */
int json_at_only(const struct json_at *at, const char *const *keys, struct err *err);
int json_at_object(const struct json_at *at, struct err *err);
int json_at_array(const struct json_at *at, size_t *count, struct err *err);
/* The value must be there unless `fallback` is given; the string is borrowed from the document. */
int json_at_string(const struct json_at *at, const char *key, const char *fallback, const char **value,
                   struct err *err);
/* An integer (3, not 3.0) in [least, most]; `fallback` NULL: required. */
int json_at_int(const struct json_at *at, const char *key, const int64_t *fallback, int64_t least, int64_t most,
                int64_t *value, struct err *err);
/* A number (integer or real) in [least, most]. */
int json_at_number(const struct json_at *at, const char *key, const double *fallback, double least, double most,
                   double *value, struct err *err);
int json_at_bool(const struct json_at *at, const char *key, const bool *fallback, bool *value, struct err *err);
/* An array of strings; `*values` is the caller's array of borrowed strings (free() it). Missing: count 0. */
int json_at_strings(const struct json_at *at, const char *key, const char ***values, size_t *count, struct err *err);
/* err_set at this value. */
int json_at_error(const struct json_at *at, struct err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writing: null for NaN and infinities (unknown is not zero); rounded to `decimals`. */
json_t *json_number(double value, int decimals);
/* Adds `value` (stolen) under `key`. */
void json_put(json_t *object, const char *key, json_t *value);
/* A number of an object, NaN when it is missing or null. */
double json_get_number(const json_t *object, const char *key);
/* A string of an object, NULL when it is missing or not a string; borrowed. */
const char *json_get_string(const json_t *object, const char *key);
/* One line without blanks, keys in the order they were added, locale-proof; the caller frees it. */
char *json_line(const json_t *value);
/* The same indented by two. */
char *json_pretty(const json_t *value);

#endif
