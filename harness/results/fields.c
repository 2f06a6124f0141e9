#include "results/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* Large enough that reading costs few calls; a line may not be longer. */
#define BUFFER_SIZE (256 * 1024)

int fields_fault(const struct fields *fields, uint32_t column, struct err *err, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(err, "%s:%llu:%u: %s", fields->file, (unsigned long long)fields->line, column, text);
}

int fields_open(const char *path, struct fields *fields, struct err *err)
{
    *fields = (struct fields){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (fields->fd < 0)
        return err_sys(err, "%s: cannot read", path);
    fields->file = text_dup(path);
    fields->buffer = text_alloc(BUFFER_SIZE + 1);
    return 0;
}

void fields_close(struct fields *fields)
{
    if (fields->fd >= 0)
        (void)close(fields->fd);
    free(fields->file);
    free(fields->buffer);
    *fields = (struct fields){.fd = -1};
}

static int refill(struct fields *fields, struct err *err)
{
    ssize_t n;

    memmove(fields->buffer, fields->buffer + fields->begin, fields->end - fields->begin);
    fields->end -= fields->begin;
    fields->begin = 0;
    do
        n = read(fields->fd, fields->buffer + fields->end, BUFFER_SIZE - fields->end);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        fields->broken = true;
        return err_sys(err, "%s: cannot read", fields->file);
    }
    fields->at_eof = n == 0;
    fields->end += (size_t)n;
    return 0;
}

/* The next line without its end, NUL behind it. 1, 0 at the end, -1. */
static int take_line(struct fields *fields, char **line, char **line_end, struct err *err)
{
    char *newline = NULL;
    size_t searched = 0;

    for (;;) {
        char *from = fields->buffer + fields->begin;
        size_t have = fields->end - fields->begin;

        if (have > searched)
            newline = memchr(from + searched, '\n', have - searched);
        if (newline != NULL || fields->at_eof)
            break;
        if (have == BUFFER_SIZE) {
            fields->broken = true;
            fields->line++;
            return fields_fault(fields, 1, err, "the line is longer than %d bytes", BUFFER_SIZE);
        }
        searched = have;
        if (refill(fields, err) != 0)
            return -1;
    }
    if (newline == NULL && fields->begin == fields->end)
        return 0;
    fields->line++;
    *line = fields->buffer + fields->begin;
    if (newline == NULL) {
        uint32_t len = (uint32_t)(fields->end - fields->begin);

        fields->cut = true;
        fields->begin = fields->end;
        return fields_fault(fields, len + 1, err, "the last line is cut: expected a newline at its end");
    }
    fields->begin = (size_t)(newline - fields->buffer) + 1;
    fields->offset += (uint64_t)(newline - *line) + 1;
    if (newline > *line && newline[-1] == '\r')
        newline--;
    *newline = '\0';
    *line_end = newline;
    if (fields->line == 1 && newline - *line >= 3 && memcmp(*line, "\xef\xbb\xbf", 3) == 0)
        *line += 3;
    return 1;
}

/* Takes the quotes away in place; `*at` is moved behind the field. */
static int take_quoted(const struct fields *fields, char **at, const char *end, struct field *field, struct err *err)
{
    char *from = *at;
    char *to = from++;

    for (;; from++) {
        if (from >= end)
            return fields_fault(fields, field->column, err, "the quote is not closed on this line");
        if (*from == '"' && *++from != '"')
            break;
        *to++ = *from;
    }
    if (from < end && *from != ',')
        return fields_fault(fields, field->column + (uint32_t)(from - *at), err,
                            "expected a comma behind the closing quote");
    field->len = (size_t)(to - *at);
    *to = '\0';
    *at = from;
    return 0;
}

int fields_next(struct fields *fields, struct field *field, size_t most, size_t *count, struct err *err)
{
    char *line = NULL;
    char *end = NULL;
    char *at;
    int got;

    if (fields->broken || fields->cut)
        return 0;
    got = take_line(fields, &line, &end, err);
    if (got != 1)
        return got;
    at = line;
    for (*count = 0;; at++) {
        struct field *next = &field[*count];

        if (*count == most)
            return fields_fault(fields, (uint32_t)(at - line), err, "expected the end of the line after %zu fields",
                                most);
        *next = (struct field){.data = at, .column = (uint32_t)(at - line) + 1};
        if (*at == '"') {
            if (take_quoted(fields, &at, end, next, err) != 0)
                return -1;
        } else {
            char *comma = memchr(at, ',', (size_t)(end - at));

            at = comma != NULL ? comma : end;
            next->len = (size_t)(at - next->data);
        }
        ++*count;
        if (at >= end)
            return 1;
        *at = '\0';
    }
}

int fields_number(const struct field *field, double *value)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    const char *end = field->data + field->len;
    const char *first = field->data + (field->data[0] == '-');
    const char *point = NULL;
    uint64_t digits = 0;

    if (first[0] == '0' && first + 1 < end && first[1] != '.')
        return -1;
    /* Up to 15 digits and the power of ten are exact in a double, so one division rounds correctly. */
    if (end - first > 15)
        return text_parse_double_n(field->data, field->len, value);
    for (const char *at = first; at < end; at++) {
        unsigned char digit = (unsigned char)(*at - '0');

        if (digit <= 9)
            digits = digits * 10 + digit;
        else if (*at == '.' && point == NULL && at > first)
            point = at;
        else
            return -1;
    }
    if (end <= first || point == end - 1)
        return -1;
    *value = point != NULL ? (double)digits / powers[end - point - 1] : (double)digits;
    if (first != field->data)
        *value = -*value;
    return 0;
}

char *fields_shown(const struct field *field)
{
    struct text text = {0};

    text_add_visible(&text, field->data, field->len < 40 ? field->len : 40);
    return text_take(&text);
}
