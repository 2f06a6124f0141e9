/*
 * clock - the one place where restbench reads a clock: the seam through which tests step, stop and suspend time.
 *
 * Monotonic nanoseconds measure; boot-time nanoseconds also count while the machine sleeps, so that their difference
 * shows a suspend; wall-clock time only names and dates things and never measures.
 * The generator's hot loop reads CLOCK_MONOTONIC by itself (load/): a function pointer there would be a cost.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_S 1000000000LL
#define CLOCK_NS_PER_MS 1000000LL
#define CLOCK_NS_PER_US 1000LL

struct clock_source {
    int64_t (*mono_ns)(void); /* CLOCK_MONOTONIC */
    int64_t (*boot_ns)(void); /* CLOCK_BOOTTIME */
    int64_t (*wall_ns)(void); /* CLOCK_REALTIME, since 1970 UTC */
};

/* Replaces the source; NULL brings the kernel's clocks back. Not for use while other threads read a clock. */
void clock_use(const struct clock_source *source);

int64_t clock_mono_ns(void);
int64_t clock_boot_ns(void);
int64_t clock_wall_ns(void);

/* Sleeps until the kernel's CLOCK_MONOTONIC has passed `ns` more nanoseconds or a signal arrives. */
void clock_sleep_ns(int64_t ns);

/* `2026-11-30T12:34:56Z` for nanoseconds since 1970; `text` holds at least CLOCK_UTC_SIZE bytes. */
#define CLOCK_UTC_SIZE 32
void clock_format_utc(int64_t wall_ns, char *text);
/* Seconds since 1970 of such a text; -1: it is none, or NULL. */
int64_t clock_parse_utc_s(const char *text);

#endif
