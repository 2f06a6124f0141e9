/*
 * http_answer - reads one HTTP/1.x answer from bytes as they come, split anywhere (RFC 9112).
 *
 *   http_answer_begin(&answer, is_head_request);
 *   each time bytes arrive:  http_answer_feed(&answer, bytes, len, &used)
 *   when the connection ends: http_answer_end(&answer)
 *
 * The reader looks at each byte once, keeps its whole state in the struct, allocates nothing and does no I/O. What it
 * says depends on the bytes only, never on how they were split. Interim answers (1xx but 101) are passed over.
 * `used` counts the bytes that belong to the answer: after DONE, bytes behind them are not part of it.
 *
 * Where RFC 9112 leaves a choice:
 *   - a bare LF ends a line of the head and of the trailers (2.2), not a line of a chunk; a bare CR is malformed;
 *   - obs-fold is read as a space (5.2); whitespace before the first field line and before a colon is malformed;
 *   - a status line may end behind the status code, without the space that the grammar asks for (4);
 *   - codes 600 to 999 are answers of the class 5xx (RFC 9110, 15), below 100 there is no class: malformed;
 *   - equal lengths in a list or in several lines ("2, 2") are one length; all else but digits is malformed; where the
 *     body is not framed by the length (1xx, 204, 304, HEAD, Transfer-Encoding) the field is not looked at (6.3);
 *   - Transfer-Encoding wins over Content-Length; a final coding other than chunked reads until the end (6.3); chunked
 *     twice or with parameters, and a coding that is no token, are malformed;
 *   - a line end inside a quoted string of a chunk extension does not end the line: the grammar has no such byte, so
 *     it is malformed; so is a chunk line over 16 KiB and a size over 2^63 - 1;
 *   - control characters in a field value but the tab are malformed (RFC 9110, 5.5).
 */
#ifndef LOAD_HTTP_ANSWER_H
#define LOAD_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_LIMIT (256 * 1024)      /* a head, and a trailer section */
#define HTTP_CHUNK_LINE_LIMIT (16 * 1024) /* a chunk size with its extensions */

enum http_answer_result {
    HTTP_ANSWER_MORE,      /* not complete yet */
    HTTP_ANSWER_DONE,      /* complete: status, http_answer_reusable() */
    HTTP_ANSWER_MALFORMED, /* not HTTP/1.x: `why`; nothing may be fed any more */
};

/* A body that is wanted: compared byte by byte as it passes. The expected bytes are borrowed. */
struct http_body {
    const char *expected;
    size_t len;
    size_t at;
    bool differs;
};

struct http_answer {
    uint64_t left;          /* of the body or chunk, still to come */
    uint64_t length;        /* Content-Length, when length_seen */
    uint64_t number;        /* length or chunk size being read */
    struct http_body *body; /* NULL: bodies are not looked at; set after begin */
    const char *why;        /* what is malformed; a constant */
    uint32_t line_bytes;    /* of the head, trailers or chunk line, from earlier feeds */
    uint32_t interim;       /* interim answers passed over */
    uint16_t status;        /* 0 before there is one */
    uint8_t state;
    uint8_t section;   /* heads, chunk lines and trailers read so far: only a change matters */
    uint8_t minor;     /* HTTP/1.minor */
    uint8_t at;        /* bytes of the version or of the status read */
    uint8_t field;     /* which field the line is; see http_field.h */
    uint8_t name_at;   /* bytes of its name read */
    uint8_t name;      /* the field that its name may still become */
    uint8_t value;     /* state inside its value */
    uint8_t token_at;  /* bytes of a token of the value read */
    uint8_t tokens;    /* tokens that it may still become */
    bool head_request; /* no body, whatever the head says */
    bool begun;        /* a byte was fed */
    bool in_field;     /* a field line has been read in this section */
    bool in_trailers;
    bool length_seen, length_bad;
    bool coding_seen, coding_bad, coding_chunked, coding_chunked_before, coding_has_params;
    bool close, keep_alive; /* tokens of Connection */
    bool until_end;         /* the body ends with the connection */
};

void http_answer_begin(struct http_answer *answer, bool head_request);
enum http_answer_result http_answer_feed(struct http_answer *answer, const char *bytes, size_t len, size_t *used);
/* The connection ended: DONE when that completes the answer, MORE when it cuts it short. */
enum http_answer_result http_answer_end(struct http_answer *answer);
/*
 * For bodies that nobody looks at: how many bytes may be passed over unread now (0: they must be fed), and that `len`
 * of them, at most so many, were.
 */
uint64_t http_answer_skippable(const struct http_answer *answer);
enum http_answer_result http_answer_skip(struct http_answer *answer, uint64_t len);
/* Puts an answer that is framed by its Content-Length back to where its body begins. */
void http_answer_to_body(struct http_answer *answer);
/* After DONE: true when the connection may carry another request (RFC 9112, 9.3). */
bool http_answer_reusable(const struct http_answer *answer);

/* True when the whole body came and was the expected one. */
static inline bool http_body_matches(const struct http_body *body)
{
    return !body->differs && body->at == body->len;
}

#endif
