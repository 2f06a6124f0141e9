#include "machine/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fsx.h"

#define BLOCK 65536
#define TAIL_MOST 4096

int pump_add(struct pump *pump, int which, const char *path, size_t limit, int *write_fd, struct err *err)
{
    struct pump_sink *sink = &pump->sinks[which];
    int ends[2];

    *sink = (struct pump_sink){.file = -1, .limit = limit};
    if (path != NULL) {
        sink->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (sink->file < 0)
            return err_sys(err, "%s: cannot write", path);
        sink->path = text_dup(path);
        sink->ring = text_alloc(limit / 2 + 1);
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        (void)err_sys(err, "cannot make a pipe");
        if (sink->file >= 0)
            (void)close(sink->file);
        free(sink->path);
        free(sink->ring);
        return -1;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    sink->fd = ends[0];
    *write_fd = ends[1];
    sink->used = true;
    return 0;
}

static void keep_in_file(struct pump_sink *sink, const char *data, size_t len)
{
    size_t half = sink->limit / 2;
    struct err ignored = {0};

    for (size_t done = 0; done < len;) {
        size_t n = len - done;

        if (sink->total < half) {
            n = n < half - sink->total ? n : (size_t)(half - sink->total);
            text_add_bytes(&sink->head, data + done, n);
            for (size_t out = 0; out < n && !sink->failed;) {
                ssize_t wrote = write(sink->file, data + done + out, n - out);

                if (wrote < 0 && errno != EINTR)
                    sink->failed = true;
                out += wrote > 0 ? (size_t)wrote : 0;
            }
        } else {
            size_t at = (size_t)((sink->total - half) % half);

            n = n < half - at ? n : half - at;
            memcpy(sink->ring + at, data + done, n);
        }
        sink->total += n;
        done += n;
    }
    (void)ignored;
}

static void keep(struct pump_sink *sink, const char *data, size_t len)
{
    size_t room = sink->limit > sink->head.len ? sink->limit - sink->head.len : 0;

    if (sink->path != NULL) {
        keep_in_file(sink, data, len);
        return;
    }
    text_add_bytes(&sink->head, data, len < room ? len : room);
    sink->total += len;
}

/* Takes what is there; false at the end of the pipe. */
static bool drain(struct pump *pump, struct pump_sink *sink, char *block)
{
    /* A child that writes faster than we read must not keep us here for ever. */
    for (int round = 0; round < 64; round++) {
        ssize_t n = read(sink->fd, block, BLOCK);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        (void)pthread_mutex_lock(&pump->lock);
        keep(sink, block, (size_t)n);
        (void)pthread_mutex_unlock(&pump->lock);
    }
    return true;
}

static void *run(void *argument)
{
    struct pump *pump = argument;
    char *block = text_alloc(BLOCK);
    struct pollfd polls[3] = {{.fd = pump->wake, .events = POLLIN}};
    bool last = false;

    for (int i = 0; i < 2; i++)
        polls[i + 1] = (struct pollfd){.fd = pump->sinks[i].used ? pump->sinks[i].fd : -1, .events = POLLIN};
    while (!last) {
        if (poll(polls, 3, -1) < 0 && errno != EINTR)
            break;
        last = (polls[0].revents & POLLIN) != 0;
        for (int i = 0; i < 2; i++)
            if (polls[i + 1].fd >= 0 && (last || polls[i + 1].revents != 0) && !drain(pump, &pump->sinks[i], block))
                polls[i + 1].fd = -1;
    }
    free(block);
    return NULL;
}

int pump_start(struct pump *pump, struct err *err)
{
    sigset_t all;
    sigset_t old;
    int failed;

    pump->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pump->wake < 0)
        return err_sys(err, "cannot make an eventfd");
    (void)pthread_mutex_init(&pump->lock, NULL);
    /* Signals are the main thread's business. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&pump->thread, NULL, run, pump);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed != 0) {
        (void)close(pump->wake);
        errno = failed;
        return err_sys(err, "cannot start a thread");
    }
    pump->started = true;
    return 0;
}

/* The part of the ring in the order of its arrival. */
static void add_ring(const struct pump_sink *sink, struct text *text)
{
    size_t half = sink->limit / 2;
    uint64_t behind = sink->total > half ? sink->total - half : 0;

    if (behind > half)
        text_add_bytes(text, sink->ring + behind % half, half - (size_t)(behind % half));
    text_add_bytes(text, sink->ring, behind > half ? (size_t)(behind % half) : (size_t)behind);
}

static void finish_log(struct pump_sink *sink)
{
    struct text text = {0};
    struct err ignored = {0};

    if (sink->total > sink->limit / 2 * 2)
        text_addf(&text, "\n[%llu bytes left out here]\n", (unsigned long long)(sink->total - sink->limit / 2 * 2));
    add_ring(sink, &text);
    if (text.len > 0 && fsx_write_fd(sink->file, sink->path, text.data, text.len, &ignored) != 0)
        sink->failed = true;
    text_free(&text);
    (void)close(sink->file);
    sink->file = -1;
}

void pump_finish(struct pump *pump)
{
    uint64_t one = 1;

    if (!pump->started)
        return;
    (void)!write(pump->wake, &one, sizeof one);
    (void)pthread_join(pump->thread, NULL);
    pump->started = false;
    (void)close(pump->wake);
    for (int i = 0; i < 2; i++)
        if (pump->sinks[i].used) {
            (void)close(pump->sinks[i].fd);
            pump->sinks[i].fd = -1;
            if (pump->sinks[i].file >= 0)
                finish_log(&pump->sinks[i]);
        }
}

void pump_free(struct pump *pump)
{
    pump_finish(pump);
    for (int i = 0; i < 2; i++) {
        struct pump_sink *sink = &pump->sinks[i];

        if (!sink->used)
            continue;
        if (sink->fd >= 0)
            (void)close(sink->fd);
        if (sink->file >= 0)
            (void)close(sink->file);
        free(sink->path);
        free(sink->ring);
        text_free(&sink->head);
        sink->used = false;
    }
}

void pump_tail(struct pump *pump, int which, int lines, struct text *text)
{
    struct pump_sink *sink = &pump->sinks[which];
    struct text all = {0};
    size_t start;
    size_t end;

    if (!sink->used)
        return;
    if (pump->started)
        (void)pthread_mutex_lock(&pump->lock);
    text_add_bytes(&all, text_string(&sink->head), sink->head.len);
    if (sink->ring != NULL)
        add_ring(sink, &all);
    if (pump->started)
        (void)pthread_mutex_unlock(&pump->lock);
    end = all.len;
    while (end > 0 && (all.data[end - 1] == '\n' || all.data[end - 1] == '\r'))
        end--;
    for (start = end; start > 0 && end - start < TAIL_MOST; start--)
        if (all.data[start - 1] == '\n' && --lines <= 0)
            break;
    for (size_t at = start; at < end;) {
        const char *newline = memchr(all.data + at, '\n', end - at);
        size_t len = newline != NULL ? (size_t)(newline - (all.data + at)) : end - at;

        text_add_visible(text, all.data + at, len);
        at += len + 1;
        if (at < end)
            text_add_char(text, '\n');
    }
    text_free(&all);
}

char *pump_take(struct pump *pump, int which, size_t *len, bool *cut)
{
    struct pump_sink *sink = &pump->sinks[which];

    *len = sink->head.len;
    *cut = sink->total > sink->head.len;
    return text_take(&sink->head);
}
