#include "machine/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/text.h"
#include "machine/procfs.h"

/* A group's folder may hold groups that its processes made (a server that is itself a supervisor). */
#define DEPTH_MOST 16

static int write_file(const char *folder, const char *name, const char *value)
{
    char *path = fsx_join(folder, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = -1;

    free(path);
    if (fd < 0)
        return -1;
    n = write(fd, value, strlen(value));
    (void)close(fd);
    return n < 0 ? -1 : 0;
}

int cgroup_make(const struct cgroup_base *base, const char *name, struct cgroup *group, struct err *err)
{
    struct procfs_stat self = {0};

    *group = (struct cgroup){0};
    if (base->path == NULL)
        return err_set(err, "no cgroup for %s: %s", name, base->reason);
    (void)procfs_read_stat("/proc", getpid(), &self);
    group->path =
        text_format("%s/restbench-%d-%llu-%s", base->path, (int)getpid(), (unsigned long long)self.start_ticks, name);
    if (mkdir(group->path, 0755) != 0) {
        (void)err_sys(err, "%s: cannot make the cgroup", group->path);
        free(group->path);
        group->path = NULL;
        return -1;
    }
    return 0;
}

int cgroup_open_procs(const struct cgroup *group)
{
    char *path = fsx_join(group->path, "cgroup.procs");
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    free(path);
    return fd;
}

static void add_pids(const char *folder, int depth, pid_t **pids, size_t *count)
{
    char *path = fsx_join(folder, "cgroup.procs");
    FILE *file = fopen(path, "re");
    char line[64];
    DIR *below;
    struct dirent *entry;

    free(path);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        int64_t pid;

        line[strcspn(line, "\n")] = '\0';
        if (text_parse_i64(line, &pid) != 0 || pid <= 0)
            continue;
        *pids = text_realloc(*pids, *count + 1, sizeof **pids);
        (*pids)[(*count)++] = (pid_t)pid;
    }
    if (file != NULL)
        (void)fclose(file);
    below = depth < DEPTH_MOST ? opendir(folder) : NULL;
    while (below != NULL && (entry = readdir(below)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            char *child = fsx_join(folder, entry->d_name);

            add_pids(child, depth + 1, pids, count);
            free(child);
        }
    if (below != NULL)
        (void)closedir(below);
}

size_t cgroup_pids(const struct cgroup *group, pid_t **pids)
{
    size_t count = 0;

    *pids = NULL;
    if (group->path != NULL)
        add_pids(group->path, 0, pids, &count);
    return count;
}

bool cgroup_is_empty(const struct cgroup *group)
{
    pid_t *pids;
    size_t count = cgroup_pids(group, &pids);

    free(pids);
    return count == 0;
}

void cgroup_parse_cpu(const char *cpu_stat, struct cgroup_cpu *cpu)
{
    static const char *const names[] = {"usage_usec", "user_usec", "system_usec"};
    double *const values[] = {&cpu->total_s, &cpu->user_s, &cpu->kernel_s};

    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(names[i]);
        const char *line = cpu_stat;

        *values[i] = NAN;
        while (line != NULL && !(strncmp(line, names[i], len) == 0 && line[len] == ' ')) {
            line = strchr(line, '\n');
            line = line != NULL ? line + 1 : NULL;
        }
        if (line != NULL) {
            char *number = text_dup_n(line + len + 1, strcspn(line + len + 1, "\n"));
            uint64_t usec;

            if (text_parse_u64(number, &usec) == 0)
                *values[i] = (double)usec / 1e6;
            free(number);
        }
    }
}

int cgroup_cpu(const struct cgroup *group, struct cgroup_cpu *cpu)
{
    char content[4096];
    char *path;
    ssize_t n;

    cgroup_parse_cpu("", cpu);
    if (group->path == NULL)
        return -1;
    path = fsx_join(group->path, "cpu.stat");
    n = fsx_read_small(path, content, sizeof content);
    free(path);
    if (n <= 0)
        return -1;
    cgroup_parse_cpu(content, cpu);
    return isnan(cpu->total_s) ? -1 : 0;
}

int cgroup_kill(const struct cgroup *group, long long timeout_ns, struct err *err)
{
    int64_t end = clock_mono_ns() + timeout_ns;
    bool whole;

    if (group->path == NULL || cgroup_is_empty(group))
        return 0;
    whole = write_file(group->path, "cgroup.kill", "1") == 0;
    for (;;) {
        pid_t *pids;
        size_t count = cgroup_pids(group, &pids);

        /* A kernel before 5.14 has no cgroup.kill: repeat, since a process may fork while it is being killed. */
        for (size_t i = 0; !whole && i < count; i++)
            (void)kill(pids[i], SIGKILL);
        free(pids);
        if (count == 0)
            return 0;
        if (clock_mono_ns() >= end)
            return err_fail(err, "%s: %zu processes do not end though they were killed", group->path, count);
        clock_sleep_ns(2 * CLOCK_NS_PER_MS);
    }
}

/* A group is removed from its leaves upwards: rmdir refuses a folder with groups in it. */
static int remove_folders(const char *folder, int depth)
{
    DIR *below = depth < DEPTH_MOST ? opendir(folder) : NULL;
    struct dirent *entry;

    while (below != NULL && (entry = readdir(below)) != NULL)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            char *child = fsx_join(folder, entry->d_name);

            (void)remove_folders(child, depth + 1);
            free(child);
        }
    if (below != NULL)
        (void)closedir(below);
    return rmdir(folder);
}

int cgroup_remove(struct cgroup *group, struct err *err)
{
    int result = 0;

    if (group->path == NULL)
        return 0;
    result = cgroup_kill(group, 10 * CLOCK_NS_PER_S, err);
    if (result == 0 && remove_folders(group->path, 0) != 0 && errno != ENOENT)
        result = err_sys(err, "%s: cannot remove the cgroup", group->path);
    free(group->path);
    *group = (struct cgroup){0};
    return result;
}
