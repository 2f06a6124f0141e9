/*
 * place - where a party of the measurement lives: its CPUs, its cgroup, its user; how it is started, pinned and stopped
 * there. Nobody outside machine/ knows more of it than this struct. Today a place is a part of this machine.
 *
 *   struct machine machine; machine_open("auto", &machine, &err);            once a program: split, cgroups, reaper
 *   struct place place; place_open(&machine, "server", false, NULL, &place)   one a party, for the whole run
 *   place_start(&place, &spec, &child, &err) ... place_stop(&place, &child, grace, &err)       any number of times
 *   place_close(&place, &err); machine_close(&machine)
 *
 * A place that could get no cgroup works all the same; `place.reason` says why there is none. place_stop() leaves no
 * process behind that was ever started there, orphans and daemons included.
 */
#ifndef MACHINE_PLACE_H
#define MACHINE_PLACE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "machine/cgroup.h"
#include "machine/child.h"
#include "machine/cpus.h"
#include "machine/sampler.h"

struct machine {
    struct cpus allowed; /* before we pinned ourselves */
    struct cpus_split split;
    struct cgroup_base cgroups;
};

/* When the CPUs of a place are set. */
enum place_pin {
    PLACE_PIN_BEFORE_EXEC, /* the runtime sizes its pools by them */
    PLACE_PIN_AFTER_START, /* as the study did it: by place_pin(), when the server listens */
};

struct place {
    char name[32];
    const struct cpus *cpus; /* borrowed from the machine; NULL: unpinned */
    bool on_generator_cpus;
    enum place_pin pin;
    struct cgroup cgroup;
    char reason[256];       /* why there is no cgroup; "" */
    struct child_user user; /* name "" : ours */
};

/*
 * `wish` is that of cpus_split(). Becomes a subreaper, finds where cgroups can be made, removes those of dead runs,
 * and moves this process to the generator's CPUs when pinned: our own threads must not run on the server's.
 */
int machine_open(const char *wish, struct machine *machine, struct err *err);
void machine_close(struct machine *machine);
/* {"server": "0", "generator": "1", "pinned": true, "note": null, "shared_cores": ""}: the last are the server's CPUs
 * that are the SMT siblings of a generator's; null: unpinned or not known. */
json_t *machine_cpus_to_json(const struct machine *machine);

/* `user` NULL: ours. Never fails: without a cgroup it says so in `reason`. */
void place_open(const struct machine *machine, const char *name, bool on_generator_cpus, const struct child_user *user,
                struct place *place);
/* Ends what lives there, removes the cgroup. */
int place_close(struct place *place, struct err *err);

/* Starts a child there; cpus, cgroup and user of the spec are filled in, its environment is marked as ours
 * (leftover.h), the death signal is SIGKILL unless set. */
int place_start(const struct place *place, const struct child_spec *spec, struct child *child, struct err *err);
/* A command that ends by itself, as the place's user and on its CPUs, outside its cgroup. */
int place_run(const struct place *place, const struct child_spec *spec, int64_t timeout_ns, struct child_result *result,
              struct err *err);
/* Pins every thread that lives in the place now (PLACE_PIN_AFTER_START); nothing when unpinned. */
int place_pin(const struct place *place, pid_t root, struct err *err);
/* child_stop(), and no orphan is left. */
int place_stop(const struct place *place, struct child *child, int64_t grace_ns, struct err *err);

/* sampler_add() of a party that lives here; `root` 0: whoever is in the cgroup. */
size_t place_sample(const struct place *place, struct sampler *sampler, pid_t root);

#endif
