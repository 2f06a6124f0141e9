/* HTTP/1.1 (RFC 9112) as bytes, the tokens, and the four endpoints: from a connection's input to its answers.
 *
 * Nouns: an exchange (what one connection's requests and answers need; at most one of its requests is being answered
 * at a time, the ones behind it wait in the input, so that answers keep their order). Nothing here touches a socket.
 *
 * Calling sequence: http_init; for each connection a zeroed exchange; whenever bytes were appended to its input, or
 * output was written, or the database has answered, http_take. With `waiting` set, db_answer must be given to
 * http_answer before anything is taken again. http_set_time once a round. The buffers are the caller's.
 */
#ifndef HTTP_H
#define HTTP_H

#include "db.h"

struct exchange {
    struct buf in, out;
    struct db_query query;
    size_t scanned; /* of a chunked body */
    bool waiting;   /* for the database */
    bool head;      /* the request that is being answered is a HEAD */
    bool http10;
    bool close;     /* after the answer that is being made */
    bool closing;   /* no more requests */
    bool continued; /* 100 was sent for the next request */
};

/* secret: the key of HS256 tokens that every request must carry, or NULL. Returns NULL or what is wrong. */
const char *http_init(const char *secret);

/* now_s: seconds since 1970, for the Date header and for "exp". */
void http_set_time(int64_t now_s);

/* Whether a request could be taken: not while one waits, nor behind the last one, nor when the client does not read. */
bool http_may_take(const struct exchange *x);

/* Takes whole requests from the input while they can be answered at once. Returns whether it ran out of input. */
bool http_take(struct exchange *x);

/* extra: header lines, each with its end, or NULL. */
void http_answer(struct exchange *x, int status, const char *extra, const char *body, size_t len);

#endif
