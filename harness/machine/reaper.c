#include "machine/reaper.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/text.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t *owned;
static size_t owned_count;

int reaper_start(struct err *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return err_sys(err, "cannot become the reaper of orphaned processes");
    return 0;
}

pid_t reaper_fork(void)
{
    pid_t pid;

    (void)pthread_mutex_lock(&lock);
    owned = text_realloc(owned, owned_count + 1, sizeof *owned);
    pid = fork();
    if (pid > 0)
        owned[owned_count++] = pid;
    /* The new process has one thread, this one, and must not touch the lock's waiters. */
    if (pid != 0)
        (void)pthread_mutex_unlock(&lock);
    return pid;
}

void reaper_disown(pid_t pid)
{
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < owned_count; i++)
        if (owned[i] == pid) {
            owned[i] = owned[--owned_count];
            break;
        }
    if (owned_count == 0) {
        free(owned);
        owned = NULL;
    }
    (void)pthread_mutex_unlock(&lock);
}

static bool is_owned(pid_t pid)
{
    for (size_t i = 0; i < owned_count; i++)
        if (owned[i] == pid)
            return true;
    return false;
}

/* Adds the children that one of our threads has, the dead ones too. */
static void add_children(const char *thread, pid_t **children, size_t *count)
{
    char path[300];
    char *list;
    size_t len;
    char *rest;
    struct err ignored = {0};

    (void)snprintf(path, sizeof path, "/proc/self/task/%s/children", thread);
    if (fsx_read(path, 16 << 20, &list, &len, &ignored) != 0)
        return;
    for (char *word = strtok_r(list, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        int64_t pid;

        if (text_parse_i64(word, &pid) != 0)
            continue;
        *children = text_realloc(*children, *count + 1, sizeof **children);
        (*children)[(*count)++] = (pid_t)pid;
    }
    free(list);
}

static size_t list_children(pid_t **children)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    size_t count = 0;

    *children = NULL;
    while (tasks != NULL && (task = readdir(tasks)) != NULL)
        if (task->d_name[0] != '.')
            add_children(task->d_name, children, &count);
    if (tasks != NULL)
        (void)closedir(tasks);
    return count;
}

/* Calls `act` for each child that is not owned. */
static int for_orphans(int (*act)(pid_t pid))
{
    pid_t *children;
    int sum = 0;
    size_t count;

    (void)pthread_mutex_lock(&lock);
    count = list_children(&children);
    for (size_t i = 0; i < count; i++)
        if (!is_owned(children[i]))
            sum += act(children[i]);
    (void)pthread_mutex_unlock(&lock);
    free(children);
    return sum;
}

static int reap(pid_t pid)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == pid ? 1 : 0;
}

/* Kills an orphan unless it is in the session of somebody who is still at work; returns 1 when it lives on. */
static int kill_and_reap(pid_t pid)
{
    pid_t session = getsid(pid);

    if (session == getsid(0) || (session > 0 && is_owned(session)))
        return 0;
    (void)kill(pid, SIGKILL);
    return reap(pid) ? 0 : 1;
}

int reaper_collect(void)
{
    return for_orphans(reap);
}

int reaper_kill_orphans(long long timeout_ns)
{
    int64_t end = clock_mono_ns() + timeout_ns;
    int left;

    while ((left = for_orphans(kill_and_reap)) > 0 && clock_mono_ns() < end)
        clock_sleep_ns(5 * CLOCK_NS_PER_MS);
    return left;
}
