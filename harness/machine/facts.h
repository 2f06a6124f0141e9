/*
 * facts - what this machine is: written into machine.json, compared when a run is resumed or two runs are compared.
 *
 * `id` is a hash of what does not change while a machine stays the same one (its machine-id, CPU model, number of CPUs,
 * memory in GiB): it names the machine without telling its serial number. Unknown is "" in strings, NAN in numbers, -1
 * in switches.
 */
#ifndef MACHINE_FACTS_H
#define MACHINE_FACTS_H

#include <jansson.h>

#include "machine/cpus.h"

struct facts {
    char id[17];
    char cpu_model[128];
    int cpus; /* online */
    char *cpus_allowed;
    char kernel[128];
    double memory_mib;
    char governor[64];
    char virtualization[32]; /* "none", "kvm", "vmware", ..., "unknown hypervisor" */
    int smt;                 /* 1: several threads share a core */
    int turbo;
    char hugepages[64]; /* of transparent huge pages: "always", "madvise", "never" */
    char cgroup[8];     /* "v2" or "none": whether sides have groups */
    char cgroup_reason[256];
};

/* `proc` and `sys` are the roots; `allowed` the CPUs of this run; `cgroup_reason` NULL: there are groups. */
void facts_read(const char *proc, const char *sys, const struct cpus *allowed, const char *cgroup_reason,
                struct facts *facts);
void facts_free(struct facts *facts);
/* The object "machine" of machine.json. */
json_t *facts_to_json(const struct facts *facts);

#endif
