#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int set(struct err *err, enum err_kind kind, const char *format, va_list args)
{
    if (err == NULL || err->kind != ERR_NONE)
        return -1;
    err->kind = kind;
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    return -1;
}

int err_set(struct err *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)set(err, ERR_CANNOT, format, args);
    va_end(args);
    return -1;
}

int err_fail(struct err *err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)set(err, ERR_FAILED, format, args);
    va_end(args);
    return -1;
}

int err_sys(struct err *err, const char *format, ...)
{
    int saved = errno;
    if (err != NULL && err->kind == ERR_NONE) {
        va_list args;
        size_t used;

        va_start(args, format);
        (void)set(err, ERR_CANNOT, format, args);
        va_end(args);
        used = strlen(err->text);
        (void)snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(saved));
    }
    errno = saved;
    return -1;
}

int err_prefix(struct err *err, const char *format, ...)
{
    if (err != NULL && err->kind != ERR_NONE) {
        char old[sizeof err->text];
        va_list args;
        size_t used;

        memcpy(old, err->text, sizeof old);
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        used = strlen(err->text);
        (void)snprintf(err->text + used, sizeof err->text - used, ": %s", old);
    }
    return -1;
}

void err_clear(struct err *err)
{
    err->kind = ERR_NONE;
    err->text[0] = '\0';
}
