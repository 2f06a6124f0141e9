/*
 * http_memo - the last small answer of a thread, so that one that begins with the same bytes need not be read again.
 *
 * Equal bytes parse equally: what is compared is everything that decided how the answer was read, its head, or all of
 * it where the head alone does not tell the length (chunked). Only whole 2xx answers that came in one piece are
 * kept.
 */
#ifndef LOAD_HTTP_MEMO_H
#define LOAD_HTTP_MEMO_H

#include <string.h>

#include "load/http_answer.h"

#define HTTP_MEMO_SIZE 1024

struct http_memo {
    size_t total;  /* bytes of the whole answer; 0: nothing is kept */
    size_t prefix; /* of them, those that must be equal */
    int status;
    bool head_request;
    bool reusable; /* the connection, after it */
    char bytes[HTTP_MEMO_SIZE];
};

/* True when `bytes` are one whole 2xx answer. */
static inline bool http_memo_hit(const struct http_memo *memo, bool head_request, const char *bytes, size_t len)
{
    return len == memo->total && head_request == memo->head_request && len != 0 &&
           memcmp(bytes, memo->bytes, memo->prefix) == 0;
}

/* Keeps an answer that was read from these bytes, and nothing else, in one call of http_answer_feed(). */
static inline void http_memo_keep(struct http_memo *memo, const struct http_answer *answer, const char *bytes,
                                  size_t len)
{
    bool no_body = answer->head_request || answer->status == 204;
    size_t prefix = answer->coding_seen || no_body ? len : len - (size_t)answer->length;

    if (answer->status < 200 || answer->status > 299 || answer->interim > 0 || prefix > HTTP_MEMO_SIZE)
        return;
    memo->total = len;
    memo->prefix = prefix;
    memo->reusable = http_answer_reusable(answer);
    memo->status = answer->status;
    memo->head_request = answer->head_request;
    memcpy(memo->bytes, bytes, prefix);
}

#endif
