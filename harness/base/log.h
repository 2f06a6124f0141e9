/*
 * log - lines for the person who watches: everything that is not a result goes to stderr through here.
 *
 * log_line() prints one line; with log_open(FILE) every line also goes to that file with a UTC timestamp.
 * On a terminal log_progress() keeps one line at the bottom that is redrawn; elsewhere it prints nothing.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/err.h"

/* Appends every line to `path` as well, with a timestamp. The file is created; nothing in it is overwritten. */
int log_open(const char *path, struct err *err);
void log_close(void);

void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Only for the log file: detail that would bore a person. */
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "restbench: TEXT" on stderr (and in the log). */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True when stderr is a terminal. */
bool log_is_terminal(void);
/* Redraws the progress line (cut to the terminal's width); NULL clears it. Nothing when stderr is no terminal. */
void log_progress(const char *line);

#endif
