#include "machine/child.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/cgroup.h"
#include "machine/procfs.h"
#include "machine/pump.h"
#include "machine/reaper.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#define SLICE_NS (100 * CLOCK_NS_PER_MS)
/* How long a killed process may take: it may be writing a core or sit in a disk's queue. */
#define KILL_WAIT_NS (10 * CLOCK_NS_PER_S)

static const volatile sig_atomic_t *cancel_flag;

void child_cancel_on(const volatile sig_atomic_t *flag)
{
    cancel_flag = flag;
}

bool child_cancelled(void)
{
    return cancel_flag != NULL && *cancel_flag != 0;
}

/* Takes the status and leaves the zombie, which keeps the number of the process group from being given away. */
static bool look(struct child *child)
{
    siginfo_t info = {0};

    if (child->status.ended || child->pid == 0)
        return true;
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != child->pid)
        return false;
    child->status = (struct child_status){.ended = true, .code = -1};
    if (info.si_code == CLD_EXITED)
        child->status.code = info.si_status;
    else
        child->status.signal = info.si_status;
    return true;
}

static bool wait_until(struct child *child, int64_t end_ns, bool may_cancel)
{
    while (!look(child)) {
        int64_t left = end_ns - clock_mono_ns();
        struct pollfd poll_fd = {.fd = child->pidfd, .events = POLLIN};
        struct timespec slice;

        if (left <= 0 || (may_cancel && child_cancelled()))
            return false;
        left = left < SLICE_NS ? left : SLICE_NS;
        slice = (struct timespec){.tv_sec = 0, .tv_nsec = left};
        (void)ppoll(&poll_fd, 1, &slice, NULL);
    }
    return true;
}

bool child_wait(struct child *child, int64_t timeout_ns)
{
    return wait_until(child, clock_mono_ns() + timeout_ns, true);
}

char child_state(const struct child *child)
{
    struct procfs_stat stat;

    return child->pid > 0 && procfs_read_stat("/proc", child->pid, &stat) == 0 ? stat.state : 0;
}

const char *child_status_text(const struct child *child)
{
    static char text[128];
    const char *name;

    if (!child->status.ended)
        return child_state(child) == 'T' ? "stopped by a signal (state T)" : "runs";
    if (child->status.signal == 0) {
        (void)snprintf(text, sizeof text, "exited %d", child->status.code);
        return text;
    }
    name = sigabbrev_np(child->status.signal);
    (void)snprintf(text, sizeof text, name != NULL ? "killed by SIG%s" : "killed by signal %s%d",
                   name != NULL ? name : "", child->status.signal);
    return text;
}

void child_signal(const struct child *child, int signal)
{
    if (child->pid > 0 && !child->status.ended)
        (void)kill(child->pid, signal);
}

/* True while somebody else than the leader is in its cgroup, else in its session or group. */
static bool others_live(const struct child *child)
{
    struct procfs_list list;
    bool found = false;

    if (child->cgroup != NULL)
        return !cgroup_is_empty(child->cgroup);
    (void)procfs_list_read("/proc", &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct procfs_stat *item = &list.items[i];

        if ((item->session == child->pid || item->group == child->pid) && item->pid != child->pid && item->state != 'Z')
            found = true;
    }
    procfs_list_free(&list);
    return found;
}

int child_stop(struct child *child, int64_t grace_ns, struct err *err)
{
    int64_t end = clock_mono_ns() + grace_ns;
    int result = 0;
    siginfo_t info;

    if (child->pid == 0)
        return 0;
    if (!look(child) && grace_ns > 0) {
        (void)kill(-child->pid, SIGTERM);
        (void)kill(-child->pid, SIGCONT);
        (void)wait_until(child, end, false);
    }
    while (grace_ns > 0 && child->status.ended && others_live(child) && clock_mono_ns() < end)
        clock_sleep_ns(5 * CLOCK_NS_PER_MS);
    child->killed = child->killed || !look(child) || (grace_ns > 0 && others_live(child));
    (void)kill(-child->pid, SIGKILL);
    if (child->cgroup != NULL)
        result = cgroup_kill(child->cgroup, KILL_WAIT_NS, err);
    if (!wait_until(child, clock_mono_ns() + KILL_WAIT_NS, false))
        return err_fail(err, "%s (process %d) does not end though it was killed (state %c)", child->name,
                        (int)child->pid, child_state(child));
    (void)waitid(P_PID, (id_t)child->pid, &info, WEXITED);
    reaper_disown(child->pid);
    (void)close(child->pidfd);
    child->pidfd = -1;
    child->pid = 0;
    if (child->pump != NULL)
        pump_finish(child->pump);
    (void)reaper_collect();
    return result;
}

static void forget(struct child *child)
{
    if (child->pid != 0)
        reaper_disown(child->pid);
    if (child->pidfd >= 0)
        (void)close(child->pidfd);
    if (child->pump != NULL) {
        pump_free(child->pump);
        free(child->pump);
    }
    if (child->cgroup != NULL) {
        free(child->cgroup->path);
        free(child->cgroup);
    }
    free(child->name);
    json_decref(child->record);
    *child = (struct child){.pidfd = -1};
}

void child_close(struct child *child)
{
    struct err ignored = {0};

    if (child->name == NULL)
        return;
    (void)child_stop(child, 0, &ignored);
    forget(child);
}

void child_detach(struct child *child)
{
    if (child->name != NULL)
        forget(child);
}

void child_tail(struct child *child, char which, int lines, struct text *text)
{
    if (child->pump != NULL)
        pump_tail(child->pump, which == 'e', lines, text);
}

char *child_take(struct child *child, char which, size_t *len, bool *cut)
{
    size_t found_len = 0;
    bool found_cut = false;
    char *data = NULL;

    if (child->pump != NULL) {
        pump_finish(child->pump);
        data = pump_take(child->pump, which == 'e', &found_len, &found_cut);
    }
    if (len != NULL)
        *len = found_len;
    if (cut != NULL)
        *cut = found_cut;
    return data != NULL ? data : text_dup("");
}
