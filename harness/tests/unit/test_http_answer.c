#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/http_answer.h"
#include "load/http_memo.h"

/* What is expected when the connection ends behind the bytes. */
enum outcome {
    REUSE,     /* complete before the end, the connection may go on */
    CLOSE,     /* complete before the end, it may not */
    UNTIL_END, /* complete by the end */
    CUT,       /* not complete */
    BAD,       /* malformed */
};

struct sample {
    const char *bytes;
    enum outcome outcome;
    int status;
    const char *body; /* NULL: not checked */
    size_t behind;    /* bytes that do not belong to it */
    bool head_request;
};

#define H "HTTP/1.1 200 OK\r\n"
#define CHUNKED H "Transfer-Encoding: chunked\r\n\r\n"

static const struct sample samples[] = {
    {H "Content-Length: 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "Content-Length: 2\r\n\r\nokHTTP/1.1 200", REUSE, 200, "ok", 12, false},
    {H "content-LENGTH:2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "Content-Length: \t 2 \t\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "Content-Length: 0\r\n\r\n", REUSE, 200, "", 0, false},
    {H "Content-Length: 002\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "Content-Length: 2, 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "Content-Length: 2, 3\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: +2\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: -2\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: 0x2\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: 1 2\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length:\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: 2,\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: 9223372036854775808\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: 18446744073709551618\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "Content-Length: 9223372036854775807\r\n\r\nok", CUT, 200, NULL, 0, false},
    {H "Content-Lengt: 9\r\nContent-Lengthy: 9\r\nContent-Length: 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "X-Empty:\r\nContent-Length: 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    /* No framing: until the end. */
    {H "\r\nbody", UNTIL_END, 200, "body", 0, false},
    {H "\r\n", UNTIL_END, 200, "", 0, false},
    {H "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok.", UNTIL_END, 200, "ok.", 0, false},
    {H "Transfer-Encoding: chunked, identity\r\n\r\nok", UNTIL_END, 200, "ok", 0, false},
    {H "Transfer-Encoding: xchunked\r\n\r\nok", UNTIL_END, 200, "ok", 0, false},
    {H "Transfer-Encoding: gzip;q=\"a,chunked\"\r\n\r\nok", UNTIL_END, 200, "ok", 0, false},
    {H "Transfer-Encoding:\r\n\r\nok", UNTIL_END, 200, "ok", 0, false},
    /* Chunked. */
    {CHUNKED "2\r\nok\r\n0\r\n\r\n", REUSE, 200, "ok", 0, false},
    {CHUNKED "1\r\no\r\n1\r\nk\r\n0\r\n\r\n", REUSE, 200, "ok", 0, false},
    {CHUNKED "0\r\n\r\n", REUSE, 200, "", 0, false},
    {CHUNKED "0002\r\nok\r\n000\r\n\r\n", REUSE, 200, "ok", 0, false},
    {CHUNKED "00000000000000000002\r\nok\r\n0\r\n\r\n", REUSE, 200, "ok", 0, false},
    {CHUNKED "A\r\n0123456789\r\n0\r\n\r\n", REUSE, 200, "0123456789", 0, false},
    {CHUNKED "2;a\r\nok\r\n0;b=c\r\n\r\n", REUSE, 200, "ok", 0, false},
    {CHUNKED "2 ;a=\"x\"\r\nok\r\n0\r\n\r\n", REUSE, 200, "ok", 0, false},
    {CHUNKED "2;a = \"x\\\"\";b\r\nok\r\n0\r\n\r\n", REUSE, 200, "ok", 0, false},
    {CHUNKED "2;a=\"\r\n\"\r\nok\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {CHUNKED "2;\r\nok\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {CHUNKED "2 \r\nok\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {CHUNKED "2\nok\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {CHUNKED "\r\nok\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {CHUNKED "g\r\nok", BAD, 0, NULL, 0, false},
    {CHUNKED "0x2\r\nok", BAD, 0, NULL, 0, false},
    {CHUNKED "-2\r\nok", BAD, 0, NULL, 0, false},
    {CHUNKED "3\r\nok\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {CHUNKED "1\r\nok\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {CHUNKED "8000000000000000\r\nok", BAD, 0, NULL, 0, false},
    {CHUNKED "10000000000000002\r\nok", BAD, 0, NULL, 0, false},
    {CHUNKED "7fffffffffffffff\r\nok", CUT, 200, NULL, 0, false},
    {CHUNKED "2\r\nok\r\n0\r\nX-Trailer: 1\r\nContent-Length: 9\r\n\r\n", REUSE, 200, "ok", 0, false},
    {CHUNKED "2\r\nok\r\n0\r\nno colon\r\n\r\n", BAD, 0, NULL, 0, false},
    {CHUNKED "2\r\nok\r\n0\r\n\r\nHTTP", REUSE, 200, "ok", 4, false},
    {CHUNKED "2\r\nok\r\n0\r\n", CUT, 200, NULL, 0, false},
    {H "Transfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", REUSE, 200, "x", 0, false},
    {H "Transfer-Encoding: gzip\r\nTransfer-Encoding: CHUNKED\r\n\r\n1\r\nx\r\n0\r\n\r\n", REUSE, 200, "x", 0, false},
    {H "Transfer-Encoding: ,, chunked ,\r\n\r\n1\r\nx\r\n0\r\n\r\n", REUSE, 200, "x", 0, false},
    {H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", REUSE, 200, "x", 0, false},
    {H "Content-Length: bad\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", REUSE, 200, "x", 0, false},
    {H "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {H "Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {H "Transfer-Encoding: chu nked\r\n\r\n0\r\n\r\n", BAD, 0, NULL, 0, false},
    {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", CLOSE, 200, "", 0, false},
    /* Answers without a body. */
    {"HTTP/1.1 204 No Content\r\n\r\n", REUSE, 204, "", 0, false},
    {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", REUSE, 204, "", 0, false},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", REUSE, 304, "", 0, false},
    {"HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n" H, REUSE, 205, "", 17, false},
    {H "Content-Length: 1000\r\n\r\n", REUSE, 200, "", 0, true},
    {H "Transfer-Encoding: chunked\r\n\r\n", REUSE, 200, "", 0, true},
    {H "Content-Length: +1\r\n\r\n", REUSE, 200, "", 0, true},
    /* Interim answers. */
    {"HTTP/1.1 100 Continue\r\n\r\n" H "Content-Length: 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {"HTTP/1.1 103 Early\r\nLink: </a>\r\nContent-Length: 7\r\n\r\nHTTP/1.1 102 P\r\n\r\n" H
     "Content-Length: 2\r\n\r\nok",
     REUSE, 200, "ok", 0, false},
    {"HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n" H "Content-Length: 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {"HTTP/1.1 100 Continue\r\n\r\n", CUT, 0, NULL, 0, false},
    {"HTTP/1.1 101 Switching\r\n\r\nraw", CLOSE, 101, NULL, 3, false},
    /* Connection. */
    {H "Content-Length: 0\r\nConnection: close\r\n\r\n", CLOSE, 200, "", 0, false},
    {H "Content-Length: 0\r\nCONNECTION: Keep-Alive , CLOSE\r\n\r\n", CLOSE, 200, "", 0, false},
    {H "Content-Length: 0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", CLOSE, 200, "", 0, false},
    {H "Content-Length: 0\r\nConnection: closed\r\n\r\n", REUSE, 200, "", 0, false},
    {H "Content-Length: 0\r\nConnection: clos\r\n\r\n", REUSE, 200, "", 0, false},
    {H "Content-Length: 0\r\nConnection: clo se\r\n\r\n", REUSE, 200, "", 0, false},
    {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", CLOSE, 200, "", 0, false},
    {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", REUSE, 200, "", 0, false},
    {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: close, keep-alive\r\n\r\n", CLOSE, 200, "", 0, false},
    /* Forms of the head. */
    {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", REUSE, 200, "", 0, false},
    {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", REUSE, 200, "", 0, false},
    {"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", REUSE, 200, "ok", 0, false},
    {"HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n", REUSE, 799, "", 0, false},
    {H "X: a\r\n b\r\n\tc\r\nContent-Length: 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "Content-Length:\r\n 2\r\n\r\nok", REUSE, 200, "ok", 0, false},
    {H "Content-Length: 2\r\n 2\r\n\r\nok", BAD, 0, NULL, 0, false},
    {H "X: \x80\xff\r\nContent-Length: 0\r\n\r\n", REUSE, 200, "", 0, false},
    {H " X: 1\r\nContent-Length: 0\r\n\r\n", BAD, 0, NULL, 0, false},
    {H "X : 1\r\nContent-Length: 0\r\n\r\n", BAD, 0, NULL, 0, false},
    {H ": 1\r\nContent-Length: 0\r\n\r\n", BAD, 0, NULL, 0, false},
    {H "X\r\nContent-Length: 0\r\n\r\n", BAD, 0, NULL, 0, false},
    {H "X: a\rb\r\n\r\n", BAD, 0, NULL, 0, false},
    {H "X: a\x01\r\n\r\n", BAD, 0, NULL, 0, false},
    {"HTTP/1.1 200 O\rK\r\n\r\n", BAD, 0, NULL, 0, false},
    {"HTTP/1.1 099 Low\r\n\r\n", BAD, 0, NULL, 0, false},
    {"HTTP/1.1 20 OK\r\n\r\n", BAD, 0, NULL, 0, false},
    {"HTTP/1.1 2000 OK\r\n\r\n", BAD, 0, NULL, 0, false},
    {"HTTP/2.0 200 OK\r\n\r\n", BAD, 0, NULL, 0, false},
    {"http/1.1 200 OK\r\n\r\n", BAD, 0, NULL, 0, false},
    {"\r\nHTTP/1.1 200 OK\r\n\r\n", BAD, 0, NULL, 0, false},
    {"<html>", BAD, 0, NULL, 0, false},
    {"HTTP/1.1 200 O", CUT, 200, NULL, 0, false},
    {"H", CUT, 0, NULL, 0, false},
};

struct outcome_read {
    enum outcome outcome;
    int status;
    size_t behind;
    bool body_matches;
};

/* Feeds pieces that end at each of `ends`, then the end of the connection. */
static struct outcome_read read_pieces(const struct sample *sample, const size_t *ends, size_t count)
{
    struct http_answer answer;
    struct http_body body = {sample->body, sample->body != NULL ? strlen(sample->body) : 0, 0, false};
    struct outcome_read read = {CUT, 0, 0, true};
    enum http_answer_result result = HTTP_ANSWER_MORE;
    size_t total = strlen(sample->bytes);
    size_t at = 0;

    http_answer_begin(&answer, sample->head_request);
    if (sample->body != NULL)
        answer.body = &body;
    for (size_t i = 0; i < count && result == HTTP_ANSWER_MORE; i++) {
        size_t used = 0;

        result = http_answer_feed(&answer, sample->bytes + at, ends[i] - at, &used);
        assert_true(used <= ends[i] - at);
        assert_true(result != HTTP_ANSWER_MORE || used == ends[i] - at);
        at += used;
    }
    if (result == HTTP_ANSWER_DONE) {
        read.outcome = http_answer_reusable(&answer) ? REUSE : CLOSE;
        read.behind = total - at;
    } else if (result == HTTP_ANSWER_MALFORMED) {
        read.outcome = BAD;
        assert_non_null(answer.why);
    } else if (http_answer_end(&answer) == HTTP_ANSWER_DONE) {
        read.outcome = UNTIL_END;
        assert_false(http_answer_reusable(&answer));
    }
    read.status = read.outcome == BAD ? 0 : answer.status;
    read.body_matches = sample->body == NULL || http_body_matches(&body);
    return read;
}

static void check(const struct sample *sample, const size_t *ends, size_t count)
{
    struct outcome_read read = read_pieces(sample, ends, count);

    if (read.outcome != sample->outcome || (sample->outcome != BAD && read.status != sample->status) ||
        read.behind != sample->behind || !read.body_matches) {
        print_error("split at %zu of %zu, %zu pieces: outcome %d, status %d, %zu behind, body %s:\n%s\n", ends[0],
                    strlen(sample->bytes), count, (int)read.outcome, read.status, read.behind,
                    read.body_matches ? "right" : "wrong", sample->bytes);
        fail();
    }
}

static void test_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        size_t len = strlen(samples[i].bytes);
        size_t ends[512];

        assert_true(len < 512);
        check(&samples[i], &len, 1);
        for (size_t k = 0; k < len; k++)
            ends[k] = k + 1;
        check(&samples[i], ends, len);
        for (size_t a = 1; a < len; a++) {
            for (size_t b = a; b < len; b++) {
                ends[0] = a;
                ends[1] = b;
                ends[2] = len;
                check(&samples[i], ends, 3);
            }
        }
    }
}

/* Feeds `bytes` in pieces of `piece` and returns the last result. */
static enum http_answer_result feed_in(const char *bytes, size_t len, size_t piece)
{
    struct http_answer answer;
    enum http_answer_result result = HTTP_ANSWER_MORE;

    http_answer_begin(&answer, false);
    for (size_t at = 0; at < len && result == HTTP_ANSWER_MORE;) {
        size_t take = len - at < piece ? len - at : piece;
        size_t used;

        result = http_answer_feed(&answer, bytes + at, take, &used);
        at += used;
    }
    return result;
}

/* An answer whose section that begins with `before` and ends with `after` has `len` bytes. */
static void check_limit(const char *lead, const char *before, const char *after, size_t limit)
{
    size_t sizes[] = {limit, limit + 1};

    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(lead) + sizes[i];
        char *bytes = malloc(len);
        enum http_answer_result expected = i == 0 ? HTTP_ANSWER_DONE : HTTP_ANSWER_MALFORMED;

        assert_non_null(bytes);
        memset(bytes, 'a', len);
        memcpy(bytes, lead, strlen(lead));
        memcpy(bytes + strlen(lead), before, strlen(before));
        memcpy(bytes + len - strlen(after), after, strlen(after));
        assert_int_equal(feed_in(bytes, len, len), expected);
        assert_int_equal(feed_in(bytes, len, 1), expected);
        assert_int_equal(feed_in(bytes, len, 1000), expected);
        free(bytes);
    }
}

static void test_limits(void **state)
{
    (void)state;
    check_limit("", H "X: ", "\r\nContent-Length: 0\r\n\r\n", HTTP_HEAD_LIMIT);
    check_limit("", "HTTP/1.1 200 ", "\r\nContent-Length: 0\r\n\r\n", HTTP_HEAD_LIMIT);
    check_limit("HTTP/1.1 100 Continue\r\n\r\n", H, ": x\r\nContent-Length: 0\r\n\r\n", HTTP_HEAD_LIMIT);
    check_limit(CHUNKED "0\r\n", "X: ", "\r\n\r\n", HTTP_HEAD_LIMIT);
}

static void test_chunk_line_limit(void **state)
{
    static const char rest[] = "\r\n\r\n";

    (void)state;
    for (size_t over = 0; over < 2; over++) {
        size_t lead = strlen(CHUNKED);
        size_t len = lead + HTTP_CHUNK_LINE_LIMIT + over + 2;
        char *bytes = malloc(len);
        enum http_answer_result expected = over == 0 ? HTTP_ANSWER_DONE : HTTP_ANSWER_MALFORMED;

        assert_non_null(bytes);
        memset(bytes, '0', len);
        memcpy(bytes, CHUNKED, lead);
        memcpy(bytes + len - 4, rest, 4);
        assert_int_equal(feed_in(bytes, len, len), expected);
        assert_int_equal(feed_in(bytes, len, 7), expected);
        free(bytes);
    }
}

static void test_body_is_compared(void **state)
{
    static const char bytes[] = CHUNKED "1\r\no\r\n1\r\nk\r\n0\r\n\r\n";
    static const char *const others[] = {"o", "okk", "ox", "xk", ""};

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct http_answer answer;
        struct http_body body = {others[i], strlen(others[i]), 0, false};
        size_t used;

        http_answer_begin(&answer, false);
        answer.body = &body;
        assert_int_equal(http_answer_feed(&answer, bytes, sizeof bytes - 1, &used), HTTP_ANSWER_DONE);
        assert_false(http_body_matches(&body));
    }
}

static bool keep(struct http_memo *memo, const char *bytes, bool head_request)
{
    struct http_answer answer;
    size_t used;

    memset(memo, 0, sizeof *memo);
    http_answer_begin(&answer, head_request);
    assert_int_equal(http_answer_feed(&answer, bytes, strlen(bytes), &used), HTTP_ANSWER_DONE);
    assert_int_equal(used, strlen(bytes));
    http_memo_keep(memo, &answer, bytes, strlen(bytes));
    return memo->total != 0;
}

static bool hit(const struct http_memo *memo, const char *bytes)
{
    return http_memo_hit(memo, false, bytes, strlen(bytes));
}

/* A hit must never be anything that reading would have seen otherwise. */
static void test_memo(void **state)
{
    struct http_memo memo;

    (void)state;
    assert_true(keep(&memo, H "Content-Length: 2\r\n\r\nok", false));
    assert_true(hit(&memo, H "Content-Length: 2\r\n\r\nok"));
    assert_true(hit(&memo, H "Content-Length: 2\r\n\r\nko"));
    assert_false(hit(&memo, H "Content-Length: 2\r\n\r\no"));
    assert_false(hit(&memo, H "Content-Length: 2\r\n\r\nokx"));
    assert_false(hit(&memo, H "Content-Length: 3\r\n\r\nok"));
    assert_false(http_memo_hit(&memo, true, H "Content-Length: 2\r\n\r\nok", strlen(H) + 23));
    assert_true(memo.reusable);
    assert_int_equal(memo.status, 200);

    /* Chunked: nothing but all bytes tells that it is complete. */
    assert_true(keep(&memo, CHUNKED "2\r\nok\r\n0\r\n\r\n", false));
    assert_true(hit(&memo, CHUNKED "2\r\nok\r\n0\r\n\r\n"));
    assert_false(hit(&memo, CHUNKED "2\r\nokk0\r\n\r\n\n"));
    assert_false(hit(&memo, CHUNKED "2\r\nko\r\n0\r\n\r\n"));

    assert_true(keep(&memo, H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false));
    assert_false(hit(&memo, H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1\r\n\r\n"));

    assert_true(keep(&memo, H "Content-Length: 0\r\nConnection: close\r\n\r\n", false));
    assert_false(memo.reusable);
    assert_false(keep(&memo, "HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n", false));
    assert_false(keep(&memo, "HTTP/1.1 100 C\r\n\r\n" H "Content-Length: 0\r\n\r\n", false));
    assert_true(keep(&memo, H "Content-Length: 9\r\n\r\n", true));
    assert_true(http_memo_hit(&memo, true, H "Content-Length: 9\r\n\r\n", strlen(H) + 21));
}

/* Bytes that are passed over are as good as bytes that were fed. */
static void test_skip(void **state)
{
    static const char head[] = H "Content-Length: 10000\r\n\r\n";
    struct http_answer answer;
    struct http_memo memo = {0};
    size_t used;

    (void)state;
    http_answer_begin(&answer, false);
    assert_int_equal(http_answer_skippable(&answer), 0);
    assert_int_equal(http_answer_feed(&answer, head, sizeof head - 1, &used), HTTP_ANSWER_MORE);
    assert_int_equal(http_answer_skippable(&answer), 10000);
    http_memo_keep(&memo, &answer, head, sizeof head - 1);
    assert_int_equal(memo.total, sizeof head - 1 + 10000);
    assert_true(http_memo_hit_head(&memo, false, head, sizeof head - 1));
    assert_false(http_memo_hit_head(&memo, true, head, sizeof head - 1));
    assert_false(http_memo_hit_head(&memo, false, head, sizeof head - 2));
    assert_int_equal(http_answer_skip(&answer, 9999), HTTP_ANSWER_MORE);
    assert_int_equal(http_answer_feed(&answer, "xy", 2, &used), HTTP_ANSWER_DONE);
    assert_int_equal(used, 1);

    /* As the memo has it, the whole body is still to come. */
    answer = memo.at_body;
    assert_int_equal(http_answer_skip(&answer, 10000), HTTP_ANSWER_DONE);
    assert_true(http_answer_reusable(&answer));

    /* Nothing to pass over in a body that is compared, or in chunks. */
    http_answer_begin(&answer, false);
    answer.body = &(struct http_body){"", 0, 0, false};
    (void)http_answer_feed(&answer, head, sizeof head - 1, &used);
    assert_int_equal(http_answer_skippable(&answer), 0);
    http_answer_begin(&answer, false);
    (void)http_answer_feed(&answer, CHUNKED "ffff\r\n", sizeof CHUNKED + 5, &used);
    assert_int_equal(http_answer_skippable(&answer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_split),      cmocka_unit_test(test_limits), cmocka_unit_test(test_chunk_line_limit),
        cmocka_unit_test(test_body_is_compared), cmocka_unit_test(test_memo),   cmocka_unit_test(test_skip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
