#include "request.h"
#include "json.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <string.h>
#include <strings.h>

enum { HEAD_MAX = 16 * 1024, BODY_MAX = 16 * 1024 * 1024, CHUNK_LINE_MAX = 256 };

static EVP_MAC_CTX *mac;
static signed char base64[256];

/* ---- the head ---- */

static bool same(const char *p, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(p, word, len) == 0;
}

static bool has_token(const char *p, size_t len, const char *word)
{
    for (const char *end = p + len; p < end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end, *last = stop;
        while (p < last && (*p == ' ' || *p == '\t'))
            p++;
        while (last > p && (last[-1] == ' ' || last[-1] == '\t'))
            last--;
        if (same(p, (size_t)(last - p), word))
            return true;
        p = comma ? comma + 1 : end;
    }
    return false;
}

struct head {
    bool host, length, close, keep_alive;
};

static int set_length(struct request *r, struct head *h, const char *p, size_t len)
{
    size_t n = 0;
    if (len == 0)
        return 400;
    for (size_t i = 0; i < len; i++) {
        if (p[i] < '0' || p[i] > '9')
            return 400;
        if (n <= BODY_MAX)
            n = n * 10 + (size_t)(p[i] - '0');
    }
    if (h->length && n != r->content_len)
        return 400;
    h->length = true;
    r->content_len = n;
    return 0;
}

static int field(struct request *r, struct head *h, const char *name, size_t name_len, const char *v, size_t len)
{
    switch (name_len) {
    case 4:
        if (same(name, name_len, "host")) {
            if (h->host)
                return 400;
            h->host = true;
        }
        break;
    case 6:
        if (same(name, name_len, "expect")) {
            if (!same(v, len, "100-continue"))
                return 417;
            r->expect_continue = true;
        }
        break;
    case 10:
        if (same(name, name_len, "connection")) {
            h->close |= has_token(v, len, "close");
            h->keep_alive |= has_token(v, len, "keep-alive");
        }
        break;
    case 13:
        if (same(name, name_len, "authorization")) {
            if (r->token)
                return 400;
            bool bearer = len > 7 && strncasecmp(v, "bearer ", 7) == 0;
            r->token = bearer ? v + 7 : v;
            r->token_len = bearer ? len - 7 : 0;
        }
        break;
    case 14:
        if (same(name, name_len, "content-length"))
            return set_length(r, h, v, len);
        break;
    case 17:
        if (same(name, name_len, "transfer-encoding")) {
            if (r->chunked)
                return 400;
            if (!same(v, len, "chunked"))
                return 501;
            r->chunked = true;
        }
        break;
    }
    return 0;
}

static int parse_line(const char *p, const char *end, struct request *r)
{
    const char *space = memchr(p, ' ', (size_t)(end - p));
    if (!space)
        return 400;
    size_t len = (size_t)(space - p);
    r->method = len == 3 && !memcmp(p, "GET", 3)    ? METHOD_GET
                : len == 4 && !memcmp(p, "HEAD", 4) ? METHOD_HEAD
                : len == 4 && !memcmp(p, "POST", 4) ? METHOD_POST
                                                    : METHOD_OTHER;
    p = space + 1;
    space = memchr(p, ' ', (size_t)(end - p));
    if (len == 0 || !space || space == p)
        return 400;
    if (end - space != 9 || memcmp(space + 1, "HTTP/", 5) != 0)
        return 400;
    if (memcmp(space + 6, "1.", 2) != 0)
        return 505;
    r->http10 = space[8] == '0';
    if (*p != '/' && (size_t)(space - p) > 7 && strncasecmp(p, "http://", 7) == 0) {
        const char *slash = memchr(p + 7, '/', (size_t)(space - p - 7));
        p = slash ? slash : space;
    }
    const char *mark = memchr(p, '?', (size_t)(space - p));
    r->path = p;
    r->path_len = (size_t)((mark ? mark : space) - p);
    if (mark) {
        r->query = mark + 1;
        r->query_len = (size_t)(space - mark - 1);
    }
    return 0;
}

int request_parse(const char *data, size_t len, struct request *r)
{
    const char *p = data;
    *r = (struct request){0};
    /* An empty line before a request is a habit of old clients. */
    while (len >= 2 && p[0] == '\r' && p[1] == '\n') {
        p += 2;
        len -= 2;
    }
    const char *blank = memmem(p, len < HEAD_MAX ? len : HEAD_MAX, "\r\n\r\n", 4);
    if (!blank)
        return len < HEAD_MAX ? REQUEST_INCOMPLETE : 431;
    const char *end = blank + 2, *eol = memchr(p, '\n', (size_t)(end - p));
    struct head h = {0};
    r->head_len = (size_t)(blank + 4 - data);
    if (eol[-1] != '\r')
        return 400;
    int wrong = parse_line(p, eol - 1, r);
    for (p = eol + 1; !wrong && p < end; p = eol + 1) {
        eol = memchr(p, '\n', (size_t)(end - p));
        const char *colon = memchr(p, ':', (size_t)(eol - p)), *last = eol - 1, *v;
        /* Blanks before the colon, folded lines and bare line feeds are ways to smuggle a second request. */
        if (eol[-1] != '\r' || !colon || colon == p || *p == ' ' || *p == '\t' || colon[-1] == ' ' || colon[-1] == '\t')
            return 400;
        v = colon + 1;
        while (v < last && (*v == ' ' || *v == '\t'))
            v++;
        while (last > v && (last[-1] == ' ' || last[-1] == '\t'))
            last--;
        wrong = field(r, &h, p, (size_t)(colon - p), v, (size_t)(last - v));
    }
    if (wrong)
        return wrong;
    r->keep_alive = !h.close && (!r->http10 || h.keep_alive);
    if (r->http10)
        r->expect_continue = false;
    if ((!h.host && !r->http10) || (r->chunked && (h.length || r->http10)))
        return 400;
    return r->content_len > BODY_MAX ? 413 : 0;
}

/* ---- a chunked body ---- */

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

/* The chunk line at p: *size, and its length with the line's end; 0 when it is not all there, -1 when it is none. */
static int chunk_line(const char *p, size_t len, size_t *size)
{
    size_t max = len < CHUNK_LINE_MAX ? len : CHUNK_LINE_MAX, digits = 0;
    const char *eol = memchr(p, '\n', max);
    if (!eol)
        return len < CHUNK_LINE_MAX ? 0 : -1;
    *size = 0;
    for (; digits < 8 && hex(p[digits]) >= 0; digits++)
        *size = *size << 4 | (size_t)hex(p[digits]);
    if (digits == 0 || eol == p || eol[-1] != '\r' || !memchr("\r; \t", p[digits], 4))
        return -1;
    return (int)(eol + 1 - p);
}

int request_scan_chunks(const char *body, size_t len, size_t *pos, bool *complete)
{
    *complete = false;
    for (;;) {
        size_t size;
        int line = chunk_line(body + *pos, len - *pos, &size);
        if (line <= 0)
            return line ? 400 : 0;
        if (*pos + size > BODY_MAX)
            return 413;
        size_t next = *pos + (size_t)line + size;
        if (size == 0) {
            /* Trailers up to an empty line; none of them says anything to us. */
            const char *end = memmem(body + next - 2, len - next + 2, "\r\n\r\n", 4);
            if (!end)
                return len - next > HEAD_MAX ? 431 : 0;
            *pos = (size_t)(end + 4 - body);
            *complete = true;
            return 0;
        }
        if (len < next + 2)
            return 0;
        if (body[next] != '\r' || body[next + 1] != '\n')
            return 400;
        *pos = next + 2;
    }
}

size_t request_join_chunks(char *body, size_t raw_len)
{
    size_t pos = 0, joined = 0, size = 0;
    for (int line; (line = chunk_line(body + pos, raw_len - pos, &size)) > 0 && size > 0; pos += size + 2) {
        pos += (size_t)line;
        memmove(body + joined, body + pos, size);
        joined += size;
    }
    return joined;
}

/* ---- what is asked for ---- */

bool request_path_is(const struct request *r, const char *path)
{
    return r->path_len == strlen(path) && memcmp(r->path, path, r->path_len) == 0;
}

bool request_number(const char *text, size_t len, int64_t *number)
{
    uint64_t n = 0;
    for (size_t i = 0; i < len; i++) {
        int c = text[i];
        if (c == '%' && len - i > 2 && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            c = hex(text[i + 1]) << 4 | hex(text[i + 2]);
            i += 2;
        }
        if (c < '0' || c > '9' || n > INT64_MAX / 10)
            return false;
        n = n * 10 + (uint64_t)(c - '0');
    }
    if (n == 0 || n > INT64_MAX)
        return false;
    *number = (int64_t)n;
    return true;
}

bool request_query_number(const struct request *r, const char *name, int64_t *number)
{
    size_t name_len = strlen(name);
    const char *p = r->query, *end = r->query + r->query_len;
    while (p && p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p)), *stop = amp ? amp : end;
        if ((size_t)(stop - p) >= name_len && memcmp(p, name, name_len) == 0) {
            p += name_len;
            if (p == stop)
                return false;
            if (*p == '=')
                return request_number(p + 1, (size_t)(stop - p - 1), number);
        }
        p = amp ? amp + 1 : NULL;
    }
    return true;
}

/* ---- tokens ---- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const char *request_init(const char *secret)
{
    if (!secret)
        return NULL;
    memset(base64, -1, sizeof base64);
    for (int i = 0; i < 64; i++)
        base64[(unsigned char)alphabet[i]] = (signed char)i;
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_END};
    mac = EVP_MAC_CTX_new(hmac);
    EVP_MAC_free(hmac);
    if (*secret == 0)
        return "JWT_SECRET is empty";
    if (!mac || !EVP_MAC_init(mac, (const unsigned char *)secret, strlen(secret), params))
        return "libcrypto has no HMAC with SHA-256";
    return NULL;
}

enum { SIGNATURE_LEN = 43 };

/* The signature is compared in its encoded form: base64url has spare bits at the end, so that several encodings of it
 * would decode to the same bytes, and only one of them was signed. */
static bool signature_matches(const char *text, size_t len, const char *signature)
{
    unsigned char sum[33] = {0};
    char encoded[44];
    size_t sum_len = 0;
    if (!EVP_MAC_init(mac, NULL, 0, NULL) || !EVP_MAC_update(mac, (const unsigned char *)text, len) ||
        !EVP_MAC_final(mac, sum, &sum_len, 32) || sum_len != 32)
        return false;
    for (int i = 0, o = 0; i < 33; i += 3) {
        uint32_t v = (uint32_t)sum[i] << 16 | (uint32_t)sum[i + 1] << 8 | sum[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            encoded[o++] = alphabet[v >> shift & 63];
    }
    return CRYPTO_memcmp(encoded, signature, SIGNATURE_LEN) == 0;
}

static bool decode(const char *p, size_t len, char *out, size_t *out_len)
{
    uint32_t v = 0;
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        int d = base64[(unsigned char)p[i]];
        if (d < 0)
            return false;
        v = v << 6 | (uint32_t)d;
        if (i % 4 != 0)
            out[n++] = (char)(v >> (6 - 2 * (i % 4)));
    }
    *out_len = n;
    return len % 4 != 1;
}

bool request_may_pass(const struct request *r, int64_t now_s)
{
    if (!mac)
        return true;
    if (!r->token)
        return false;
    const char *p = r->token, *end = p + r->token_len;
    while (p < end && *p == ' ')
        p++;
    const char *dot1 = memchr(p, '.', (size_t)(end - p));
    const char *dot2 = dot1 ? memchr(dot1 + 1, '.', (size_t)(end - dot1 - 1)) : NULL;
    if (!dot2 || end - dot2 - 1 != SIGNATURE_LEN || !signature_matches(p, (size_t)(dot2 - p), dot2 + 1))
        return false;
    char json[HEAD_MAX];
    size_t len;
    double exp_s;
    return decode(p, (size_t)(dot1 - p), json, &len) && json_is_hs256(json, len) &&
           decode(dot1 + 1, (size_t)(dot2 - dot1 - 1), json, &len) && json_read_exp(json, len, &exp_s) &&
           exp_s > (double)now_s;
}
