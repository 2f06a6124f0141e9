/*
 * libFuzzer: the answer parser. The first byte chooses HEAD or not and how the rest is split; the rest is what a
 * server sends before it closes. Beyond not crashing: what is said depends on the bytes, never on the splitting, no
 * byte is used that was not there, and the memo of the last answer agrees with the parser.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/http_answer.h"
#include "load/http_memo.h"

struct verdict {
    enum http_answer_result result;
    size_t used;
    int status;
    bool reusable;
};

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

/* Feeds pieces of 1 + (seed-driven) % most bytes; most 0: all at once. Every piece is a block of its own. */
static struct verdict read_answer(const uint8_t *bytes, size_t len, bool head_request, size_t most, unsigned seed)
{
    struct http_answer answer;
    struct verdict verdict = {.result = HTTP_ANSWER_MORE};
    size_t at = 0;

    http_answer_begin(&answer, head_request);
    while (at < len && verdict.result == HTTP_ANSWER_MORE) {
        size_t piece = most == 0 ? len : 1 + (seed = seed * 1103515245 + 12345) / 65536 % most, used = 0;
        char *copy;

        piece = piece < len - at ? piece : len - at;
        copy = malloc(piece);
        memcpy(copy, bytes + at, piece);
        verdict.result = http_answer_feed(&answer, copy, piece, &used);
        free(copy);
        check(used <= piece, "it used bytes that were not there");
        if (verdict.result == HTTP_ANSWER_MORE)
            check(used == piece, "it wants more and left bytes");
        if (verdict.result == HTTP_ANSWER_MALFORMED)
            check(answer.why != NULL && answer.why[0] != '\0', "malformed without a reason");
        at += used;
    }
    if (verdict.result == HTTP_ANSWER_MORE)
        verdict.result = http_answer_end(&answer);
    verdict.used = verdict.result == HTTP_ANSWER_MALFORMED ? 0 : at;
    if (verdict.result == HTTP_ANSWER_DONE) {
        verdict.status = answer.status;
        verdict.reusable = http_answer_reusable(&answer);
        check(answer.status == 101 || (answer.status >= 200 && answer.status <= 999), "done without a final status");
        check(!(answer.until_end && verdict.reusable), "reusable after a body that ends with the connection");
    }
    return verdict;
}

static bool equal(const struct verdict *a, const struct verdict *b)
{
    return a->result == b->result && a->used == b->used && a->status == b->status && a->reusable == b->reusable;
}

static void check_memo(const uint8_t *bytes, size_t len, bool head_request, const struct verdict *whole)
{
    static struct http_memo memo;
    struct http_answer answer;
    size_t used = 0;

    if (http_memo_hit(&memo, head_request, (const char *)bytes, len)) {
        if (whole->result != HTTP_ANSWER_DONE || whole->used != len || whole->status != memo.status)
            fprintf(stderr, "the memo was: %.*s\n", (int)memo.prefix, memo.bytes); /* an earlier input left it */
        check(whole->result == HTTP_ANSWER_DONE && whole->used == len, "the memo knows an answer that is none");
        check(whole->status == memo.status && whole->reusable == memo.reusable, "the memo says something else");
    }
    http_answer_begin(&answer, head_request);
    if (len > 0 && http_answer_feed(&answer, (const char *)bytes, len, &used) == HTTP_ANSWER_DONE && used == len) {
        http_memo_keep(&memo, &answer, (const char *)bytes, len);
        if (memo.total == len && http_memo_hit(&memo, head_request, (const char *)bytes, len))
            check(memo.status == answer.status, "the memo kept something else");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct verdict whole, pieces, bytewise;
    bool head_request;

    if (size == 0)
        return 0;
    head_request = data[0] & 1;
    whole = read_answer(data + 1, size - 1, head_request, 0, 0);
    pieces = read_answer(data + 1, size - 1, head_request, 2 + data[0] / 2, data[0]);
    bytewise = read_answer(data + 1, size - 1, head_request, 1, 0);
    check(equal(&whole, &pieces), "pieces say something else than the whole");
    check(equal(&whole, &bytewise), "single bytes say something else than the whole");
    check_memo(data + 1, size - 1, head_request, &whole);
    return 0;
}
