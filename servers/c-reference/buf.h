/* A growing byte buffer, hexadecimal digits, and the big-endian stores of PostgreSQL's binary formats.
 *
 * Zero-initialise a struct buf, append, free its data at the end. The storage is kept between uses (buf_clear), so
 * that a running server allocates nothing per request. Running out of memory ends the process: a server that cannot
 * answer is better restarted than half alive. */
#ifndef BUF_H
#define BUF_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buf {
    char *data;
    size_t len, cap;
};

static inline void buf_reserve(struct buf *b, size_t extra)
{
    if (b->cap - b->len >= extra)
        return;
    size_t cap = b->cap ? b->cap : 512;
    while (cap - b->len < extra)
        cap *= 2;
    char *data = realloc(b->data, cap);
    if (!data) {
        fputs("c-reference: out of memory\n", stderr);
        abort();
    }
    b->data = data;
    b->cap = cap;
}

static inline void buf_put(struct buf *b, const void *data, size_t len)
{
    buf_reserve(b, len);
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
}

#define buf_lit(b, literal) buf_put((b), (literal), sizeof(literal) - 1)

static inline void buf_clear(struct buf *b)
{
    b->len = 0;
}

/* Takes the first n bytes away. */
static inline void buf_drop(struct buf *b, size_t n)
{
    if (n > 0 && n < b->len)
        memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}

static inline void buf_free(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

/* Unsigned decimal, at least width digits. */
static inline void buf_uint(struct buf *b, uint64_t v, int width)
{
    char digits[24];
    int n = 0;
    do {
        digits[sizeof digits - 1 - n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v || n < width);
    buf_put(b, digits + sizeof digits - n, (size_t)n);
}

/* A hexadecimal digit's value, or -1. */
static inline int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

static inline void be16_put(struct buf *b, uint16_t v)
{
    uint16_t be = __builtin_bswap16(v);
    buf_put(b, &be, sizeof be);
}

static inline void be32_put(struct buf *b, uint32_t v)
{
    uint32_t be = __builtin_bswap32(v);
    buf_put(b, &be, sizeof be);
}

static inline void be64_put(struct buf *b, uint64_t v)
{
    uint64_t be = __builtin_bswap64(v);
    buf_put(b, &be, sizeof be);
}

static inline uint16_t be16_get(const char *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}

static inline uint64_t be64_get(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

#endif
