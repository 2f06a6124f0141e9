#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void out_of_memory(void)
{
    static const char line[] = "restbench: out of memory\n";

    (void)!write(STDERR_FILENO, line, sizeof line - 1);
    _exit(2);
}

void *text_alloc(size_t size)
{
    void *memory = calloc(1, size > 0 ? size : 1);

    if (memory == NULL)
        out_of_memory();
    return memory;
}

void *text_realloc(void *old, size_t count, size_t size)
{
    size_t bytes;
    void *memory;

    if (__builtin_mul_overflow(count, size, &bytes))
        out_of_memory();
    memory = realloc(old, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        out_of_memory();
    return memory;
}

char *text_dup_n(const char *bytes, size_t len)
{
    char *copy = text_alloc(len + 1);

    if (len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

char *text_dup(const char *string)
{
    return text_dup_n(string, strlen(string));
}

char *text_format(const char *format, ...)
{
    char *string = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&string, format, args) < 0)
        out_of_memory();
    va_end(args);
    return string;
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

void text_clear(struct text *text)
{
    text->len = 0;
    if (text->data != NULL)
        text->data[0] = '\0';
}

static void reserve(struct text *text, size_t more)
{
    size_t need = text->len + more + 1;
    size_t cap = text->cap > 0 ? text->cap : 64;

    if (need <= text->cap)
        return;
    while (cap < need)
        cap *= 2;
    text->data = text_realloc(text->data, cap, 1);
    text->cap = cap;
}

void text_add_bytes(struct text *text, const void *bytes, size_t len)
{
    reserve(text, len);
    if (len > 0)
        memcpy(text->data + text->len, bytes, len);
    text->len += len;
    text->data[text->len] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list args;
    int need;

    va_start(args, format);
    need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (need < 0)
        return;
    reserve(text, (size_t)need);
    va_start(args, format);
    (void)vsnprintf(text->data + text->len, (size_t)need + 1, format, args);
    va_end(args);
    text->len += (size_t)need;
}

void text_add_double(struct text *text, double value, int decimals)
{
    char digits[400];
    char *comma;

    (void)snprintf(digits, sizeof digits, "%.*f", decimals, value);
    /* The radix character of a locale may be several bytes long: keep digits and sign, write our own point. */
    comma = digits + strcspn(digits + (digits[0] == '-'), "0123456789") + (digits[0] == '-');
    if (decimals > 0 && (*comma >= '0' && *comma <= '9')) {
        size_t whole = (size_t)(comma - digits) + strspn(comma, "0123456789");
        size_t len = strlen(digits);

        text_add_bytes(text, digits, whole);
        text_add_char(text, '.');
        text_add_bytes(text, digits + len - decimals, (size_t)decimals);
        return;
    }
    text_add(text, digits);
}

void text_add_thousands(struct text *text, long long value)
{
    char digits[32];
    size_t len;

    (void)snprintf(digits, sizeof digits, "%lld", value);
    len = strlen(digits);
    for (size_t i = 0; i < len; i++) {
        text_add_char(text, digits[i]);
        if (digits[i] != '-' && len - i > 1 && (len - i - 1) % 3 == 0)
            text_add_char(text, ',');
    }
}

char *text_take(struct text *text)
{
    char *string = text->data != NULL ? text->data : text_dup("");

    *text = (struct text){0};
    return string;
}

const char *text_string(const struct text *text)
{
    return text->data != NULL ? text->data : "";
}
