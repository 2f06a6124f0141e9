#include "machine/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/text.h"
#include "machine/leftover.h"

#define FILE_MOST (4 << 20)

/* mountinfo writes blanks of a path as \040 and the like. */
static char *unescape(const char *from, size_t len)
{
    struct text text = {0};

    for (size_t i = 0; i < len; i++) {
        if (from[i] == '\\' && i + 3 < len && from[i + 1] >= '0' && from[i + 1] <= '3') {
            text_add_char(&text, (char)((from[i + 1] - '0') << 6 | (from[i + 2] - '0') << 3 | (from[i + 3] - '0')));
            i += 3;
        } else {
            text_add_char(&text, from[i]);
        }
    }
    return text_take(&text);
}

/* Field `number` (from 0) of a line of blank-separated fields, the caller's; NULL when there are fewer. */
static char *field(const char *line, size_t len, int number)
{
    const char *at = line;
    const char *end = line + len;

    for (; number > 0 && at < end; at++)
        if (*at == ' ')
            number--;
    if (at >= end)
        return NULL;
    len = (size_t)(end - at);
    for (size_t i = 0; i < len; i++)
        if (at[i] == ' ')
            len = i;
    return unescape(at, len);
}

static char *own_path(const char *self_cgroup)
{
    for (const char *line = self_cgroup; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        size_t len = end != NULL ? (size_t)(end - line) : strlen(line);

        if (len > 3 && strncmp(line, "0::", 3) == 0)
            return text_dup_n(line + 3, len - 3);
        line = end != NULL ? end + 1 : NULL;
    }
    return NULL;
}

char *cgroup_parse_base(const char *mountinfo, const char *self_cgroup)
{
    char *own = own_path(self_cgroup);
    char *base = NULL;

    for (const char *line = mountinfo; own != NULL && base == NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");
        const char *type = memmem(line, len, " - cgroup2 ", 11);

        if (type != NULL) {
            char *root = field(line, len, 3);
            char *point = field(line, len, 4);
            const char *below = own;

            /* A container sees a part of the hierarchy: the mount's root is then a prefix of our path. */
            if (root != NULL && strcmp(root, "/") != 0 && strncmp(own, root, strlen(root)) == 0)
                below = own + strlen(root);
            if (point != NULL)
                base = text_format("%s%s", point, strcmp(below, "/") == 0 ? "" : below);
            free(root);
            free(point);
        }
        line += len + (line[len] == '\n');
    }
    free(own);
    return base;
}

static void remove_stale(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        int pid;
        unsigned long long start;
        struct cgroup group = {0};
        struct err ignored = {0};

        if (entry->d_type != DT_DIR || sscanf(entry->d_name, "restbench-%d-%llu-", &pid, &start) != 2 ||
            leftover_lives(pid, start))
            continue;
        group.path = fsx_join(path, entry->d_name);
        (void)cgroup_remove(&group, &ignored);
    }
    if (folder != NULL)
        (void)closedir(folder);
}

void cgroup_find(struct cgroup_base *base)
{
    char *mountinfo = NULL;
    char *own = NULL;
    size_t len;
    struct err err = {0};
    struct cgroup trial = {0};

    *base = (struct cgroup_base){0};
    if (fsx_read("/proc/self/mountinfo", FILE_MOST, &mountinfo, &len, &err) == 0 &&
        fsx_read("/proc/self/cgroup", FILE_MOST, &own, &len, &err) == 0)
        base->path = cgroup_parse_base(mountinfo, own);
    free(mountinfo);
    free(own);
    if (base->path == NULL) {
        (void)snprintf(base->reason, sizeof base->reason, "%s",
                       err.text[0] != '\0' ? err.text : "no cgroup v2 hierarchy is mounted");
        return;
    }
    remove_stale(base->path);
    /* Only an attempt shows whether groups can be made and entered here (rights, a read-only mount, a limit). */
    if (cgroup_make(base, "trial", &trial, &err) == 0) {
        struct cgroup_cpu cpu;
        int procs = cgroup_open_procs(&trial);
        char *entry = fsx_join(base->path, "cgroup.procs");

        if (procs < 0)
            (void)err_sys(&err, "%s/cgroup.procs", trial.path);
        else if (access(entry, W_OK) != 0)
            (void)err_sys(&err, "%s: processes cannot be moved out of it", entry);
        else if (cgroup_cpu(&trial, &cpu) != 0)
            (void)err_set(&err, "%s/cpu.stat tells no CPU time", trial.path);
        if (procs >= 0)
            (void)close(procs);
        free(entry);
        (void)cgroup_remove(&trial, &err);
    }
    if (err.text[0] != '\0') {
        (void)snprintf(base->reason, sizeof base->reason, "%.250s", err.text);
        free(base->path);
        base->path = NULL;
    }
}

void cgroup_base_free(struct cgroup_base *base)
{
    free(base->path);
    *base = (struct cgroup_base){0};
}
