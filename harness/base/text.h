/*
 * text - growing strings, and strict reading of numbers and UTF-8.
 *
 * struct text is a NUL-terminated buffer that grows; start with {0}, end with text_free(). Running out of memory ends
 * the process with a line: nothing here is large.
 * The text_parse_* functions accept plain decimals only, in every locale: no blanks, sign plus, hexadecimal,
 * infinity, nan, or letters behind. They return 0, or -1 and leave the result alone.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data; /* NUL-terminated when not NULL */
    size_t len;
    size_t cap;
};

void text_free(struct text *text);
void text_clear(struct text *text);
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t len);
void text_add_char(struct text *text, char c);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A double with `decimals` digits behind a point (never a comma, in any locale). */
void text_add_double(struct text *text, double value, int decimals);
/* A whole number with a comma every three digits: 1,234,567. */
void text_add_thousands(struct text *text, long long value);
/* Gives the string to the caller, who frees it; "" when empty. `text` is empty afterwards. */
char *text_take(struct text *text);
/* The string, "" when empty; borrowed. */
const char *text_string(const struct text *text);

/* malloc, realloc, strdup that end the process with one line when memory is gone. */
void *text_alloc(size_t size);                            /* zeroed */
void *text_realloc(void *old, size_t count, size_t size); /* count * size, checked for overflow */
char *text_dup(const char *string);
char *text_dup_n(const char *bytes, size_t len);
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

int text_parse_i64(const char *string, int64_t *value);  /* -?[0-9]+ */
int text_parse_u64(const char *string, uint64_t *value); /* [0-9]+ */
/* -?[0-9]+(\.[0-9]+)? : a plain decimal. */
int text_parse_double(const char *string, double *value);
/* The same for bytes that are not NUL-terminated. */
int text_parse_double_n(const char *bytes, size_t len, double *value);
/* A duration as in Go: 15s, 500ms, 1m30s, 1.5h, 100us, 20ns; a sign or a bare number (but 0) is refused. */
int text_parse_duration(const char *string, int64_t *ns);
/* Shortest of "1m30s", "15s", "500ms", "20us". */
void text_add_duration(struct text *text, int64_t ns);
/* "N" or "N%": a percentage. */
int text_parse_pct(const char *string, double *pct);

/* True for valid UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool text_is_utf8(const char *bytes, size_t len);
/* True when it may be shown as a title: valid UTF-8, no control characters (C0, DEL, C1), no bidirectional
 * overrides (U+202A-202E, U+2066-2069), not empty. */
bool text_is_title(const char *string);
/* Adds `bytes` with everything that is not printable UTF-8 as \xHH: one line, whatever it was. */
void text_add_visible(struct text *text, const char *bytes, size_t len);
/* Columns on a terminal: wide (East Asian) characters count two, combining ones none. */
size_t text_width(const char *utf8);
/* Adds the string and blanks up to `width` columns: behind it, or with `right` before it. */
void text_add_padded(struct text *text, const char *utf8, size_t width, bool right);
/* Edit distance, for "nearest: ..." in messages. */
size_t text_distance(const char *a, const char *b);

#endif
