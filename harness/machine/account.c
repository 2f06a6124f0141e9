#include "machine/account.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"

static int add_thread(const char *folder, pid_t thread, void *argument)
{
    struct account_process *process = argument;
    struct procfs_schedstat schedstat;
    struct procfs_status status;
    char path[600];
    char content[16384];

    process->thread_hash = process->thread_hash * 1099511628211U + (uint64_t)thread;
    (void)snprintf(path, sizeof path, "%s/schedstat", folder);
    if (fsx_read_small(path, content, sizeof content) > 0 && procfs_parse_schedstat(content, &schedstat) == 0)
        process->run_ns += schedstat.run_ns;
    else
        process->run_known = false;
    (void)snprintf(path, sizeof path, "%s/status", folder);
    if (fsx_read_small(path, content, sizeof content) <= 0 || procfs_parse_status(content, &status) != 0)
        return 0;
    if (process->involuntary >= 0 && status.involuntary >= 0)
        process->involuntary += status.involuntary;
    process->ignores_sigchld = process->ignores_sigchld || status.ignores_sigchld;
    procfs_status_free(&status);
    return 0;
}

void account_read(const char *proc, const struct procfs_list *all, pid_t root, const pid_t *members,
                  size_t member_count, struct account_reading *reading)
{
    struct procfs_list side = {.items = text_alloc(all->count * sizeof *all->items + 1), .count = all->count};

    memcpy(side.items, all->items, all->count * sizeof *all->items);
    procfs_list_keep_tree(&side, root, members, member_count);
    *reading = (struct account_reading){
        .processes = text_alloc(side.count * sizeof *reading->processes + 1),
        .count = side.count,
    };
    for (size_t i = 0; i < side.count; i++) {
        struct account_process *process = &reading->processes[i];

        *process =
            (struct account_process){.stat = side.items[i], .run_known = true, .thread_hash = 14695981039346656037U};
        (void)procfs_threads(proc, process->stat.pid, add_thread, process);
    }
    procfs_list_free(&side);
}

void account_free(struct account_reading *reading)
{
    free(reading->processes);
    *reading = (struct account_reading){0};
}

static const struct account_process *find(const struct account_reading *reading, pid_t pid)
{
    for (size_t i = 0; i < reading->count; i++)
        if (reading->processes[i].stat.pid == pid)
            return &reading->processes[i];
    return NULL;
}

/* The same process in the other reading: a pid that was given to another process since is not it. */
static const struct account_process *find_same(const struct account_reading *reading, const struct procfs_stat *stat)
{
    const struct account_process *found = find(reading, stat->pid);

    return found != NULL && found->stat.start_ticks == stat->start_ticks ? found : NULL;
}

static void note(struct account_usage *usage, const char *what, const struct procfs_stat *stat)
{
    struct text name = {0};

    usage->adds_up = false;
    if (usage->note[0] != '\0')
        return;
    text_add_visible(&name, stat->name, strlen(stat->name));
    (void)snprintf(usage->note, sizeof usage->note, "process %d (%s) %s", (int)stat->pid, text_string(&name), what);
    text_free(&name);
}

/* What children brought to one process that lived through the window, in ticks. */
struct inherited {
    double user;
    double kernel;
};

/* The nearest ancestor of a process that is still there; NULL: none in the side. */
static const struct account_process *surviving_ancestor(const struct account_reading *before,
                                                        const struct account_reading *after,
                                                        const struct account_process *process)
{
    for (size_t depth = 0; depth <= before->count; depth++) {
        process = find(before, process->stat.parent);
        if (process == NULL)
            return NULL;
        if (find_same(after, &process->stat) != NULL)
            return process;
    }
    return NULL;
}

/*
 * A child that was there at the beginning and ended brings its parent all its time, also that before the window, which
 * is taken off again. A parent that got less than that did not wait for it: what the child did is lost.
 */
static struct inherited from_children(const struct account_reading *before, const struct account_reading *after,
                                      const struct account_process *then, const struct account_process *now,
                                      struct account_usage *usage)
{
    struct inherited sum = {
        .user = (double)now->stat.waited_user_ticks - (double)then->stat.waited_user_ticks,
        .kernel = (double)now->stat.waited_kernel_ticks - (double)then->stat.waited_kernel_ticks,
    };

    for (size_t i = 0; i < before->count; i++) {
        const struct account_process *gone = &before->processes[i];

        if (find_same(after, &gone->stat) != NULL || surviving_ancestor(before, after, gone) != then)
            continue;
        sum.user -= (double)(gone->stat.user_ticks + gone->stat.waited_user_ticks);
        sum.kernel -= (double)(gone->stat.kernel_ticks + gone->stat.waited_kernel_ticks);
        /* User and kernel ticks are each rounded down: one of each may be missing. */
        if (sum.user < -1 || sum.kernel < -1)
            note(usage, "ended and its parent did not wait for it", &gone->stat);
    }
    sum.user = sum.user > 0 ? sum.user : 0;
    sum.kernel = sum.kernel > 0 ? sum.kernel : 0;
    return sum;
}

/* Nobody came, went, or inherited: then the threads' own clocks, in ns, tell more than ticks of 10 ms. */
static bool is_unchanged(const struct account_reading *before, const struct account_reading *after)
{
    if (before->count != after->count || after->count == 0)
        return false;
    for (size_t i = 0; i < after->count; i++) {
        const struct account_process *now = &after->processes[i];
        const struct account_process *then = find_same(before, &now->stat);

        if (then == NULL || !now->run_known || !then->run_known || now->thread_hash != then->thread_hash ||
            now->run_ns < then->run_ns || now->stat.waited_user_ticks != then->stat.waited_user_ticks ||
            now->stat.waited_kernel_ticks != then->stat.waited_kernel_ticks)
            return false;
    }
    return true;
}

static void refine(const struct account_reading *before, const struct account_reading *after,
                   struct account_usage *usage)
{
    double run_s = 0;
    double ticked_s = usage->user_s + usage->kernel_s;

    for (size_t i = 0; i < after->count; i++)
        run_s += (double)(after->processes[i].run_ns - find_same(before, &after->processes[i].stat)->run_ns) / 1e9;
    usage->total_s = run_s;
    usage->resolution_s = 1e-6;
    /* The split is the kernel's estimate at its ticks; without a tick there is none. */
    usage->user_s = ticked_s > 0 ? run_s * usage->user_s / ticked_s : NAN;
    usage->kernel_s = ticked_s > 0 ? run_s - usage->user_s : NAN;
}

void account_between(const struct account_reading *before, const struct account_reading *after, double tick_s,
                     struct account_usage *usage)
{
    double user = 0;
    double kernel = 0;

    *usage = (struct account_usage){.adds_up = true, .resolution_s = tick_s};
    for (size_t i = 0; i < after->count; i++) {
        const struct account_process *now = &after->processes[i];
        const struct account_process *then = find_same(before, &now->stat);
        struct inherited inherited = {.user = (double)now->stat.waited_user_ticks,
                                      .kernel = (double)now->stat.waited_kernel_ticks};

        if (now->ignores_sigchld)
            note(usage, "ignores SIGCHLD: the time of its children reaches nobody", &now->stat);
        if (then != NULL) {
            inherited = from_children(before, after, then, now, usage);
            user -= (double)then->stat.user_ticks;
            kernel -= (double)then->stat.kernel_ticks;
            usage->involuntary += now->involuntary >= 0 && now->involuntary >= then->involuntary
                                      ? (double)(now->involuntary - then->involuntary)
                                      : 0;
        }
        user += (double)now->stat.user_ticks + inherited.user;
        kernel += (double)now->stat.kernel_ticks + inherited.kernel;
    }
    for (size_t i = 0; i < before->count; i++) {
        const struct account_process *gone = &before->processes[i];

        if (find_same(after, &gone->stat) == NULL && surviving_ancestor(before, after, gone) == NULL)
            note(usage, "ended and left no parent that could have waited for it", &gone->stat);
    }
    usage->user_s = user > 0 ? user * tick_s : 0;
    usage->kernel_s = kernel > 0 ? kernel * tick_s : 0;
    usage->total_s = usage->user_s + usage->kernel_s;
    if (is_unchanged(before, after))
        refine(before, after, usage);
    /* Nobody is left who could tell. */
    if (after->count == 0)
        usage->user_s = usage->kernel_s = usage->total_s = usage->involuntary = NAN;
}
