#include "cli/tap.h"

#include <stdio.h>
#include <string.h>

void tap_begin(void)
{
    printf("TAP version 13\n");
}

void tap_comment(const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");

        printf("  # %.*s\n", (int)len, text);
        text += len;
        text += *text == '\n';
    }
    (void)fflush(stdout);
}

void tap_line(struct tap *tap, bool ok, const char *name, const char *skipped, const char *detail)
{
    tap->count++;
    tap->failed += !ok;
    tap->skipped += skipped != NULL;
    printf("%sok %zu - %s%s%s\n", ok ? "" : "not ", tap->count, name, skipped != NULL ? " # SKIP " : "",
           skipped != NULL ? skipped : "");
    if (!ok && detail != NULL)
        tap_comment(detail);
    (void)fflush(stdout);
}

void tap_end(const struct tap *tap)
{
    printf("1..%zu\n", tap->count);
    (void)fflush(stdout);
}
