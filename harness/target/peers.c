#include "target/peers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/listener.h"
#include "machine/outgoing.h"
#include "machine/procfs.h"
#include "target/database.h"
#include "target/pq.h"
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

static int database_port(const struct database *database)
{
    struct pq_address address;
    struct err ignored = {0};
    uint64_t port = 5432;

    if (database == NULL || database->url == NULL || pq_address_parse(database->url, &address, &ignored) != 0)
        return 0;
    if (address.port != NULL)
        (void)text_parse_u64(address.port, &port);
    pq_address_free(&address);
    return (int)port;
}

static void look(struct peers *peers)
{
    const struct server *server = peers->server;
    int database = database_port(peers->database);
    struct outgoing outgoing;
    struct err ignored = {0};
    pid_t *pids;
    size_t count = server_pids(server, &pids);

    if (count > 0 && outgoing_find("/proc", pids, count, server->port, &outgoing, &ignored) == 0) {
        for (size_t i = 0; i < outgoing.count && peers->found.kind == ERR_NONE; i++) {
            pid_t stranger = outgoing.ports[i] == database ? 0 : find_stranger(outgoing.ports[i], pids, count);

            if (stranger != 0)
                (void)tell(stranger, outgoing.ports[i], &peers->found);
        }
        outgoing_free(&outgoing);
    }
    free(pids);
    peers->looked_ns = clock_mono_ns();
}

void peers_look(struct peers *peers)
{
    static const int64_t pause_ns = 200 * CLOCK_NS_PER_MS;

    if (peers->found.kind == ERR_NONE && clock_mono_ns() - peers->looked_ns >= pause_ns)
        look(peers);
}

int peers_check(struct peers *peers, struct err *err)
{
    if (peers->found.kind == ERR_NONE)
        look(peers);
    return peers->found.kind == ERR_NONE ? 0 : err_fail(err, "%s", peers->found.text);
}
