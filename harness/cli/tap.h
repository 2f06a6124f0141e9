/*
 * tap - lines of the Test Anything Protocol, version 13, on standard output.
 *
 * Start with a zeroed struct tap, tap_begin(), one tap_line() a test, tap_end() with the plan. Each line is out when
 * the function returns, so that a pipe shows how far it is.
 */
#ifndef CLI_TAP_H
#define CLI_TAP_H

#include <stdbool.h>
#include <stddef.h>

struct tap {
    size_t count;
    size_t failed;
    size_t skipped;
};

void tap_begin(void);
/* `skipped`: why it was not tried, or NULL; `detail`: printed as comments when it failed, or NULL. */
void tap_line(struct tap *tap, bool ok, const char *name, const char *skipped, const char *detail);
void tap_comment(const char *text);
void tap_end(const struct tap *tap);

#endif
