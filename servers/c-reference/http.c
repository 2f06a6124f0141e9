#include "http.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <strings.h>
#include <time.h>

enum {
    HEAD_MAX = 16 * 1024,
    BODY_MAX = 16 * 1024 * 1024,
    CHUNK_LINE_MAX = 256,
    OUT_PAUSE = 256 * 1024, /* a client that does not read its answers is not read from either */
    INCOMPLETE = -1,
};

struct request {
    enum { METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_OTHER } method;
    const char *path, *query, *token; /* query behind '?', token behind "Bearer"; NULL when there is none */
    size_t path_len, query_len, token_len;
    char *body;
    size_t body_len;
};

static EVP_MAC_CTX *mac;
static signed char base64[256];
static int64_t now_s;
static char date[64];
static size_t date_len;

/* ---- a request's head ---- */

/* How the request is framed, and what its head has said so far. */
struct frame {
    size_t head_len, length;
    bool has_host, has_length, has_close, has_keep_alive;
    bool chunked, http10, expects_continue;
};

static bool same(const char *p, size_t len, const char *word)
{
    return len == strlen(word) && strncasecmp(p, word, len) == 0;
}

static void trim(const char **p, const char **end)
{
    while (*p < *end && (**p == ' ' || **p == '\t'))
        ++*p;
    while (*end > *p && ((*end)[-1] == ' ' || (*end)[-1] == '\t'))
        --*end;
}

static void read_options(const char *p, const char *end, struct frame *f)
{
    for (const char *comma; p <= end; p = comma + 1) {
        comma = memchr(p, ',', (size_t)(end - p));
        comma = comma ? comma : end;
        const char *last = comma;
        trim(&p, &last);
        f->has_close |= same(p, (size_t)(last - p), "close");
        f->has_keep_alive |= same(p, (size_t)(last - p), "keep-alive");
    }
}

static int read_length(const char *p, const char *end, struct frame *f)
{
    size_t n = 0;
    for (const char *digit = p; digit < end; digit++) {
        if (*digit < '0' || *digit > '9')
            return 400;
        if (n <= BODY_MAX)
            n = n * 10 + (size_t)(*digit - '0');
    }
    if (p == end || (f->has_length && n != f->length))
        return 400;
    f->has_length = true;
    f->length = n;
    return 0;
}

static int read_field(const char *name, size_t len, const char *v, const char *end, struct request *r, struct frame *f)
{
    size_t value_len = (size_t)(end - v);
    if (same(name, len, "host")) {
        if (f->has_host)
            return 400;
        f->has_host = true;
    } else if (same(name, len, "connection")) {
        read_options(v, end, f);
    } else if (same(name, len, "content-length")) {
        return read_length(v, end, f);
    } else if (same(name, len, "authorization")) {
        if (r->token)
            return 400;
        bool bearer = value_len > 7 && strncasecmp(v, "bearer ", 7) == 0;
        r->token = bearer ? v + 7 : v;
        r->token_len = bearer ? value_len - 7 : 0;
    } else if (same(name, len, "transfer-encoding")) {
        if (f->chunked)
            return 400;
        if (!same(v, value_len, "chunked"))
            return 501;
        f->chunked = true;
    } else if (same(name, len, "expect")) {
        if (!same(v, value_len, "100-continue"))
            return 417;
        f->expects_continue = true;
    }
    return 0;
}

static int read_request_line(const char *p, const char *end, struct request *r, struct frame *f)
{
    const char *space = memchr(p, ' ', (size_t)(end - p));
    if (!space || space == p)
        return 400;
    r->method = !memcmp(p, "GET ", 4)    ? METHOD_GET
                : !memcmp(p, "HEAD ", 5) ? METHOD_HEAD
                : !memcmp(p, "POST ", 5) ? METHOD_POST
                                         : METHOD_OTHER;
    p = space + 1;
    space = memchr(p, ' ', (size_t)(end - p));
    if (!space || space == p || end - space != 9 || memcmp(space + 1, "HTTP/", 5) != 0)
        return 400;
    if (memcmp(space + 6, "1.", 2) != 0)
        return 505;
    f->http10 = space[8] == '0';
    if (space - p > 7 && strncasecmp(p, "http://", 7) == 0) {
        const char *slash = memchr(p + 7, '/', (size_t)(space - p - 7));
        p = slash ? slash : space;
    }
    const char *mark = memchr(p, '?', (size_t)(space - p));
    r->path = p;
    r->path_len = (size_t)((mark ? mark : space) - p);
    r->query = mark ? mark + 1 : NULL;
    r->query_len = mark ? (size_t)(space - mark - 1) : 0;
    return 0;
}

/* 0, INCOMPLETE, or the status to refuse with. */
static int read_head(const char *data, size_t len, struct request *r, struct frame *f)
{
    const char *p = data;
    /* An empty line before a request is a habit of old clients. */
    while (len >= 2 && p[0] == '\r' && p[1] == '\n') {
        p += 2;
        len -= 2;
    }
    const char *blank = memmem(p, len < HEAD_MAX ? len : HEAD_MAX, "\r\n\r\n", 4);
    if (!blank)
        return len < HEAD_MAX ? INCOMPLETE : 431;
    const char *end = blank + 2, *eol = memchr(p, '\n', (size_t)(end - p));
    f->head_len = (size_t)(blank + 4 - data);
    if (eol[-1] != '\r')
        return 400;
    int wrong = read_request_line(p, eol - 1, r, f);
    for (p = eol + 1; !wrong && p < end; p = eol + 1) {
        eol = memchr(p, '\n', (size_t)(end - p));
        const char *colon = memchr(p, ':', (size_t)(eol - p)), *last = eol - 1;
        /* Blanks before the colon, folded lines and bare line feeds are ways to smuggle a second request. */
        if (eol[-1] != '\r' || !colon || colon == p || *p == ' ' || *p == '\t' || colon[-1] == ' ' || colon[-1] == '\t')
            return 400;
        const char *value = colon + 1;
        trim(&value, &last);
        wrong = read_field(p, (size_t)(colon - p), value, last, r, f);
    }
    if (wrong)
        return wrong;
    if ((!f->has_host && !f->http10) || (f->chunked && (f->has_length || f->http10)))
        return 400;
    return f->length > BODY_MAX ? 413 : 0;
}

/* ---- a chunked body ---- */

/* The chunk line at p: *size, and its length with the line's end; 0 when it is not all there, -1 when it is none. */
static int chunk_line(const char *p, size_t len, size_t *size)
{
    size_t max = len < CHUNK_LINE_MAX ? len : CHUNK_LINE_MAX, digits = 0;
    const char *eol = memchr(p, '\n', max);
    if (!eol)
        return len < CHUNK_LINE_MAX ? 0 : -1;
    *size = 0;
    for (; digits < 8 && hex_digit(p[digits]) >= 0; digits++)
        *size = *size << 4 | (size_t)hex_digit(p[digits]);
    if (digits == 0 || eol == p || eol[-1] != '\r' || !memchr("\r; \t", p[digits], 4))
        return -1;
    return (int)(eol + 1 - p);
}

/* Follows the body from *pos on, which is kept between calls; *pos is its raw length when it is complete. */
static int scan_chunks(const char *body, size_t len, size_t *pos)
{
    for (;;) {
        size_t size;
        int line = chunk_line(body + *pos, len - *pos, &size);
        if (line <= 0)
            return line ? 400 : INCOMPLETE;
        if (*pos + size > BODY_MAX)
            return 413;
        size_t next = *pos + (size_t)line + size;
        if (size == 0) {
            /* Trailers up to an empty line; none of them says anything to us. */
            const char *end = memmem(body + next - 2, len - next + 2, "\r\n\r\n", 4);
            if (!end)
                return len - next > HEAD_MAX ? 431 : INCOMPLETE;
            *pos = (size_t)(end + 4 - body);
            return 0;
        }
        if (len < next + 2)
            return INCOMPLETE;
        if (body[next] != '\r' || body[next + 1] != '\n')
            return 400;
        *pos = next + 2;
    }
}

/* Moves the data of a complete body together; returns its length. */
static size_t join_chunks(char *body, size_t raw_len)
{
    size_t pos = 0, joined = 0, size = 0;
    for (int line; (line = chunk_line(body + pos, raw_len - pos, &size)) > 0 && size > 0; pos += size + 2) {
        pos += (size_t)line;
        memmove(body + joined, body + pos, size);
        joined += size;
    }
    return joined;
}

/* ---- answers ---- */

void http_answer(struct exchange *x, int status, const char *extra, const char *body, size_t len)
{
    static const char *const lines[600] = {
        [200] = "200 OK",
        [400] = "400 Bad Request",
        [401] = "401 Unauthorized",
        [404] = "404 Not Found",
        [405] = "405 Method Not Allowed",
        [413] = "413 Content Too Large",
        [417] = "417 Expectation Failed",
        [431] = "431 Request Header Fields Too Large",
        [500] = "500 Internal Server Error",
        [501] = "501 Not Implemented",
        [503] = "503 Service Unavailable",
        [505] = "505 HTTP Version Not Supported",
    };
    struct buf *b = &x->out;
    buf_lit(b, "HTTP/1.1 ");
    buf_put(b, lines[status], strlen(lines[status]));
    buf_put(b, date, date_len);
    if (extra)
        buf_put(b, extra, strlen(extra));
    if (x->close)
        buf_lit(b, "Connection: close\r\n");
    else if (x->http10)
        buf_lit(b, "Connection: keep-alive\r\n");
    buf_lit(b, "Content-Type: application/json\r\nContent-Length: ");
    buf_uint(b, len, 1);
    buf_lit(b, "\r\n\r\n");
    if (!x->head)
        buf_put(b, body, len);
    x->closing |= x->close;
}

static void put_error(struct exchange *x, int status, const char *extra, const char *what)
{
    char body[128];
    int n = snprintf(body, sizeof body, "{\"error\":\"%s\"}", what);
    http_answer(x, status, extra, body, (size_t)n);
}

/* ---- tokens ---- */

const char *http_init(const char *secret)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
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

/* base64url without padding. */
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
    /* Spare bits at the end would be other encodings of the same bytes, and only one of them was signed. */
    return len % 4 != 1 && (v & (len % 4 == 2 ? 15 : len % 4 == 3 ? 3 : 0)) == 0;
}

static bool signature_matches(const char *text, size_t len, const char *signature, size_t signature_len)
{
    enum { SUM_LEN = 32, ENCODED_LEN = 43 };
    unsigned char sum[SUM_LEN];
    char sent[SUM_LEN];
    size_t sum_len = 0, sent_len;
    return signature_len == ENCODED_LEN && decode(signature, signature_len, sent, &sent_len) &&
           EVP_MAC_init(mac, NULL, 0, NULL) && EVP_MAC_update(mac, (const unsigned char *)text, len) &&
           EVP_MAC_final(mac, sum, &sum_len, SUM_LEN) && sum_len == SUM_LEN && CRYPTO_memcmp(sum, sent, SUM_LEN) == 0;
}

/* The token is HS256, signed with the secret, and its "exp" lies ahead. Computed anew every time. */
static bool may_pass(const struct request *r)
{
    if (!mac)
        return true;
    if (!r->token)
        return false;
    const char *p = r->token, *end = p + r->token_len;
    trim(&p, &end);
    const char *dot1 = memchr(p, '.', (size_t)(end - p));
    const char *dot2 = dot1 ? memchr(dot1 + 1, '.', (size_t)(end - dot1 - 1)) : NULL;
    if (!dot2 || !signature_matches(p, (size_t)(dot2 - p), dot2 + 1, (size_t)(end - dot2 - 1)))
        return false;
    char json[HEAD_MAX];
    size_t len;
    double exp_s;
    return decode(p, (size_t)(dot1 - p), json, &len) && json_is_hs256(json, len) &&
           decode(dot1 + 1, (size_t)(dot2 - dot1 - 1), json, &len) && json_read_exp(json, len, &exp_s) &&
           exp_s > (double)now_s;
}

/* ---- the endpoints ---- */

static bool path_is(const struct request *r, const char *path)
{
    return r->path_len == strlen(path) && memcmp(r->path, path, r->path_len) == 0;
}

/* Digits (also percent-encoded) that make a number from 1 to INT64_MAX; 0 when they do not. */
static int64_t read_number(const char *p, const char *end)
{
    uint64_t n = 0;
    for (; p < end; p++) {
        int c = *p;
        if (c == '%' && end - p > 2 && hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
            c = hex_digit(p[1]) << 4 | hex_digit(p[2]);
            p += 2;
        }
        if (c < '0' || c > '9' || n > INT64_MAX / 10)
            return 0;
        n = n * 10 + (uint64_t)(c - '0');
    }
    return n > INT64_MAX ? 0 : (int64_t)n;
}

static int64_t read_page(const struct request *r)
{
    static const char name[] = "pagina";
    enum { LEN = sizeof name - 1 };
    for (const char *p = r->query, *end = p + r->query_len, *stop; p && p < end; p = stop + 1) {
        stop = memchr(p, '&', (size_t)(end - p));
        stop = stop ? stop : end;
        if (stop - p >= LEN && memcmp(p, name, LEN) == 0 && (stop - p == LEN || p[LEN] == '='))
            return stop - p == LEN ? 0 : read_number(p + LEN + 1, stop);
    }
    return 1;
}

static void wait_for_database(struct exchange *x, bool sent)
{
    x->waiting = sent;
    if (!sent)
        put_error(x, 503, NULL, "no database connection");
}

static void insert(struct exchange *x, const struct request *r)
{
    static struct batch batch;
    const char *wrong = json_read_batch(r->body, r->body_len, &batch);
    if (wrong)
        put_error(x, 400, NULL, wrong);
    else
        wait_for_database(x, db_insert(&x->query, &batch));
}

static void handle(struct exchange *x, const struct request *r)
{
    static const char prefix[] = "/clienti/";
    enum { LEN = sizeof prefix - 1 };
    const char *id = r->path + LEN, *end = r->path + r->path_len;
    bool get = r->method == METHOD_GET || r->method == METHOD_HEAD;
    bool ping = path_is(r, "/ping"), page = path_is(r, "/clienti"), batch = path_is(r, "/clienti/batch") && !get;
    bool one = end - r->path > LEN && !memcmp(r->path, prefix, LEN) && !memchr(id, '/', (size_t)(end - id));
    int64_t number;
    if (!may_pass(r))
        put_error(x, 401, "WWW-Authenticate: Bearer\r\n", "a valid token is needed");
    else if (!ping && !page && !batch && !one)
        put_error(x, 404, NULL, "not found");
    else if (batch ? r->method != METHOD_POST : !get)
        put_error(x, 405, batch ? "Allow: POST\r\n" : "Allow: GET, HEAD\r\n", "method not allowed");
    else if (ping)
        http_answer(x, 200, NULL, "{\"ok\":true}", 11);
    else if (batch)
        insert(x, r);
    else if ((number = page ? read_page(r) : read_number(id, end)) == 0)
        put_error(x, 400, NULL, page ? "pagina is not a positive integer" : "id is not a positive integer");
    else if (page) /* beyond what OFFSET can say is past the end as much as the last row that it can */
        wait_for_database(x, db_select_page(&x->query, number > INT64_MAX / 50 ? INT64_MAX : (number - 1) * 50));
    else
        wait_for_database(x, db_select_one(&x->query, number));
}

/* ---- requests ---- */

bool http_may_take(const struct exchange *x)
{
    return !x->waiting && !x->closing && x->out.len < OUT_PAUSE;
}

/* The request at data, when all of it is there: 0 and *used, INCOMPLETE, or the status to refuse with. */
static int read_request(struct exchange *x, char *data, size_t len, struct request *r, size_t *used)
{
    struct frame f = {0};
    int wrong = len > 0 ? read_head(data, len, r, &f) : INCOMPLETE;
    if (wrong)
        return wrong;
    r->body = data + f.head_len;
    r->body_len = f.length;
    if (f.chunked)
        wrong = scan_chunks(r->body, len - f.head_len, &x->scanned);
    else if (len - f.head_len < f.length)
        wrong = INCOMPLETE;
    if (wrong == INCOMPLETE && f.expects_continue && !f.http10 && !x->continued) {
        buf_lit(&x->out, "HTTP/1.1 100 Continue\r\n\r\n");
        x->continued = true;
    }
    if (wrong)
        return wrong;
    *used = f.head_len + (f.chunked ? x->scanned : f.length);
    if (f.chunked)
        r->body_len = join_chunks(r->body, x->scanned);
    x->scanned = 0;
    x->continued = false;
    x->head = r->method == METHOD_HEAD;
    x->http10 = f.http10;
    x->close = f.has_close || (f.http10 && !f.has_keep_alive);
    return 0;
}

bool http_take(struct exchange *x)
{
    size_t taken = 0;
    int wrong = 0;
    while (!wrong && http_may_take(x)) {
        struct request r = {0};
        size_t used = 0;
        wrong = read_request(x, x->in.data + taken, x->in.len - taken, &r, &used);
        taken += used;
        if (!wrong) {
            handle(x, &r);
        } else if (wrong != INCOMPLETE) {
            /* It cannot be told from what follows it, so nothing after it is read. */
            x->close = true;
            x->head = false;
            put_error(x, wrong, NULL, "the request cannot be read");
        }
    }
    buf_drop(&x->in, taken);
    return wrong == INCOMPLETE;
}

void http_set_time(int64_t seconds)
{
    if (seconds == now_s)
        return;
    now_s = seconds;
    time_t t = (time_t)seconds;
    struct tm tm;
    gmtime_r(&t, &tm);
    date_len = strftime(date, sizeof date, "\r\nDate: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
}
