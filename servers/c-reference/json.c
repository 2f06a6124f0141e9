#include "json.h"

struct slice {
    const char *p;
    size_t len;
};

struct reader {
    char *p, *end;
};

static void skip_space(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
        r->p++;
}

/* The next byte that is not space, or 0 at the end; a NUL byte is no JSON either. */
static char peek(struct reader *r)
{
    skip_space(r);
    return r->p < r->end ? *r->p : 0;
}

static bool take(struct reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->p++;
    return true;
}

static bool take_word(struct reader *r, const char *word, size_t len)
{
    if ((size_t)(r->end - r->p) < len || memcmp(r->p, word, len) != 0)
        return false;
    r->p += len;
    return true;
}

static int hex4(const char *p, const char *end)
{
    if (end - p < 4)
        return -1;
    int v = 0;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(p[i]);
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

static char *put_utf8(char *w, unsigned cp)
{
    if (cp < 0x80) {
        *w++ = (char)cp;
    } else if (cp < 0x800) {
        *w++ = (char)(0xc0 | cp >> 6);
        *w++ = (char)(0x80 | (cp & 0x3f));
    } else if (cp < 0x10000) {
        *w++ = (char)(0xe0 | cp >> 12);
        *w++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *w++ = (char)(0x80 | (cp & 0x3f));
    } else {
        *w++ = (char)(0xf0 | cp >> 18);
        *w++ = (char)(0x80 | (cp >> 12 & 0x3f));
        *w++ = (char)(0x80 | (cp >> 6 & 0x3f));
        *w++ = (char)(0x80 | (cp & 0x3f));
    }
    return w;
}

/* Length of the well-formed UTF-8 sequence at p, 0 when it is none (Unicode, table 3-7). */
static int utf8_len(const unsigned char *p, const unsigned char *end)
{
    int n = *p >= 0xc2 && *p <= 0xdf ? 2 : (*p & 0xf0) == 0xe0 ? 3 : *p >= 0xf0 && *p <= 0xf4 ? 4 : 0;
    if (n == 0 || end - p < n)
        return 0;
    unsigned char lo = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80, hi = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < lo || p[1] > hi)
        return 0;
    for (int i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

static bool read_escape(struct reader *r, char **w)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (++r->p == r->end)
        return false;
    char c = *r->p++;
    if (c != 'u') {
        const char *at = c ? strchr(from, c) : NULL;
        if (!at)
            return false;
        *(*w)++ = to[at - from];
        return true;
    }
    int cp = hex4(r->p, r->end);
    if (cp < 0 || (cp >= 0xdc00 && cp <= 0xdfff))
        return false;
    r->p += 4;
    if (cp >= 0xd800 && cp <= 0xdbff) {
        int low = r->end - r->p >= 6 && r->p[0] == '\\' && r->p[1] == 'u' ? hex4(r->p + 2, r->end) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return false;
        cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
        r->p += 6;
    }
    *w = put_utf8(*w, (unsigned)cp);
    return true;
}

static bool read_string(struct reader *r, struct slice *s)
{
    if (!take(r, '"'))
        return false;
    char *w = r->p;
    s->p = w;
    while (r->p < r->end) {
        unsigned char c = (unsigned char)*r->p;
        if (c == '"') {
            s->len = (size_t)(w - s->p);
            r->p++;
            return true;
        }
        if (c == '\\') {
            if (!read_escape(r, &w))
                return false;
        } else if (c >= 0x80) {
            int n = utf8_len((unsigned char *)r->p, (unsigned char *)r->end);
            if (n == 0)
                return false;
            while (n-- > 0)
                *w++ = *r->p++;
        } else if (c < 0x20) {
            return false;
        } else {
            *w++ = *r->p++;
        }
    }
    return false;
}

static bool take_digits(struct reader *r)
{
    char *start = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
        r->p++;
    return r->p > start;
}

static bool read_number(struct reader *r, struct slice *s)
{
    skip_space(r);
    char *start = r->p;
    if (r->p < r->end && *r->p == '-')
        r->p++;
    char *digits = r->p;
    if (!take_digits(r) || (*digits == '0' && r->p - digits > 1))
        return false;
    if (r->p < r->end && *r->p == '.') {
        r->p++;
        if (!take_digits(r))
            return false;
    }
    if (r->p < r->end && (*r->p | 0x20) == 'e') {
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
            r->p++;
        if (!take_digits(r))
            return false;
    }
    *s = (struct slice){start, (size_t)(r->p - start)};
    return true;
}

static bool skip_value(struct reader *r, int depth)
{
    struct slice s;
    char c = peek(r);
    if (c == '"')
        return read_string(r, &s);
    if (c == 't')
        return take_word(r, "true", 4);
    if (c == 'f')
        return take_word(r, "false", 5);
    if (c == 'n')
        return take_word(r, "null", 4);
    if (c != '{' && c != '[')
        return read_number(r, &s);
    if (depth == 0)
        return false;
    char close = c == '{' ? '}' : ']';
    r->p++;
    if (take(r, close))
        return true;
    do {
        if (c == '{' && !(read_string(r, &s) && take(r, ':')))
            return false;
        if (!skip_value(r, depth - 1))
            return false;
    } while (take(r, ','));
    return take(r, close);
}

enum { DEPTH_MAX = 64 };

static bool is(struct slice s, const char *literal, size_t len)
{
    return s.len == len && memcmp(s.p, literal, len) == 0;
}

/* PostgreSQL's binary numeric: groups of four decimal digits, exactly the digits that were sent. The limits keep a
 * number such as 1e999999 from becoming a megabyte; PostgreSQL judges what its column can hold. */
static bool put_numeric(struct buf *b, struct slice s)
{
    enum { DIGITS_MAX = 96 };
    char digits[DIGITS_MAX + 8] = {0};
    size_t i = 0;
    int n = 0, fraction = 0, exponent = 0;
    bool minus = s.p[0] == '-', point = false, any = false;
    for (i = minus; i < s.len && (s.p[i] | 0x20) != 'e'; i++) {
        if (s.p[i] == '.') {
            point = true;
            continue;
        }
        if (n == DIGITS_MAX)
            return false;
        digits[n++] = (char)(s.p[i] - '0');
        any |= s.p[i] != '0';
        fraction += point;
    }
    if (i < s.len) {
        bool down = s.p[++i] == '-';
        for (i += s.p[i] == '-' || s.p[i] == '+'; i < s.len; i++)
            if ((exponent = exponent * 10 + s.p[i] - '0') > DIGITS_MAX)
                return false;
        exponent = down ? -exponent : exponent;
    }
    int scale = fraction - exponent;
    for (; scale < 0; scale++) {
        if (n == DIGITS_MAX)
            return false;
        digits[n++] = 0;
    }
    /* The point lies before digit n - scale; groups start at a multiple of four from there. */
    int before = n - scale, lead = ((-before % 4) + 4) % 4, weight = (before + lead) / 4 - 1;
    int groups = (lead + n + 3) / 4;
    be32_put(b, (uint32_t)(8 + 2 * groups));
    be16_put(b, (uint16_t)groups);
    be16_put(b, (uint16_t)weight);
    be16_put(b, minus && any ? 0x4000 : 0);
    be16_put(b, (uint16_t)scale);
    for (int g = 0; g < groups; g++) {
        int v = 0;
        for (int k = 4 * g - lead; k < 4 * g - lead + 4; k++)
            v = v * 10 + (k >= 0 && k < n ? digits[k] : 0);
        be16_put(b, (uint16_t)v);
    }
    return true;
}

static int two(const char *p)
{
    return p[0] >= '0' && p[0] <= '9' && p[1] >= '0' && p[1] <= '9' ? (p[0] - '0') * 10 + p[1] - '0' : -1;
}

/* YYYY-MM-DDTHH:MM:SS with up to nine digits of a second, as microseconds since 2000-01-01. */
static bool read_timestamp(struct slice s, int64_t *us)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const char *p = s.p;
    if (s.len < 19 || s.len > 29 || p[4] != '-' || p[7] != '-' || p[10] != 'T' || p[13] != ':' || p[16] != ':')
        return false;
    int century = two(p), yy = two(p + 2), month = two(p + 5), day = two(p + 8);
    int hour = two(p + 11), minute = two(p + 14), second = two(p + 17), year = century * 100 + yy;
    if (century < 0 || yy < 0 || year < 1 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || second < 0 || second > 59)
        return false;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day > days[month - 1] + (month == 2 && leap))
        return false;
    int64_t ns = 0;
    if (s.len > 19) {
        if (p[19] != '.' || s.len == 20)
            return false;
        for (size_t i = 20; i < 29; i++) {
            if (i < s.len && (p[i] < '0' || p[i] > '9'))
                return false;
            ns = ns * 10 + (i < s.len ? p[i] - '0' : 0);
        }
    }
    /* Days of the proleptic Gregorian calendar, years beginning in March so that a leap day comes last. */
    int64_t y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y % 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t since_2000 = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 730425;
    *us = ((since_2000 * 24 + hour) * 60 + minute) * 60 + second;
    *us = *us * 1000000 + (ns + 500) / 1000;
    return true;
}

static void put_text(struct buf *b, struct slice s)
{
    be32_put(b, (uint32_t)s.len);
    buf_put(b, s.p, s.len);
}

enum { NAME = 1, CITY = 2, EMAIL = 4, BALANCE = 8, CREATED = 16, ALL = 31 };

static const char *read_row(struct reader *r, struct batch *b, bool *null_email)
{
    struct slice key, name, city, email = {0}, balance, created;
    int64_t us = 0;
    int seen = 0, field;
    if (!take(r, '{'))
        return "a row is not an object";
    if (peek(r) == '}')
        return "a field is missing";
    do {
        if (!read_string(r, &key) || !take(r, ':'))
            return "not JSON";
        char c = peek(r);
        bool good;
        if (is(key, "ragione_sociale", 15)) {
            field = NAME;
            good = c == '"' && read_string(r, &name);
        } else if (is(key, "citta", 5)) {
            field = CITY;
            good = c == '"' && read_string(r, &city);
        } else if (is(key, "email", 5)) {
            field = EMAIL;
            good = c == 'n' ? take_word(r, "null", 4) : c == '"' && read_string(r, &email);
        } else if (is(key, "saldo", 5)) {
            field = BALANCE;
            good = (c == '-' || (c >= '0' && c <= '9')) && read_number(r, &balance);
        } else if (is(key, "creato", 6)) {
            field = CREATED;
            good = c == '"' && read_string(r, &created) && read_timestamp(created, &us);
        } else {
            field = 0;
            good = skip_value(r, DEPTH_MAX);
        }
        if (!good)
            return field ? "a field has a wrong type or value" : "not JSON";
        if (seen & field)
            return "a field stands twice";
        seen |= field;
    } while (take(r, ','));
    if (!take(r, '}'))
        return "not JSON";
    if (seen != ALL)
        return "a field is missing";
    put_text(&b->column[0], name);
    put_text(&b->column[1], city);
    if (email.p) {
        put_text(&b->column[2], email);
    } else {
        be32_put(&b->column[2], UINT32_MAX);
        *null_email = true;
    }
    if (!put_numeric(&b->column[3], balance))
        return "a number has too many digits";
    be32_put(&b->column[4], 8);
    be64_put(&b->column[4], (uint64_t)us);
    return NULL;
}

/* An array's head: dimensions, whether it holds nulls, element type, length, lower bound. */
enum { ARRAY_HEAD = 20 };

const char *json_read_batch(char *text, size_t len, struct batch *b)
{
    static const uint32_t type_oid[BATCH_COLUMNS] = {25, 25, 25, 1700, 1114};
    struct reader r = {text, text + len};
    bool null_email = false;
    b->rows = 0;
    for (int i = 0; i < BATCH_COLUMNS; i++) {
        buf_reserve(&b->column[i], ARRAY_HEAD);
        b->column[i].len = ARRAY_HEAD;
    }
    if (!take(&r, '['))
        return peek(&r) == '{' || peek(&r) == '"' ? "not an array" : "not JSON, or not an array";
    if (!take(&r, ']')) {
        do {
            const char *wrong = read_row(&r, b, &null_email);
            if (wrong)
                return wrong;
            b->rows++;
        } while (take(&r, ','));
        if (!take(&r, ']'))
            return "not JSON";
    }
    skip_space(&r);
    if (r.p != r.end)
        return "bytes behind the JSON";
    for (int i = 0; i < BATCH_COLUMNS; i++) {
        struct buf head = {.data = b->column[i].data, .cap = ARRAY_HEAD};
        be32_put(&head, b->rows > 0);
        be32_put(&head, i == 2 && null_email);
        be32_put(&head, type_oid[i]);
        if (b->rows == 0) {
            b->column[i].len = head.len;
            continue;
        }
        be32_put(&head, b->rows);
        be32_put(&head, 1);
    }
    return NULL;
}

/* Finds a member of an object that is the whole text; on return r stands at its value. A repeated member is refused:
 * two readers could take different ones. */
static bool find_member(struct reader *r, const char *name, size_t len)
{
    char *found = NULL;
    struct slice key;
    if (!take(r, '{'))
        return false;
    do {
        if (!read_string(r, &key) || !take(r, ':'))
            return false;
        bool match = is(key, name, len);
        if (match && found)
            return false;
        skip_space(r);
        char *value = r->p;
        if (!skip_value(r, DEPTH_MAX))
            return false;
        /* Decoding an escape moved bytes, so this string cannot be read a second time. Nobody writes HS256 so. */
        if (match && *value == '"' && memchr(value, '\\', (size_t)(r->p - value)))
            return false;
        if (match)
            found = value;
    } while (take(r, ','));
    skip_space(r);
    if (!found || !take(r, '}') || peek(r) != 0 || r->p != r->end)
        return false;
    r->p = found;
    return true;
}

bool json_is_hs256(char *text, size_t len)
{
    struct reader r = {text, text + len};
    struct slice alg;
    return find_member(&r, "alg", 3) && *r.p == '"' && read_string(&r, &alg) && is(alg, "HS256", 5);
}

bool json_read_exp(char *text, size_t len, double *exp_s)
{
    struct reader r = {text, text + len};
    struct slice number;
    char digits[64];
    if (!find_member(&r, "exp", 3) || *r.p == '"' || !read_number(&r, &number) || number.len >= sizeof digits)
        return false;
    memcpy(digits, number.p, number.len);
    digits[number.len] = 0;
    *exp_s = strtod(digits, NULL);
    return true;
}
