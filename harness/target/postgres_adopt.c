#include "target/postgres_adopt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/place.h"
#include "target/postgres_process.h"

#define PASSES 5
#define FILE_LIMIT (1u << 20)

static int pin(pid_t pid, const struct cpus *cpus, struct err *err)
{
    struct place place = {.name = "postgres", .cpus = cpus};

    return place_pin(&place, pid, err);
}

/* The folder of the cgroup that a process is in, the caller's; NULL: cannot be told. */
static char *group_of(pid_t pid)
{
    char *path = text_format("/proc/%d/cgroup", (int)pid);
    struct err ignored = {0};
    char *mounts = NULL;
    char *own = NULL;
    char *group = NULL;
    size_t len;

    if (fsx_read("/proc/self/mountinfo", FILE_LIMIT, &mounts, &len, &ignored) == 0 &&
        fsx_read(path, FILE_LIMIT, &own, &len, &ignored) == 0)
        group = cgroup_parse_base(mounts, own);
    free(mounts);
    free(own);
    free(path);
    return group;
}

/* Moves all of them; what forks in between is moved by the next pass. */
static int move(const char *data, int procs)
{
    for (int pass = 0; pass < PASSES; pass++) {
        pid_t *pids;
        size_t count = postgres_process_list(data, &pids);
        bool failed = false;

        for (size_t i = 0; i < count; i++) {
            char text[16];
            int len = snprintf(text, sizeof text, "%d", (int)pids[i]);

            if (write(procs, text, (size_t)len) != len && !failed)
                failed = pass == PASSES - 1 && postgres_process_is(pids[i], data);
        }
        free(pids);
        if (failed)
            return -1;
    }
    return 0;
}

int postgres_adopt(pid_t pid, const char *data, const struct cpus *cpus, const struct cgroup *group,
                   struct postgres_adopt *adopt, struct err *err)
{
    int procs;

    *adopt = (struct postgres_adopt){.pid = pid, .data = text_dup(data)};
    if (cpus != NULL) {
        cpus_copy(cpus, &adopt->cpus);
        if (syscall(SYS_sched_getaffinity, pid, adopt->cpus.bytes, adopt->cpus.mask) < 0)
            cpus_free(&adopt->cpus);
        if (pin(pid, cpus, err) != 0)
            return -1;
    }
    if (group == NULL || group->path == NULL || (adopt->group = group_of(pid)) == NULL)
        return 0;
    procs = cgroup_open_procs(group);
    if (procs < 0 || move(data, procs) != 0)
        log_line("the running PostgreSQL could not be moved into a cgroup of the run");
    if (procs >= 0)
        (void)close(procs);
    return 0;
}

void postgres_adopt_end(struct postgres_adopt *adopt)
{
    struct err ignored = {0};

    if (adopt->pid != 0 && postgres_process_is(adopt->pid, adopt->data)) {
        if (adopt->cpus.mask != NULL)
            (void)pin(adopt->pid, &adopt->cpus, &ignored);
        if (adopt->group != NULL) {
            char *path = fsx_join(adopt->group, "cgroup.procs");
            int procs = open(path, O_WRONLY | O_CLOEXEC);

            if (procs < 0 || move(adopt->data, procs) != 0)
                log_line("the running PostgreSQL could not be moved back into its cgroup");
            if (procs >= 0)
                (void)close(procs);
            free(path);
        }
    }
    cpus_free(&adopt->cpus);
    free(adopt->group);
    free(adopt->data);
    *adopt = (struct postgres_adopt){0};
}
