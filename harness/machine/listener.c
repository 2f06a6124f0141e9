#include "machine/listener.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "machine/listener_owner.h"

#define ESTABLISHED 1
#define LISTEN 10
#define TABLE_MOST ((size_t)256 << 20)

/* Hexadecimal of the kernel: words of 32 bits, each in the byte order of this machine. */
static int parse_address(const char *hex, int words, unsigned char *address)
{
    for (int i = 0; i < words; i++) {
        char word[9] = {0};
        char *end;
        uint32_t value;

        memcpy(word, hex + (ptrdiff_t)i * 8, 8);
        value = (uint32_t)strtoul(word, &end, 16);
        if (end != word + 8)
            return -1;
        memcpy(address + (ptrdiff_t)i * 4, &value, 4);
    }
    return 0;
}

int listener_parse_line(const char *line, bool ipv6, struct listener_line *parsed)
{
    char local[40];
    char peer[40];
    unsigned local_port;
    unsigned peer_port;
    unsigned state;
    unsigned long long inode;
    size_t digits = ipv6 ? 32 : 8;

    *parsed = (struct listener_line){0};
    if (sscanf(line, " %*u: %39[0-9A-Fa-f]:%x %39[0-9A-Fa-f]:%x %x %*s %*s %*s %*u %*u %llu", local, &local_port, peer,
               &peer_port, &state, &inode) != 6 ||
        strlen(local) != digits || local_port > 65535 || peer_port > 65535)
        return -1;
    parsed->port = (int)local_port;
    parsed->peer_port = (int)peer_port;
    parsed->state = (int)state;
    parsed->inode = inode;
    return parse_address(local, ipv6 ? 4 : 1, parsed->address);
}

static struct listener_socket describe(const struct listener_line *line, bool ipv6)
{
    static const unsigned char zero[16];
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct listener_socket socket = {.ipv6 = ipv6, .inode = line->inode};
    const unsigned char *v4 = line->address;

    (void)inet_ntop(ipv6 ? AF_INET6 : AF_INET, line->address, socket.address, sizeof socket.address);
    if (ipv6 && memcmp(line->address, mapped, sizeof mapped) == 0)
        v4 = line->address + 12;
    else if (ipv6)
        v4 = NULL;
    socket.wildcard = v4 != NULL ? memcmp(v4, zero, 4) == 0 : memcmp(line->address, zero, 16) == 0;
    /* Whether [::] takes IPv4 too is not in the table; it does unless the server asked otherwise (listener_diag). */
    socket.reaches = socket.wildcard || (v4 != NULL && v4[0] == 127 && v4[1] == 0 && v4[2] == 0 && v4[3] == 1);
    return socket;
}

static void add(struct listener_socket **sockets, size_t *count, struct listener_socket socket)
{
    *sockets = text_realloc(*sockets, *count + 1, sizeof **sockets);
    (*sockets)[(*count)++] = socket;
}

static int read_table(const char *proc, const char *name, bool ipv6, struct listener *listener)
{
    char path[512];
    char port[16];
    char *table;
    size_t len;
    struct err err = {0};

    (void)snprintf(path, sizeof path, "%s/net/%s", proc, name);
    if (fsx_read(path, TABLE_MOST, &table, &len, &err) != 0)
        return -1;
    (void)snprintf(port, sizeof port, ":%04X ", (unsigned)listener->port);
    for (char *line = table, *next; line != NULL && *line != '\0'; line = next) {
        struct listener_line parsed;

        /* One line at a time: sscanf looks for the end of all that it is given. */
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (strstr(line, port) == NULL || listener_parse_line(line, ipv6, &parsed) != 0 ||
            parsed.port != listener->port)
            continue;
        if (parsed.state == LISTEN)
            add(&listener->sockets, &listener->count, describe(&parsed, ipv6));
        else if (parsed.state == ESTABLISHED)
            add(&listener->connections, &listener->connection_count, describe(&parsed, ipv6));
    }
    free(table);
    return 0;
}

int listener_find(const char *proc, int port, struct listener *listener, struct err *err)
{
    int tables;

    *listener = (struct listener){.port = port};
    tables = read_table(proc, "tcp", false, listener) == 0;
    tables += read_table(proc, "tcp6", true, listener) == 0;
    if (tables == 0)
        return err_set(err, "%s/net/tcp and tcp6 cannot be read: nobody can tell who listens on port %d", proc, port);
    if (strcmp(proc, "/proc") == 0)
        listener_diag_v6_only(listener);
    listener_owner_find(proc, listener);
    return 0;
}

void listener_free(struct listener *listener)
{
    for (size_t i = 0; i < listener->count; i++)
        free(listener->sockets[i].owners);
    for (size_t i = 0; i < listener->connection_count; i++)
        free(listener->connections[i].owners);
    free(listener->sockets);
    free(listener->connections);
    *listener = (struct listener){0};
}
