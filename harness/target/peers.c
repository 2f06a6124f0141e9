#include "target/peers.h"

#include <stdlib.h>

#include "base/text.h"
#include "machine/listener.h"
#include "machine/outgoing.h"
#include "machine/procfs.h"
#include "target/server.h"

static bool is_among(pid_t pid, const pid_t *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* Who listens on `port` and is none of the server's; 0: nobody, -1: nobody on this machine. */
static pid_t find_stranger(int port, const pid_t *pids, size_t count)
{
    struct listener listener;
    struct err ignored = {0};
    pid_t stranger = -1;

    if (listener_find("/proc", port, &listener, &ignored) != 0)
        return 0;
    for (size_t i = 0; i < listener.count; i++) {
        for (size_t k = 0; k < listener.sockets[i].owner_count && stranger <= 0; k++) {
            pid_t owner = listener.sockets[i].owners[k];

            stranger = is_among(owner, pids, count) ? 0 : owner;
        }
    }
    listener_free(&listener);
    return stranger;
}

static int tell(pid_t stranger, int port, struct err *err)
{
    struct text command = {0};

    if (stranger < 0)
        return err_fail(err, "it is connected to port %d, where none of its processes listens", port);
    procfs_add_command("/proc", stranger, 120, &command);
    (void)err_fail(err, "it is connected to port %d of process %d (%s), which is not part of it", port, (int)stranger,
                   text_string(&command));
    text_free(&command);
    return -1;
}

int peers_check(const struct server *server, int database_port, struct err *err)
{
    struct outgoing outgoing;
    struct err ignored = {0};
    pid_t *pids;
    size_t count = server_pids(server, &pids);
    int result = 0;

    if (count > 0 && outgoing_find("/proc", pids, count, server->port, &outgoing, &ignored) == 0) {
        for (size_t i = 0; i < outgoing.count && result == 0; i++) {
            pid_t stranger;

            if (outgoing.ports[i] == database_port)
                continue;
            stranger = find_stranger(outgoing.ports[i], pids, count);
            if (stranger != 0)
                result = tell(stranger, outgoing.ports[i], err);
        }
        outgoing_free(&outgoing);
    }
    free(pids);
    return result;
}
