#include "study/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"

void progress_format_eta(double seconds, char *text, size_t size)
{
    long s = seconds > 0 ? (long)(seconds + 0.5) : 0;

    if (s >= 3600)
        (void)snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s % 3600 / 60, s % 60);
    else
        (void)snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
}

/* What is left, stretched by how the real time so far compares with the plan's. */
static double eta_s(const struct progress *progress)
{
    double spent_s = (double)(clock_mono_ns() - progress->started_ns) / (double)CLOCK_NS_PER_S;
    double covered_s = progress->planned_s - progress->skipped_s - progress->remaining_s;

    if (covered_s < 5 || spent_s < 5)
        return progress->remaining_s;
    return progress->remaining_s * spent_s / covered_s;
}

static void write_status(const struct progress *progress)
{
    json_t *status = json_object();
    char utc[CLOCK_UTC_SIZE];
    struct err err = {0};
    char *text;

    clock_format_utc(clock_wall_ns(), utc);
    json_put(status, "format", json_integer(1));
    json_put(status, "pid", json_integer(getpid()));
    json_put(status, "utc", json_string(utc));
    json_put(status, "run", json_string(progress->base));
    json_put(status, "cells_done", json_integer((json_int_t)progress->done));
    json_put(status, "cells", json_integer((json_int_t)progress->total));
    json_put(status, "now", json_string(progress->now));
    json_put(status, "last", json_string(progress->last));
    json_put(status, "eta_s", json_number(eta_s(progress), 0));
    text = json_pretty(status);
    (void)fsx_write_atomic(progress->status_path, text, strlen(text), 0644, &err);
    free(text);
    json_decref(status);
}

void progress_show(const struct progress *progress)
{
    struct text line = {0};
    char eta[32];

    if (!log_is_terminal())
        return;
    progress_format_eta(eta_s(progress), eta, sizeof eta);
    text_addf(&line, "[%zu/%zu] %s", progress->done, progress->total, progress->now);
    if (progress->last[0] != '\0')
        text_addf(&line, "   last: %s", progress->last);
    text_addf(&line, "   ETA %s", eta);
    log_progress(text_string(&line));
    text_free(&line);
}

void progress_start(struct progress *progress, const char *state_dir, const char *base, size_t done, size_t total,
                    double remaining_s)
{
    *progress = (struct progress){.status_path = text_format("%s/run/status.json", state_dir),
                                  .base = text_dup(base),
                                  .done = done,
                                  .total = total,
                                  .planned_s = remaining_s,
                                  .remaining_s = remaining_s,
                                  .started_ns = clock_mono_ns()};
    write_status(progress);
}

void progress_now(struct progress *progress, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(progress->now, sizeof progress->now, format, args);
    va_end(args);
    progress_show(progress);
    write_status(progress);
}

void progress_cell(struct progress *progress, const char *result, double planned_s)
{
    char eta[32];

    progress->done++;
    progress->remaining_s -= planned_s;
    (void)snprintf(progress->last, sizeof progress->last, "%s", result);
    progress_format_eta(eta_s(progress), eta, sizeof eta);
    if (log_is_terminal())
        log_detail("[%zu/%zu] %s   %s   ETA %s", progress->done, progress->total, progress->now, result, eta);
    else
        log_line("[%zu/%zu] %s   %s   ETA %s", progress->done, progress->total, progress->now, result, eta);
    progress_show(progress);
    write_status(progress);
}

void progress_drop(struct progress *progress, size_t cells, double planned_s)
{
    progress->total -= cells;
    progress->remaining_s -= planned_s;
    progress->skipped_s += planned_s;
    write_status(progress);
}

void progress_end(struct progress *progress)
{
    log_progress(NULL);
    if (progress->status_path != NULL)
        (void)unlink(progress->status_path);
    free(progress->status_path);
    free(progress->base);
    *progress = (struct progress){0};
}
