#include "load/http_field.h"

#define T (HTTP_TOKEN | HTTP_VALUE)
#define V HTTP_VALUE

const unsigned char http_byte_class[256] = {
    ['\t'] = V,        [' '] = V,         ['!'] = T,  ['"'] = V,  ['#'] = T, ['$'] = T,
    ['%'] = T,         ['&'] = T,         ['\''] = T, ['('] = V,  [')'] = V, ['*'] = T,
    ['+'] = T,         [','] = V,         ['-'] = T,  ['.'] = T,  ['/'] = V, ['0' ... '9'] = T,
    [':'] = V,         [';'] = V,         ['<'] = V,  ['='] = V,  ['>'] = V, ['?'] = V,
    ['@'] = V,         ['A' ... 'Z'] = T, ['['] = V,  ['\\'] = V, [']'] = V, ['^' ... '`'] = T,
    ['a' ... 'z'] = T, ['{'] = V,         ['|'] = T,  ['}'] = V,  ['~'] = T, [0x80 ... 0xff] = V,
};

/* In the order of enum http_field. */
static const char names[4][18] = {"", "content-length", "transfer-encoding", "connection"};
static const unsigned char name_lengths[4] = {0, 14, 17, 10};
#define COMMON 3 /* bytes that content-length and connection begin with */

enum { TOKEN_CLOSE = 1, TOKEN_KEEP_ALIVE = 2, TOKEN_CHUNKED = 4 };
static const char tokens[3][12] = {"close", "keep-alive", "chunked"};
static const unsigned char token_lengths[3] = {5, 10, 7};

enum value_state {
    BEFORE,      /* of an element of the list: blanks and commas */
    INSIDE,      /* a number or token */
    BEHIND,      /* blanks */
    PARAMETERS,  /* of a coding */
    QUOTED,      /* string of a parameter */
    QUOTED_PAIR, /* the byte behind its backslash */
};

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

void http_field_name_begin(struct http_answer *answer, unsigned char c)
{
    c = lower(c);
    answer->name = c == 'c' ? HTTP_FIELD_LENGTH : c == 't' ? HTTP_FIELD_CODING : HTTP_FIELD_OTHER;
    answer->name_at = 1;
}

void http_field_name_byte(struct http_answer *answer, unsigned char c)
{
    c = lower(c);
    if (answer->name == HTTP_FIELD_LENGTH && answer->name_at == COMMON && c == 'n')
        answer->name = HTTP_FIELD_CONNECTION;
    if (answer->name_at < name_lengths[answer->name] && names[answer->name][answer->name_at] == (char)c)
        answer->name_at++;
    else
        answer->name = HTTP_FIELD_OTHER;
}

void http_field_name_end(struct http_answer *answer)
{
    answer->field = answer->name_at == name_lengths[answer->name] ? answer->name : HTTP_FIELD_OTHER;
    answer->value = BEFORE;
    answer->coding_seen |= answer->field == HTTP_FIELD_CODING;
}

static void length_end(struct http_answer *answer)
{
    if (answer->value == BEFORE)
        answer->length_bad = true;
    else if (answer->length_seen && answer->length != answer->number)
        answer->length_bad = true;
    answer->length = answer->number;
    answer->length_seen = true;
    answer->value = BEFORE;
}

static void length_byte(struct http_answer *answer, unsigned char c)
{
    if (c == ' ' || c == '\t') {
        if (answer->value == INSIDE)
            answer->value = BEHIND;
    } else if (c == ',') {
        length_end(answer);
    } else if (c < '0' || c > '9' || answer->value == BEHIND) {
        answer->length_bad = true;
    } else {
        if (answer->value == BEFORE)
            answer->number = 0;
        answer->value = INSIDE;
        if (answer->number > ((uint64_t)INT64_MAX - (c - '0')) / 10)
            answer->length_bad = true;
        else
            answer->number = answer->number * 10 + (c - '0');
    }
}

static void token_begin(struct http_answer *answer, unsigned wanted)
{
    answer->value = INSIDE;
    answer->tokens = (unsigned char)wanted;
    answer->token_at = 0;
}

static void token_byte(struct http_answer *answer, unsigned char c)
{
    if (answer->tokens == 0)
        return;
    for (unsigned i = 0; i < 3; i++)
        if (answer->token_at >= token_lengths[i] || tokens[i][answer->token_at] != (char)lower(c))
            answer->tokens &= (unsigned char)~(1U << i);
    answer->token_at++;
}

static unsigned token_end(const struct http_answer *answer)
{
    for (unsigned i = 0; i < 3; i++)
        if ((answer->tokens & (1U << i)) != 0 && answer->token_at == token_lengths[i])
            return 1U << i;
    return 0;
}

static void coding_end(struct http_answer *answer)
{
    if (answer->value == BEFORE)
        return;
    answer->coding_bad |= answer->value == QUOTED || answer->value == QUOTED_PAIR;
    answer->coding_chunked = token_end(answer) == TOKEN_CHUNKED;
    if (answer->coding_chunked) {
        answer->coding_bad |= answer->coding_chunked_before || answer->coding_has_params;
        answer->coding_chunked_before = true;
    }
    answer->value = BEFORE;
}

static void coding_byte(struct http_answer *answer, unsigned char c)
{
    switch (answer->value) {
    case QUOTED:
        if (c == '"')
            answer->value = PARAMETERS;
        else if (c == '\\')
            answer->value = QUOTED_PAIR;
        return;
    case QUOTED_PAIR:
        answer->value = QUOTED;
        return;
    case PARAMETERS:
        if (c == '"')
            answer->value = QUOTED;
        else if (c == ',')
            coding_end(answer);
        return;
    default:
        break;
    }
    if (c == ',') {
        coding_end(answer);
    } else if (c == ' ' || c == '\t') {
        if (answer->value == INSIDE)
            answer->value = BEHIND;
    } else if (c == ';' && answer->value != BEFORE) {
        answer->value = PARAMETERS;
        answer->coding_has_params = true;
    } else if (!http_is_token(c) || answer->value == BEHIND) {
        answer->coding_bad = true;
    } else {
        if (answer->value == BEFORE) {
            token_begin(answer, TOKEN_CHUNKED);
            answer->coding_has_params = false;
        }
        token_byte(answer, c);
    }
}

static void connection_end(struct http_answer *answer)
{
    unsigned token = answer->value == BEFORE ? 0 : token_end(answer);

    answer->close |= token == TOKEN_CLOSE;
    answer->keep_alive |= token == TOKEN_KEEP_ALIVE;
    answer->value = BEFORE;
}

static void connection_byte(struct http_answer *answer, unsigned char c)
{
    if (c == ',') {
        connection_end(answer);
    } else if (c == ' ' || c == '\t') {
        if (answer->value == INSIDE)
            answer->value = BEHIND;
    } else {
        if (answer->value == BEFORE)
            token_begin(answer, TOKEN_CLOSE | TOKEN_KEEP_ALIVE);
        else if (answer->value == BEHIND)
            answer->tokens = 0;
        token_byte(answer, c);
    }
}

void http_field_value_byte(struct http_answer *answer, unsigned char c)
{
    switch (answer->field) {
    case HTTP_FIELD_LENGTH:
        length_byte(answer, c);
        break;
    case HTTP_FIELD_CODING:
        coding_byte(answer, c);
        break;
    case HTTP_FIELD_CONNECTION:
        connection_byte(answer, c);
        break;
    default:
        break;
    }
}

void http_field_value_end(struct http_answer *answer)
{
    switch (answer->field) {
    case HTTP_FIELD_LENGTH:
        length_end(answer);
        break;
    case HTTP_FIELD_CODING:
        coding_end(answer);
        break;
    case HTTP_FIELD_CONNECTION:
        connection_end(answer);
        break;
    default:
        break;
    }
}
