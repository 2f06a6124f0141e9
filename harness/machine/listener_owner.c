#include "machine/listener_owner.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* The sockets in question, sorted by inode for the look-up of each descriptor on the machine. */
struct wanted {
    struct listener_socket **sockets;
    size_t count;
};

static int by_inode(const void *a, const void *b)
{
    const struct listener_socket *const *left = a;
    const struct listener_socket *const *right = b;

    return ((*left)->inode > (*right)->inode) - ((*left)->inode < (*right)->inode);
}

static void add_owner(struct listener_socket *socket, pid_t pid)
{
    /* A process may hold a socket under several numbers; they are met one after the other. */
    if (socket->owner_count > 0 && socket->owners[socket->owner_count - 1] == pid)
        return;
    socket->owners = text_realloc(socket->owners, socket->owner_count + 1, sizeof *socket->owners);
    socket->owners[socket->owner_count++] = pid;
}

static void look_into(const char *proc, pid_t pid, const struct wanted *wanted)
{
    char path[512];
    DIR *folder;
    struct dirent *entry;

    (void)snprintf(path, sizeof path, "%s/%d/fd", proc, (int)pid);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char link[64];
        ssize_t n = readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);
        struct listener_socket key = {0};
        struct listener_socket *pointer = &key;
        struct listener_socket **found;

        if (n <= 0)
            continue;
        link[n] = '\0';
        if (strncmp(link, "socket:[", 8) != 0)
            continue;
        key.inode = strtoull(link + 8, NULL, 10);
        found = bsearch(&pointer, wanted->sockets, wanted->count, sizeof(struct listener_socket *), by_inode);
        if (found != NULL)
            add_owner(*found, pid);
    }
    if (folder != NULL)
        (void)closedir(folder);
}

void listener_owner_find(const char *proc, struct listener *listener)
{
    struct wanted wanted = {0};
    DIR *folder;
    struct dirent *entry;

    if (listener->count + listener->connection_count == 0)
        return;
    wanted.sockets = text_alloc((listener->count + listener->connection_count) * sizeof(struct listener_socket *));
    for (size_t i = 0; i < listener->count; i++)
        wanted.sockets[wanted.count++] = &listener->sockets[i];
    for (size_t i = 0; i < listener->connection_count; i++)
        if (listener->connections[i].inode != 0)
            wanted.sockets[wanted.count++] = &listener->connections[i];
    qsort(wanted.sockets, wanted.count, sizeof(struct listener_socket *), by_inode);
    folder = opendir(proc);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        int64_t pid;

        if (text_parse_i64(entry->d_name, &pid) == 0 && pid > 0)
            look_into(proc, (pid_t)pid, &wanted);
    }
    if (folder != NULL)
        (void)closedir(folder);
    free(wanted.sockets);
}
