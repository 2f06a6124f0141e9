#include "load/http_answer.h"

#include <string.h>

#include "load/http_field.h"

enum state {
    VERSION, /* "HTTP/1." */
    MINOR,
    STATUS_SPACE,
    STATUS,
    STATUS_END, /* the byte behind the code */
    REASON,
    REASON_LF,
    LINE, /* the first byte of a field line, or of the line end that ends the section */
    NAME,
    VALUE,
    VALUE_LF,
    SECTION_LF,
    SIZE_FIRST, /* of a chunk */
    SIZE,
    SIZE_BLANK, /* blanks before ';' */
    EXT_NAME_FIRST,
    EXT_NAME,
    EXT_NAME_BLANK,
    EXT_VALUE_FIRST,
    EXT_VALUE,
    EXT_QUOTED,
    EXT_QUOTED_PAIR,
    EXT_END,
    SIZE_LF,
    CHUNK,
    CHUNK_CR,
    CHUNK_LF,
    BODY,     /* `left` bytes */
    BODY_END, /* until the connection ends */
    DONE,
    MALFORMED,
};

void http_answer_begin(struct http_answer *answer, bool head_request)
{
    memset(answer, 0, sizeof *answer);
    answer->head_request = head_request;
}

static enum state malformed(struct http_answer *answer, const char *why)
{
    answer->why = why;
    return MALFORMED;
}

static void take_body(struct http_answer *answer, const unsigned char *bytes, size_t len)
{
    struct http_body *body = answer->body;

    if (body == NULL || body->differs)
        return;
    if (len > body->len - body->at || memcmp(body->expected + body->at, bytes, len) != 0)
        body->differs = true;
    else
        body->at += len;
}

/* The head is complete: how long is the body? RFC 9112, 6.3. */
static enum state head_end(struct http_answer *answer)
{
    if (answer->status >= 100 && answer->status < 200 && answer->status != 101) {
        struct http_answer next;

        http_answer_begin(&next, answer->head_request);
        next.begun = true;
        next.interim = answer->interim + 1;
        next.body = answer->body;
        next.section = answer->section;
        *answer = next;
        return VERSION;
    }
    if (answer->head_request || answer->status == 101 || answer->status == 204 || answer->status == 304)
        return DONE;
    if (answer->coding_seen) {
        if (answer->coding_bad)
            return malformed(answer, "Transfer-Encoding");
        answer->until_end = !answer->coding_chunked;
        return answer->coding_chunked ? SIZE_FIRST : BODY_END;
    }
    if (answer->length_bad)
        return malformed(answer, "Content-Length");
    if (answer->length_seen) {
        answer->left = answer->length;
        return answer->left > 0 ? BODY : DONE;
    }
    answer->until_end = true;
    return BODY_END;
}

static enum state section_end(struct http_answer *answer)
{
    answer->section++;
    return answer->in_trailers ? DONE : head_end(answer);
}

static enum state line_begin(struct http_answer *answer, unsigned char c)
{
    if (c == ' ' || c == '\t') {
        if (!answer->in_field)
            return malformed(answer, "a blank before the first field");
        http_field_value_byte(answer, ' ');
        return VALUE;
    }
    if (answer->in_field)
        http_field_value_end(answer);
    if (c == '\r')
        return SECTION_LF;
    if (c == '\n')
        return section_end(answer);
    if (!http_is_token(c))
        return malformed(answer, "a field name");
    answer->in_field = true;
    /* Trailers frame nothing. */
    http_field_name_begin(answer, answer->in_trailers ? 'x' : c);
    return NAME;
}

static enum state chunk_line_end(struct http_answer *answer)
{
    answer->section++;
    if (answer->number == 0) {
        answer->in_trailers = true;
        answer->in_field = false;
        return LINE;
    }
    answer->left = answer->number;
    return CHUNK;
}

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of a status line. */
static enum state status_byte(struct http_answer *answer, enum state state, unsigned char c)
{
    static const char version[] = "HTTP/1.";

    switch (state) {
    case VERSION:
        if (c != (unsigned char)version[answer->at])
            return malformed(answer, "the version");
        return ++answer->at == sizeof version - 1 ? MINOR : VERSION;
    case MINOR:
        if (c < '0' || c > '9')
            return malformed(answer, "the version");
        answer->minor = (unsigned char)(c - '0');
        return STATUS_SPACE;
    case STATUS_SPACE:
        answer->at = 0;
        return c == ' ' ? STATUS : malformed(answer, "the status line");
    case STATUS:
        if (c < (answer->at == 0 ? '1' : '0') || c > '9')
            return malformed(answer, "the status code");
        answer->status = (uint16_t)(answer->status * 10 + (c - '0'));
        return ++answer->at == 3 ? STATUS_END : STATUS;
    case STATUS_END:
        if (c == ' ')
            return REASON;
        /* fallthrough */
    case REASON:
        if (c == '\r')
            return REASON_LF;
        if (c == '\n')
            return LINE;
        if (state == STATUS_END || !http_is_value(c))
            return malformed(answer, "the status line");
        return REASON;
    default:
        return c == '\n' ? LINE : malformed(answer, "a bare CR");
    }
}

/* One byte of a chunk's first line; RFC 9112, 7.1. */
static enum state chunk_byte(struct http_answer *answer, enum state state, unsigned char c)
{
    const char *what = "a chunk extension";
    bool blank = c == ' ' || c == '\t';
    int digit;

    switch (state) {
    case SIZE_FIRST:
    case SIZE:
        digit = hex_digit(c);
        if (digit >= 0) {
            if (state == SIZE_FIRST)
                answer->number = 0;
            if (answer->number > (uint64_t)INT64_MAX >> 4)
                return malformed(answer, "a chunk size that is too large");
            answer->number = answer->number << 4 | (unsigned)digit;
            return SIZE;
        }
        what = "a chunk size";
        if (state == SIZE_FIRST)
            break;
        /* fallthrough */
    case EXT_END:
    case SIZE_BLANK:
        if (c == ';')
            return EXT_NAME_FIRST;
        if (blank)
            return SIZE_BLANK;
        return c == '\r' && state != SIZE_BLANK ? SIZE_LF : malformed(answer, what);
    case EXT_NAME_FIRST:
        if (blank)
            return state;
        return http_is_token(c) ? EXT_NAME : malformed(answer, what);
    case EXT_NAME:
        if (http_is_token(c))
            return state;
        if (c == '\r')
            return SIZE_LF;
        /* fallthrough */
    case EXT_NAME_BLANK:
        if (blank)
            return EXT_NAME_BLANK;
        if (c == '=')
            return EXT_VALUE_FIRST;
        return c == ';' ? EXT_NAME_FIRST : malformed(answer, what);
    case EXT_VALUE_FIRST:
        if (blank)
            return state;
        if (c == '"')
            return EXT_QUOTED;
        return http_is_token(c) ? EXT_VALUE : malformed(answer, what);
    case EXT_VALUE:
        if (http_is_token(c))
            return state;
        return chunk_byte(answer, EXT_END, c);
    case EXT_QUOTED:
        if (c == '"')
            return EXT_END;
        if (c == '\\')
            return EXT_QUOTED_PAIR;
        return http_is_value(c) ? state : malformed(answer, what);
    case EXT_QUOTED_PAIR:
        return http_is_value(c) ? EXT_QUOTED : malformed(answer, what);
    case SIZE_LF:
        return c == '\n' ? chunk_line_end(answer) : malformed(answer, "a bare CR");
    case CHUNK_CR:
        return c == '\r' ? CHUNK_LF : malformed(answer, "the end of a chunk");
    default:
        what = "the end of a chunk";
        if (c == '\n')
            return SIZE_FIRST;
        break;
    }
    return malformed(answer, what);
}

/* One byte of a field line. */
static enum state field_byte(struct http_answer *answer, enum state state, unsigned char c)
{
    switch (state) {
    case LINE:
        return line_begin(answer, c);
    case NAME:
        if (http_is_token(c)) {
            http_field_name_byte(answer, c);
            return NAME;
        }
        if (c != ':')
            return malformed(answer, "a field name");
        http_field_name_end(answer);
        return VALUE;
    case VALUE:
        if (c == '\r')
            return VALUE_LF;
        if (c == '\n')
            return LINE;
        if (!http_is_value(c))
            return malformed(answer, "a field value");
        if (answer->field != HTTP_FIELD_OTHER)
            http_field_value_byte(answer, c);
        return VALUE;
    case VALUE_LF:
        return c == '\n' ? LINE : malformed(answer, "a bare CR");
    default:
        return c == '\n' ? section_end(answer) : malformed(answer, "a bare CR");
    }
}

/* The bytes of a name or value that change nothing are passed over in one go. */
static const unsigned char *skip(const struct http_answer *answer, enum state state, const unsigned char *p,
                                 const unsigned char *end)
{
    if (state == REASON || (state == VALUE && answer->field == HTTP_FIELD_OTHER))
        while (p < end && http_is_value(*p))
            p++;
    else if (state == NAME && answer->name == HTTP_FIELD_OTHER)
        while (p < end && http_is_token(*p))
            p++;
    return p;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

/* The first line up to its code in one go where it is all there; what is odd about it is left to status_byte(). */
static enum state read_status(struct http_answer *answer, const unsigned char **at, const unsigned char *end)
{
    const unsigned char *p = *at;

    if (answer->at != 0 || end - p < 12 || memcmp(p, "HTTP/1.", 7) != 0 || !is_digit(p[7]) || p[8] != ' ' ||
        p[9] == '0' || !is_digit(p[9]) || !is_digit(p[10]) || !is_digit(p[11]))
        return VERSION;
    answer->minor = (unsigned char)(p[7] - '0');
    answer->status = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0'));
    *at = p + 12;
    return STATUS_END;
}

/*
 * Reads from the section (status line and fields, trailers, or a chunk's line) that `state` is in, to its end at most.
 * The limit holds for what was read of it in all, so that the split of the bytes does not matter.
 */
static enum state read_section(struct http_answer *answer, enum state state, const unsigned char **at,
                               const unsigned char *end)
{
    bool chunk_line = state >= SIZE_FIRST;
    const unsigned char *p = *at;
    unsigned char section = answer->section;
    uint64_t sum;

    if (state == VERSION)
        state = read_status(answer, &p, end);
    while (p < end && answer->section == section && state != MALFORMED) {
        p = skip(answer, state, p, end);
        if (p == end)
            break;
        if (state < LINE)
            state = status_byte(answer, state, *p++);
        else if (state < SIZE_FIRST)
            state = field_byte(answer, state, *p++);
        else
            state = chunk_byte(answer, state, *p++);
    }
    sum = (uint64_t)answer->line_bytes + (size_t)(p - *at);
    *at = p;
    if (state == MALFORMED)
        return state;
    if (sum > (chunk_line ? HTTP_CHUNK_LINE_LIMIT : HTTP_HEAD_LIMIT))
        return malformed(answer, chunk_line ? "a chunk line over 16 KiB" : "a head over 256 KiB");
    answer->line_bytes = answer->section == section ? (uint32_t)sum : 0;
    return state;
}

enum http_answer_result http_answer_feed(struct http_answer *answer, const char *bytes, size_t len, size_t *used)
{
    const unsigned char *p = (const unsigned char *)bytes;
    const unsigned char *end = p + len;
    enum state state = answer->state;

    answer->begun |= len > 0;
    while (p < end && state < DONE) {
        size_t take = (size_t)(end - p);

        switch (state) {
        case BODY:
        case CHUNK:
            if (take > answer->left)
                take = answer->left;
            take_body(answer, p, take);
            p += take;
            answer->left -= take;
            if (answer->left == 0)
                state = state == BODY ? DONE : CHUNK_CR;
            break;
        case BODY_END:
            take_body(answer, p, take);
            p = end;
            break;
        case CHUNK_CR:
        case CHUNK_LF:
            state = chunk_byte(answer, state, *p++);
            break;
        default:
            state = read_section(answer, state, &p, end);
            break;
        }
    }
    *used = (size_t)(p - (const unsigned char *)bytes);
    answer->state = (unsigned char)state;
    if (state == MALFORMED)
        return HTTP_ANSWER_MALFORMED;
    return state == DONE ? HTTP_ANSWER_DONE : HTTP_ANSWER_MORE;
}

enum http_answer_result http_answer_end(struct http_answer *answer)
{
    if (answer->state == BODY_END)
        answer->state = DONE;
    if (answer->state == MALFORMED)
        return HTTP_ANSWER_MALFORMED;
    return answer->state == DONE ? HTTP_ANSWER_DONE : HTTP_ANSWER_MORE;
}

uint64_t http_answer_skippable(const struct http_answer *answer)
{
    return answer->state == BODY && answer->body == NULL ? answer->left : 0;
}

enum http_answer_result http_answer_skip(struct http_answer *answer, uint64_t len)
{
    answer->left -= len;
    if (answer->left > 0)
        return HTTP_ANSWER_MORE;
    answer->state = DONE;
    return HTTP_ANSWER_DONE;
}

void http_answer_to_body(struct http_answer *answer)
{
    answer->left = answer->length;
    answer->state = BODY;
}

bool http_answer_reusable(const struct http_answer *answer)
{
    if (answer->until_end || answer->close || answer->status == 101)
        return false;
    if (answer->minor == 0)
        return answer->keep_alive && !answer->coding_seen;
    return true;
}
