#include "machine/listener.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "machine/procfs.h"

#define COMMAND_MOST 100

static bool is_one_of(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* The first owner that is none of `pids`; 0: none. */
static pid_t foreign_owner(const struct listener_socket *socket, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < socket->owner_count; i++)
        if (!is_one_of(socket->owners[i], pids, count))
            return socket->owners[i];
    return 0;
}

static void name_socket(const char *proc, const struct listener_socket *socket, pid_t owner, int port,
                        struct text *text)
{
    if (owner > 0) {
        text_addf(text, "process %d (", (int)owner);
        procfs_add_command(proc, owner, COMMAND_MOST, text);
        text_add(text, ")");
    } else {
        text_add(text, "a process that cannot be looked into");
    }
    text_addf(text, socket->ipv6 ? " on [%s]:%d" : " on %s:%d", socket->address, port);
}

void listener_judge(const char *proc, const struct listener *listener, const pid_t *pids, size_t pid_count,
                    struct listener_verdict *verdict)
{
    *verdict = (struct listener_verdict){0};
    for (size_t i = 0; i < listener->count; i++) {
        const struct listener_socket *socket = &listener->sockets[i];
        pid_t foreign = foreign_owner(socket, pids, pid_count);

        if (!socket->reaches)
            continue;
        verdict->found = true;
        if (foreign == 0 && socket->owner_count > 0) {
            verdict->wildcard = verdict->wildcard || socket->wildcard;
            continue;
        }
        verdict->foreign_sockets++;
        if (verdict->foreign[0] == '\0') {
            struct text text = {0};

            name_socket(proc, socket, foreign, listener->port, &text);
            (void)snprintf(verdict->foreign, sizeof verdict->foreign, "%s", text_string(&text));
            text_free(&text);
        }
    }
    for (size_t i = 0; i < listener->connection_count; i++) {
        const struct listener_socket *connection = &listener->connections[i];

        if (connection->owner_count == 0)
            verdict->unowned_connections++;
        else if (foreign_owner(connection, pids, pid_count) != 0)
            verdict->foreign_connections++;
    }
    verdict->ours = verdict->found && verdict->foreign_sockets == 0;
}

json_t *listener_verdict_to_json(const struct listener_verdict *verdict)
{
    json_t *object = json_object();
    json_t *foreign = json_array();

    if (verdict->foreign[0] != '\0')
        (void)json_array_append_new(foreign, json_string(verdict->foreign));
    json_put(object, "ours", json_boolean(verdict->ours));
    json_put(object, "foreign", foreign);
    json_put(object, "wildcard", json_boolean(verdict->wildcard));
    json_put(object, "foreign_sockets", json_integer((json_int_t)verdict->foreign_sockets));
    json_put(object, "foreign_connections", json_integer((json_int_t)verdict->foreign_connections));
    json_put(object, "unowned_connections", json_integer((json_int_t)verdict->unowned_connections));
    return object;
}

int listener_port_free(const char *proc, int port, struct err *err)
{
    struct listener listener;
    struct listener_verdict verdict;

    if (listener_find(proc, port, &listener, err) != 0)
        return -1;
    listener_judge(proc, &listener, NULL, 0, &verdict);
    listener_free(&listener);
    if (!verdict.found)
        return 0;
    return err_set(err, "port %d is taken by %s; stop it or choose another port", port, verdict.foreign);
}
