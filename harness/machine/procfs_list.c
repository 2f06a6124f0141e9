#include "machine/procfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int procfs_list_read(const char *proc, struct procfs_list *list)
{
    DIR *folder = opendir(proc);
    struct dirent *entry;
    size_t room = 0;

    *list = (struct procfs_list){0};
    if (folder == NULL)
        return -1;
    while ((entry = readdir(folder)) != NULL) {
        int64_t pid;

        if (text_parse_i64(entry->d_name, &pid) != 0 || pid <= 0)
            continue;
        if (list->count == room) {
            room = room > 0 ? 2 * room : 64;
            list->items = text_realloc(list->items, room, sizeof *list->items);
        }
        if (procfs_read_stat(proc, (pid_t)pid, &list->items[list->count]) == 0)
            list->count++;
    }
    (void)closedir(folder);
    return 0;
}

void procfs_list_free(struct procfs_list *list)
{
    free(list->items);
    *list = (struct procfs_list){0};
}

const struct procfs_stat *procfs_list_find(const struct procfs_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].pid == pid)
            return &list->items[i];
    return NULL;
}

static bool is_member(pid_t pid, const pid_t *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (members[i] == pid)
            return true;
    return false;
}

void procfs_list_keep_tree(struct procfs_list *list, pid_t root, const pid_t *members, size_t member_count)
{
    bool *kept = text_alloc(list->count * sizeof *kept + 1);
    bool grew = true;
    size_t left = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct procfs_stat *item = &list->items[i];

        kept[i] = (root > 0 && (item->pid == root || item->session == root || item->group == root)) ||
                  is_member(item->pid, members, member_count);
    }
    while (grew) {
        grew = false;
        for (size_t i = 0; i < list->count; i++)
            for (size_t p = 0; !kept[i] && p < list->count; p++)
                if (kept[p] && list->items[p].pid == list->items[i].parent)
                    kept[i] = grew = true;
    }
    for (size_t i = 0; i < list->count; i++)
        if (kept[i])
            list->items[left++] = list->items[i];
    list->count = left;
    free(kept);
}

int procfs_threads(const char *proc, pid_t pid, int (*act)(const char *folder, pid_t thread, void *argument),
                   void *argument)
{
    char path[512];
    DIR *folder;
    struct dirent *entry;
    int result = 0;

    (void)snprintf(path, sizeof path, "%s/%d/task", proc, (int)pid);
    folder = opendir(path);
    while (folder != NULL && result == 0 && (entry = readdir(folder)) != NULL) {
        int64_t thread;

        if (text_parse_i64(entry->d_name, &thread) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%d/task/%d", proc, (int)pid, (int)thread);
        result = act(path, (pid_t)thread, argument);
    }
    if (folder != NULL)
        (void)closedir(folder);
    return result;
}
