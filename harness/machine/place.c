#include "machine/place.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "machine/leftover.h"
#include "machine/procfs.h"
#include "machine/reaper.h"

/* How long orphans that were killed may take to go. */
#define ORPHANS_NS (5 * CLOCK_NS_PER_S)
/* New threads are made by threads that are not pinned yet: repeated until a pass finds none. */
#define PIN_PASSES 20

int machine_open(const char *wish, struct machine *machine, struct err *err)
{
    *machine = (struct machine){0};
    if (cpus_allowed(&machine->allowed, err) != 0 || cpus_split(&machine->allowed, wish, &machine->split, err) != 0 ||
        reaper_start(err) != 0 || (machine->split.pinned && cpus_apply(&machine->split.generator, err) != 0)) {
        machine_close(machine);
        return -1;
    }
    if (leftover_end(ORPHANS_NS) > 0)
        log_error("processes of a run that was killed do not end though they were killed");
    cgroup_find(&machine->cgroups);
    return 0;
}

void machine_close(struct machine *machine)
{
    struct err ignored = {0};

    if (machine->split.pinned)
        (void)cpus_apply(&machine->allowed, &ignored);
    cpus_free(&machine->allowed);
    cpus_split_free(&machine->split);
    cgroup_base_free(&machine->cgroups);
}

json_t *machine_cpus_to_json(const struct machine *machine)
{
    json_t *object = json_object();
    char *server = cpus_format(&machine->split.server);
    char *generator = cpus_format(&machine->split.generator);
    struct cpus shared = {0};
    bool known =
        machine->split.pinned && cpus_shared_cores("/sys", &machine->split.server, &machine->split.generator, &shared);
    char *shared_list = cpus_format(&shared);

    json_put(object, "server", json_string(server));
    json_put(object, "generator", json_string(generator));
    json_put(object, "pinned", json_boolean(machine->split.pinned));
    json_put(object, "note", machine->split.note[0] != '\0' ? json_string(machine->split.note) : json_null());
    json_put(object, "shared_cores", known ? json_string(shared_list) : json_null());
    cpus_free(&shared);
    free(shared_list);
    free(server);
    free(generator);
    return object;
}

void place_open(const struct machine *machine, const char *name, bool on_generator_cpus, const struct child_user *user,
                struct place *place)
{
    struct err err = {0};

    *place = (struct place){.on_generator_cpus = on_generator_cpus};
    (void)snprintf(place->name, sizeof place->name, "%s", name);
    if (machine->split.pinned)
        place->cpus = on_generator_cpus ? &machine->split.generator : &machine->split.server;
    if (user != NULL)
        place->user = *user;
    if (cgroup_make(&machine->cgroups, name, &place->cgroup, &err) != 0)
        (void)snprintf(place->reason, sizeof place->reason, "%.255s", err.text);
}

int place_close(struct place *place, struct err *err)
{
    int result = cgroup_remove(&place->cgroup, err);

    *place = (struct place){0};
    return result;
}

static struct child_spec fill(const struct place *place, const struct child_spec *spec)
{
    struct child_spec filled = *spec;

    if (place->pin == PLACE_PIN_BEFORE_EXEC)
        filled.cpus = place->cpus;
    if (place->user.name[0] != '\0')
        filled.user = &place->user;
    if (filled.death_signal == 0)
        filled.death_signal = SIGKILL;
    return filled;
}

int place_start(const struct place *place, const struct child_spec *spec, struct child *child, struct err *err)
{
    struct child_spec filled = fill(place, spec);
    struct env env = {0};
    int result;

    if (spec->env != NULL)
        env_copy(spec->env, &env);
    leftover_mark(&env);
    filled.env = &env;
    filled.cgroup = &place->cgroup;
    result = child_start(&filled, child, err);
    env_free(&env);
    return result;
}

int place_run(const struct place *place, const struct child_spec *spec, int64_t timeout_ns, struct child_result *result,
              struct err *err)
{
    struct child_spec filled = fill(place, spec);

    return child_run(&filled, timeout_ns, result, err);
}

struct pinning {
    const struct cpus *cpus;
    size_t moved;
    int error;
};

static int pin_thread(const char *folder, pid_t thread, void *argument)
{
    struct pinning *pinning = argument;
    struct cpus now = {0};

    (void)folder;
    cpus_copy(pinning->cpus, &now);
    memset(now.mask, 0, now.bytes);
    if (syscall(SYS_sched_getaffinity, thread, now.bytes, now.mask) > 0 && cpus_equal(&now, pinning->cpus)) {
        cpus_free(&now);
        return 0;
    }
    cpus_free(&now);
    if (syscall(SYS_sched_setaffinity, thread, pinning->cpus->bytes, pinning->cpus->mask) == 0)
        pinning->moved++;
    else if (errno != ESRCH)
        pinning->error = errno;
    return 0;
}

int place_pin(const struct place *place, pid_t root, struct err *err)
{
    struct pinning pinning = {.cpus = place->cpus, .moved = 1};

    for (int pass = 0; place->cpus != NULL && pass < PIN_PASSES && pinning.moved > 0 && pinning.error == 0; pass++) {
        struct procfs_list list;
        pid_t *members;
        size_t count = cgroup_pids(&place->cgroup, &members);

        pinning.moved = 0;
        (void)procfs_list_read("/proc", &list);
        procfs_list_keep_tree(&list, root, members, count);
        free(members);
        for (size_t i = 0; i < list.count; i++)
            (void)procfs_threads("/proc", list.items[i].pid, pin_thread, &pinning);
        procfs_list_free(&list);
    }
    errno = pinning.error;
    return pinning.error == 0 ? 0 : err_sys(err, "%s: cannot pin a thread to its CPUs", place->name);
}

int place_stop(const struct place *place, struct child *child, int64_t grace_ns, struct err *err)
{
    int result = child_stop(child, grace_ns, err);
    int left = 0;

    /* Without a group, who forked out of the session is found as an orphan of ours. */
    if (place->cgroup.path == NULL && (left = reaper_kill_orphans(ORPHANS_NS)) > 0 && result == 0)
        result = err_fail(err, "%s: %d orphaned processes do not end though they were killed", place->name, left);
    (void)reaper_collect();
    return result;
}

size_t place_sample(const struct place *place, struct sampler *sampler, pid_t root)
{
    return sampler_add(sampler, place->name, &place->cgroup, root, place->on_generator_cpus);
}
