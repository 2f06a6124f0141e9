#include "base/clock.h"

#include <stdio.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * CLOCK_NS_PER_S + now.tv_nsec;
}

static int64_t kernel_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

static int64_t kernel_boot_ns(void)
{
    return read_ns(CLOCK_BOOTTIME);
}

static int64_t kernel_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

static const struct clock_source kernel_source = {kernel_mono_ns, kernel_boot_ns, kernel_wall_ns};
static const struct clock_source *current = &kernel_source;

void clock_use(const struct clock_source *source)
{
    current = source != NULL ? source : &kernel_source;
}

int64_t clock_mono_ns(void)
{
    return current->mono_ns();
}

int64_t clock_boot_ns(void)
{
    return current->boot_ns();
}

int64_t clock_wall_ns(void)
{
    return current->wall_ns();
}

void clock_sleep_ns(int64_t ns)
{
    struct timespec span = {.tv_sec = (time_t)(ns / CLOCK_NS_PER_S), .tv_nsec = (long)(ns % CLOCK_NS_PER_S)};

    if (ns > 0)
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

void clock_format_utc(int64_t wall_ns, char *text)
{
    time_t seconds = (time_t)(wall_ns / CLOCK_NS_PER_S);
    struct tm utc;

    if (gmtime_r(&seconds, &utc) == NULL || strftime(text, CLOCK_UTC_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        (void)snprintf(text, CLOCK_UTC_SIZE, "unknown");
}

int64_t clock_parse_utc_s(const char *text)
{
    struct tm utc = {0};

    return text != NULL && strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc) != NULL ? (int64_t)timegm(&utc) : -1;
}
