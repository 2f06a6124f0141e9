/*
 * http_field - the three fields of a head that frame an answer, read byte by byte; a part of http_answer.
 *
 * A line's name goes through http_field_name_begin(), http_field_name_byte() and http_field_name_end(), the value of a
 * field that matters (HTTP_FIELD_OTHER does not) through http_field_value_byte() and, when no folded line can follow
 * any more, http_field_value_end(). What was read is left in the flags of struct http_answer.
 */
#ifndef LOAD_HTTP_FIELD_H
#define LOAD_HTTP_FIELD_H

#include "load/http_answer.h"

enum http_field {
    HTTP_FIELD_OTHER,
    HTTP_FIELD_LENGTH,     /* Content-Length */
    HTTP_FIELD_CODING,     /* Transfer-Encoding */
    HTTP_FIELD_CONNECTION, /* Connection */
};

/* Classes of bytes (RFC 9110, 5.5 and 5.6.2). */
#define HTTP_TOKEN 1 /* tchar */
#define HTTP_VALUE 2 /* field-vchar, space, tab */
extern const unsigned char http_byte_class[256];

static inline bool http_is_token(unsigned char c)
{
    return (http_byte_class[c] & HTTP_TOKEN) != 0;
}

static inline bool http_is_value(unsigned char c)
{
    return (http_byte_class[c] & HTTP_VALUE) != 0;
}

/* Its first byte. */
void http_field_name_begin(struct http_answer *answer, unsigned char c);
void http_field_name_byte(struct http_answer *answer, unsigned char c);
void http_field_name_end(struct http_answer *answer);
void http_field_value_byte(struct http_answer *answer, unsigned char c);
void http_field_value_end(struct http_answer *answer);

#endif
