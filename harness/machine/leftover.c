#include "machine/leftover.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/procfs.h"

#define BLOCK_MOST (4u << 20)

static const char variable[] = "RESTBENCH_RUN";

void leftover_mark(struct env *env)
{
    struct procfs_stat self = {0};
    char value[64];

    (void)procfs_read_stat("/proc", getpid(), &self);
    (void)snprintf(value, sizeof value, "%d-%llu", (int)getpid(), (unsigned long long)self.start_ticks);
    env_set(env, variable, value);
}

bool leftover_parse(const char *block, size_t len, int *pid, unsigned long long *start)
{
    size_t name_len = sizeof variable - 1;

    for (size_t at = 0; at < len; at += strnlen(block + at, len - at) + 1) {
        size_t item_len = strnlen(block + at, len - at);
        char *value;
        char *dash;
        int64_t number;
        uint64_t ticks;
        bool good;

        if (item_len <= name_len || strncmp(block + at, variable, name_len) != 0 || block[at + name_len] != '=')
            continue;
        value = text_dup_n(block + at + name_len + 1, item_len - name_len - 1);
        dash = strchr(value, '-');
        if (dash != NULL)
            *dash = '\0';
        good = dash != NULL && text_parse_i64(value, &number) == 0 && number > 0 && number <= INT32_MAX &&
               text_parse_u64(dash + 1, &ticks) == 0;
        if (good) {
            *pid = (int)number;
            *start = ticks;
        }
        free(value);
        return good;
    }
    return false;
}

bool leftover_lives(int pid, unsigned long long start)
{
    struct procfs_stat stat;

    return procfs_read_stat("/proc", pid, &stat) == 0 && stat.start_ticks == start && stat.state != 'Z';
}

/* True when it carries the variable of a restbench that is gone. */
static bool is_left(pid_t pid, int *maker)
{
    char path[64];
    char *block;
    size_t len;
    unsigned long long start;
    struct err ignored = {0};
    bool left;

    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    if (fsx_read(path, BLOCK_MOST, &block, &len, &ignored) != 0)
        return false;
    left = leftover_parse(block, len, maker, &start) && !leftover_lives(*maker, start);
    free(block);
    return left;
}

/* Looks again behind a descriptor: what is killed is the process that was looked at, not a successor of its pid. */
static bool end_one(pid_t pid, bool say)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    int maker;
    bool left = fd >= 0 && is_left(pid, &maker);

    if (left && say) {
        struct text what = {0};

        procfs_add_command("/proc", pid, 80, &what);
        log_line("left over  pid %d of a run that was killed (pid %d) is ended: %s", (int)pid, maker,
                 text_string(&what));
        text_free(&what);
    }
    if (left)
        (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
    if (fd >= 0)
        (void)close(fd);
    return left;
}

size_t leftover_end(long long timeout_ns)
{
    int64_t end_ns = clock_mono_ns() + timeout_ns;

    for (bool say = true;; say = false) {
        struct procfs_list list;
        size_t left = 0;

        if (procfs_list_read("/proc", &list) != 0)
            return 0;
        for (size_t i = 0; i < list.count; i++)
            if (list.items[i].pid != getpid() && list.items[i].state != 'Z')
                left += end_one(list.items[i].pid, say);
        procfs_list_free(&list);
        if (left == 0 || clock_mono_ns() >= end_ns)
            return left;
        clock_sleep_ns(5 * CLOCK_NS_PER_MS);
    }
}
