#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

static int log_fd = -1;
static bool progress_shown;

int log_open(const char *path, struct err *err)
{
    log_close();
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log_fd < 0)
        return err_sys(err, "%s: cannot open the log", path);
    return 0;
}

void log_close(void)
{
    if (log_fd >= 0)
        (void)close(log_fd);
    log_fd = -1;
}

bool log_is_terminal(void)
{
    return isatty(STDERR_FILENO) == 1;
}

static void write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

static void to_file(const char *line)
{
    char utc[CLOCK_UTC_SIZE];
    struct text text = {0};

    if (log_fd < 0)
        return;
    clock_format_utc(clock_wall_ns(), utc);
    text_addf(&text, "%s %s\n", utc, line);
    write_all(log_fd, text.data, text.len);
    text_free(&text);
}

static void to_stderr(const char *prefix, const char *line)
{
    struct text text = {0};

    if (progress_shown)
        text_add(&text, "\r\033[K");
    progress_shown = false;
    text_addf(&text, "%s%s\n", prefix, line);
    write_all(STDERR_FILENO, text.data, text.len);
    text_free(&text);
}

static char *format_line(const char *format, va_list args)
{
    char *line = NULL;

    return vasprintf(&line, format, args) < 0 ? text_dup("") : line;
}

void log_line(const char *format, ...)
{
    va_list args;
    char *line;

    va_start(args, format);
    line = format_line(format, args);
    va_end(args);
    to_stderr("", line);
    to_file(line);
    free(line);
}

void log_detail(const char *format, ...)
{
    va_list args;
    char *line;

    va_start(args, format);
    line = format_line(format, args);
    va_end(args);
    to_file(line);
    free(line);
}

void log_error(const char *format, ...)
{
    va_list args;
    char *line;

    va_start(args, format);
    line = format_line(format, args);
    va_end(args);
    to_stderr("restbench: ", line);
    to_file(line);
    free(line);
}

void log_progress(const char *line)
{
    struct winsize size;
    struct text text = {0};
    size_t columns = 80;

    if (!log_is_terminal())
        return;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    text_add(&text, "\r\033[K");
    if (line != NULL) {
        size_t len = strlen(line);

        while (len > 0 && (text_width(line) > columns - 1 || ((unsigned char)line[len] & 0xc0) == 0x80)) {
            char *shorter;

            len--;
            while (len > 0 && ((unsigned char)line[len] & 0xc0) == 0x80)
                len--;
            shorter = text_dup_n(line, len);
            if (text_width(shorter) <= columns - 1) {
                free(shorter);
                break;
            }
            free(shorter);
        }
        text_add_bytes(&text, line, len);
    }
    write_all(STDERR_FILENO, text.data, text.len);
    text_free(&text);
    progress_shown = line != NULL;
}
