/*
 * http_memo - the last answer's head, so that an answer that begins with the same bytes need not be read again.
 *
 * Equal bytes parse equally: what is compared is everything that decided how the answer was read, its head, or all of
 * it where the head alone does not tell the length (chunked). Only 2xx answers whose head came in one piece are kept.
 *
 * Where a body is large, the head alone is fetched (`fetch_head`) and the body is passed over in the kernel.
 */
#ifndef LOAD_HTTP_MEMO_H
#define LOAD_HTTP_MEMO_H

#include <string.h>

#include "load/http_answer.h"

#define HTTP_MEMO_SIZE 1024
/* A body from which on leaving it in the kernel is worth a system call more. */
#define HTTP_MEMO_LARGE 8192

struct http_memo {
    uint64_t total; /* bytes of the whole answer; 0: nothing is kept */
    size_t prefix;  /* of them, those that must be equal */
    int status;
    bool head_request;
    bool reusable; /* the connection, after it */
    bool fetch_head;
    struct http_answer at_body; /* with fetch_head: the answer as it is behind its head */
    char bytes[HTTP_MEMO_SIZE];
};

/* True when `bytes` are one whole 2xx answer. */
static inline bool http_memo_hit(const struct http_memo *memo, bool head_request, const char *bytes, size_t len)
{
    return len == memo->total && head_request == memo->head_request && len != 0 &&
           memcmp(bytes, memo->bytes, memo->prefix) == 0;
}

/* True when `bytes` are the head of one, and nothing else. */
static inline bool http_memo_hit_head(const struct http_memo *memo, bool head_request, const char *bytes, size_t len)
{
    return memo->fetch_head && len == memo->prefix && head_request == memo->head_request &&
           memcmp(bytes, memo->bytes, len) == 0;
}

/* Keeps an answer, or its head, that was read from these bytes and nothing else in one call of http_answer_feed(). */
static inline void http_memo_keep(struct http_memo *memo, const struct http_answer *answer, const char *bytes,
                                  size_t len)
{
    bool no_body = answer->head_request || answer->status == 204;
    bool by_length = answer->length_seen && !answer->coding_seen && !no_body;
    size_t prefix = by_length ? len - (size_t)(answer->length - answer->left) : len;

    if (answer->status < 200 || answer->status > 299 || answer->interim > 0 || prefix > HTTP_MEMO_SIZE)
        return;
    memo->total = by_length ? prefix + answer->length : len;
    memo->prefix = prefix;
    memo->reusable = http_answer_reusable(answer);
    memo->status = answer->status;
    memo->head_request = answer->head_request;
    memo->fetch_head = by_length && answer->length >= HTTP_MEMO_LARGE;
    if (memo->fetch_head) {
        memo->at_body = *answer;
        memo->at_body.body = NULL;
        http_answer_to_body(&memo->at_body);
    }
    memcpy(memo->bytes, bytes, prefix);
}

#endif
