#include "target/postgres_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/text.h"

#define SHM "/dev/shm/"
#define SEGMENT "PostgreSQL."
#define STEP_NS (20 * CLOCK_NS_PER_MS)

/* Lines: pid, data folder, start time, port, socket folder, listen address, shared memory, status. */
int postgres_pidfile_parse(const char *text, struct postgres_pidfile *file)
{
    char *copy = text_dup(text);
    char *rest = copy;
    char *line;
    int number = 0;
    int64_t pid = 0;
    int64_t port = 0;

    *file = (struct postgres_pidfile){0};
    while (rest != NULL && (line = strsep(&rest, "\n")) != NULL && rest != NULL) {
        number++;
        if (number == 1)
            (void)text_parse_i64(line, &pid);
        else if (number == 4)
            (void)text_parse_i64(line, &port);
        else if (number == 5)
            (void)snprintf(file->socket_dir, sizeof file->socket_dir, "%s", line);
        else if (number == 8)
            file->ready = strncmp(line, "ready", 5) == 0;
    }
    free(copy);
    file->pid = (pid_t)pid;
    file->port = (int)port;
    return number >= 5 && pid > 0 && pid <= INT_MAX && port > 0 && port < 65536 ? 0 : -1;
}

int postgres_pidfile_read(const char *data, struct postgres_pidfile *file)
{
    char *path = fsx_join(data, "postmaster.pid");
    char text[4096];
    ssize_t len = fsx_read_small(path, text, sizeof text);

    free(path);
    *file = (struct postgres_pidfile){0};
    return len > 0 ? postgres_pidfile_parse(text, file) : -1;
}

static ssize_t read_proc_link(pid_t pid, const char *name, char *target, size_t size)
{
    char path[64];
    ssize_t len;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    len = readlink(path, target, size - 1);
    target[len > 0 ? len : 0] = '\0';
    return len;
}

bool postgres_process_is(pid_t pid, const char *data)
{
    char target[PATH_MAX];

    if (read_proc_link(pid, "cwd", target, sizeof target) <= 0 || strcmp(target, data) != 0)
        return false;
    if (read_proc_link(pid, "exe", target, sizeof target) <= 0)
        return false;
    return strncmp(fsx_basename(target), "postgres", strlen("postgres")) == 0;
}

/* Calls `visit` for each number in /proc. */
static void each_process(void (*visit)(pid_t pid, void *argument), void *argument)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;

    while (proc != NULL && (entry = readdir(proc)) != NULL) {
        int64_t pid;

        if (text_parse_i64(entry->d_name, &pid) == 0 && pid > 0 && pid <= INT_MAX)
            visit((pid_t)pid, argument);
    }
    if (proc != NULL)
        (void)closedir(proc);
}

struct pid_list {
    const char *data;
    pid_t *pids;
    size_t count;
};

static void collect(pid_t pid, void *argument)
{
    struct pid_list *list = argument;

    if (!postgres_process_is(pid, list->data))
        return;
    list->pids = text_realloc(list->pids, list->count + 1, sizeof *list->pids);
    list->pids[list->count++] = pid;
}

size_t postgres_process_list(const char *data, pid_t **pids)
{
    struct pid_list list = {.data = data};

    each_process(collect, &list);
    *pids = list.pids;
    return list.count;
}

static bool has_ended(pid_t pid)
{
    char path[64];
    char text[512];
    const char *state;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (fsx_read_small(path, text, sizeof text) <= 0)
        return true;
    state = strrchr(text, ')');
    return state != NULL && (state[2] == 'Z' || state[2] == 'X');
}

bool postgres_process_wait(pid_t pid, int64_t timeout_ns)
{
    int64_t deadline_ns = clock_mono_ns() + timeout_ns;

    while (!has_ended(pid)) {
        if (clock_mono_ns() >= deadline_ns)
            return false;
        clock_sleep_ns(STEP_NS);
    }
    return true;
}

static const char *next_line(const char *at)
{
    at += strcspn(at, "\n");
    return *at == '\n' ? at + 1 : at;
}

static bool lists(const char *names, const char *name, size_t len)
{
    for (const char *at = names; *at != '\0'; at = next_line(at))
        if (strcspn(at, "\n") == len && strncmp(at, name, len) == 0)
            return true;
    return false;
}

/* Adds the segments that one process has mapped. */
static void add_segments(pid_t pid, struct text *names)
{
    char path[64];
    char *line = NULL;
    size_t size = 0;
    FILE *maps;

    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    while (maps != NULL && getline(&line, &size, maps) > 0) {
        char *name = strstr(line, SHM);
        size_t len;

        if (name == NULL)
            continue;
        name += strlen(SHM);
        len = strcspn(name, " \n");
        if (strncmp(name, SEGMENT, strlen(SEGMENT)) == 0 && !lists(text_string(names), name, len)) {
            text_add_bytes(names, name, len);
            text_add_char(names, '\n');
        }
    }
    free(line);
    if (maps != NULL)
        (void)fclose(maps);
}

char *postgres_process_segments(const char *data)
{
    struct text names = {0};
    pid_t *pids;
    size_t count = postgres_process_list(data, &pids);

    for (size_t i = 0; i < count; i++)
        add_segments(pids[i], &names);
    free(pids);
    return text_take(&names);
}

static void add_all_segments(pid_t pid, void *argument)
{
    add_segments(pid, argument);
}

void postgres_process_remove_segments(const char *names)
{
    struct text mapped = {0};

    if (names[0] == '\0')
        return;
    each_process(add_all_segments, &mapped);
    for (const char *at = names; *at != '\0'; at = next_line(at)) {
        size_t len = strcspn(at, "\n");
        char *path;

        if (strncmp(at, SEGMENT, strlen(SEGMENT)) != 0 || memchr(at, '/', len) != NULL ||
            lists(text_string(&mapped), at, len))
            continue;
        path = text_format(SHM "%.*s", (int)len, at);
        (void)unlink(path);
        free(path);
    }
    text_free(&mapped);
}

char *postgres_process_segments_of_user(uid_t uid)
{
    DIR *dir = opendir(SHM);
    struct text names = {0};
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct stat status;

        if (strncmp(entry->d_name, SEGMENT, strlen(SEGMENT)) == 0 &&
            fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid == uid)
            text_addf(&names, "%s\n", entry->d_name);
    }
    if (dir != NULL)
        (void)closedir(dir);
    return text_take(&names);
}

void postgres_process_remove_new_segments(const char *before, const char *after)
{
    struct text fresh = {0};

    for (const char *at = after; *at != '\0'; at = next_line(at)) {
        size_t len = strcspn(at, "\n");

        if (!lists(before, at, len)) {
            text_add_bytes(&fresh, at, len);
            text_add_char(&fresh, '\n');
        }
    }
    postgres_process_remove_segments(text_string(&fresh));
    text_free(&fresh);
}

bool postgres_process_wait_all(const char *data, int64_t timeout_ns)
{
    int64_t deadline_ns = clock_mono_ns() + timeout_ns;

    for (;;) {
        pid_t *pids;
        size_t count = postgres_process_list(data, &pids);

        free(pids);
        if (count == 0 || clock_mono_ns() >= deadline_ns)
            return count == 0;
        clock_sleep_ns(STEP_NS);
    }
}

size_t postgres_process_kill_all(const char *data, int64_t timeout_ns)
{
    int64_t deadline_ns = clock_mono_ns() + timeout_ns;
    char *segments = postgres_process_segments(data); /* nobody else knows them once their processes are gone */
    size_t count;

    for (;;) {
        pid_t *pids;

        count = postgres_process_list(data, &pids);
        for (size_t i = 0; i < count; i++)
            (void)kill(pids[i], SIGKILL);
        free(pids);
        if (count == 0 || clock_mono_ns() >= deadline_ns)
            break;
        clock_sleep_ns(STEP_NS);
    }
    postgres_process_remove_segments(segments);
    free(segments);
    return count;
}
