/* One HTTP request as bytes: where its head ends, what it asks for, how its body is framed (RFC 9112), and whether
 * its token lets it pass.
 *
 * Nothing is kept between calls and nothing is copied: a request points into the buffer that it was read from. The
 * same bytes can be offered again when more have arrived, so a request may be split anywhere. */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REQUEST_INCOMPLETE = -1 };

struct request {
    enum { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_OTHER } method;
    const char *path, *query, *token; /* query behind '?', token behind "Bearer"; NULL when there is none */
    size_t path_len, query_len, token_len;
    size_t head_len, content_len;
    bool chunked, keep_alive, http10, expect_continue;
};

/* secret: the key of the tokens, or NULL when none are asked for. Returns NULL or what is wrong. */
const char *request_init(const char *secret);

/* 0, REQUEST_INCOMPLETE, or the HTTP status to refuse with. */
int request_parse(const char *data, size_t len, struct request *r);

/* Follows a chunked body through the first len bytes, from *pos on, which is kept between calls and starts at 0. Sets
 * *complete, and then *pos to its raw length. Returns 0 or the HTTP status to refuse with. */
int request_scan_chunks(const char *body, size_t len, size_t *pos, bool *complete);

/* Moves the data of a complete chunked body together; returns its length. */
size_t request_join_chunks(char *body, size_t raw_len);

bool request_path_is(const struct request *r, const char *path);

/* Digits (also percent-encoded) that make a number from 1 to INT64_MAX. */
bool request_number(const char *text, size_t len, int64_t *number);

/* The query's parameter, when it is there, is such a number; *number stays as it is when it is not. */
bool request_query_number(const struct request *r, const char *name, int64_t *number);

/* The token is HS256, signed with the secret, and its "exp" lies ahead. Computed anew every time. */
bool request_may_pass(const struct request *r, int64_t now_s);

#endif
