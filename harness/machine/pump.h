/*
 * pump - takes what a child writes, so that the child never blocks, and keeps a bounded part of it.
 *
 * One thread reads up to two pipes (stdout, stderr). A pipe goes into a log file (its first and its last part, a line
 * between them says how much was left out) or into memory (its first part). pump_start() makes the pipes; the write
 * ends belong to the caller, who gives them to the child and closes them. pump_finish() takes what is still in the
 * pipes without waiting for those who may hold the other end, and ends the thread.
 */
#ifndef MACHINE_PUMP_H
#define MACHINE_PUMP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct pump_sink {
    bool used;
    int fd;           /* our end of the pipe */
    char *path;       /* a log file, or NULL: kept in memory */
    int file;         /* the log file's descriptor */
    size_t limit;     /* most bytes that are kept */
    struct text head; /* in memory: all that is kept; log: the last bytes for pump_tail() before the ring is used */
    uint64_t total;   /* bytes that arrived */
    char *ring;       /* log: the last part, limit / 2 bytes, used when the first part is full */
    bool failed;      /* the log could not be written (disk full) */
};

struct pump {
    pthread_t thread;
    pthread_mutex_t lock;
    int wake; /* eventfd: finish */
    bool started;
    struct pump_sink sinks[2];
};

/* Adds a sink for pipe 0 (stdout) or 1 (stderr); `path` NULL: memory. `*write_fd` is the caller's. */
int pump_add(struct pump *pump, int which, const char *path, size_t limit, int *write_fd, struct err *err);
/* Starts the thread. The pump must not move until pump_finish(). */
int pump_start(struct pump *pump, struct err *err);
/* Ends the thread; what was kept stays until pump_free(). */
void pump_finish(struct pump *pump);
void pump_free(struct pump *pump);

/* The last `lines` lines of a sink, escaped, at most 4 KiB, added to `text`. At any time. */
void pump_tail(struct pump *pump, int which, int lines, struct text *text);
/* What a sink in memory kept, the caller's; `*cut` says whether there was more. After pump_finish(). */
char *pump_take(struct pump *pump, int which, size_t *len, bool *cut);

#endif
