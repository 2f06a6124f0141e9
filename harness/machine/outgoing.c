#include "machine/outgoing.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"
#include "machine/listener.h"

#define ESTABLISHED 1
#define TABLE_MOST ((size_t)256 << 20)

struct inodes {
    uint64_t *items;
    size_t count;
};

static int by_number(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static void add_inodes(const char *proc, pid_t pid, struct inodes *inodes)
{
    char path[512];
    DIR *folder;
    struct dirent *entry;

    (void)snprintf(path, sizeof path, "%s/%d/fd", proc, (int)pid);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char link[64];
        ssize_t n = readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);

        if (n <= 0)
            continue;
        link[n] = '\0';
        if (strncmp(link, "socket:[", 8) != 0)
            continue;
        inodes->items = text_realloc(inodes->items, inodes->count + 1, sizeof *inodes->items);
        inodes->items[inodes->count++] = strtoull(link + 8, NULL, 10);
    }
    if (folder != NULL)
        (void)closedir(folder);
}

static void add_port(struct outgoing *outgoing, int port)
{
    size_t at = 0;

    while (at < outgoing->count && outgoing->ports[at] < port)
        at++;
    if (at < outgoing->count && outgoing->ports[at] == port)
        return;
    outgoing->ports = text_realloc(outgoing->ports, outgoing->count + 1, sizeof *outgoing->ports);
    memmove(outgoing->ports + at + 1, outgoing->ports + at, (outgoing->count - at) * sizeof *outgoing->ports);
    outgoing->ports[at] = port;
    outgoing->count++;
}

static int read_table(const char *proc, const char *name, bool ipv6, const struct inodes *inodes, int served_port,
                      struct outgoing *outgoing)
{
    char path[512];
    char *table;
    size_t len;
    struct err ignored = {0};

    (void)snprintf(path, sizeof path, "%s/net/%s", proc, name);
    if (fsx_read(path, TABLE_MOST, &table, &len, &ignored) != 0)
        return -1;
    for (char *line = table, *next; line != NULL && *line != '\0'; line = next) {
        struct listener_line parsed;

        /* One line at a time: sscanf looks for the end of all that it is given. */
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (listener_parse_line(line, ipv6, &parsed) == 0 && parsed.state == ESTABLISHED &&
            parsed.port != served_port &&
            bsearch(&parsed.inode, inodes->items, inodes->count, sizeof *inodes->items, by_number) != NULL)
            add_port(outgoing, parsed.peer_port);
    }
    free(table);
    return 0;
}

int outgoing_find(const char *proc, const pid_t *pids, size_t pid_count, int served_port, struct outgoing *outgoing,
                  struct err *err)
{
    struct inodes inodes = {0};
    int tables = 0;

    *outgoing = (struct outgoing){0};
    for (size_t i = 0; i < pid_count; i++)
        add_inodes(proc, pids[i], &inodes);
    if (inodes.count == 0)
        return 0;
    qsort(inodes.items, inodes.count, sizeof *inodes.items, by_number);
    tables = read_table(proc, "tcp", false, &inodes, served_port, outgoing) == 0;
    tables += read_table(proc, "tcp6", true, &inodes, served_port, outgoing) == 0;
    free(inodes.items);
    return tables > 0 ? 0 : err_set(err, "%s/net/tcp and tcp6 cannot be read: whom a server talks to is unknown", proc);
}

void outgoing_free(struct outgoing *outgoing)
{
    free(outgoing->ports);
    *outgoing = (struct outgoing){0};
}
