/*
 * sampler - what each side of a measurement cost the machine in a window, and what it holds afterwards.
 *
 * A side is a party of the measurement (server, database, generator): a cgroup, a root process, or both.
 *   1. sampler_init(), sampler_add() for each side
 *   2. sampler_begin() at the window's begin, sampler_end() at its end; may be repeated
 *   3. sampler_memory(), sampler_affinity(), sampler_pids(): after the load has ended, before the server is stopped
 *   4. sampler_free()
 * Between begin and end nothing is read that holds a lock of a process (no smaps). CPU time comes from the side's
 * cgroup (every process that ever was in it, microseconds); /proc is the second source, and the only one without a
 * cgroup or where nobody is in it, because somebody else started the party. The kernel splits time into user and kernel
 * by estimate in both. Unknown is NAN, and null in JSON.
 *
 * What the CPUs worked themselves (/proc/stat) is compared with what the sides are charged for: the rest is the
 * kernel's own work (softirq of the network) and that of strangers.
 */
#ifndef MACHINE_SAMPLER_H
#define MACHINE_SAMPLER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/account.h"
#include "machine/cgroup.h"
#include "machine/cpus.h"
#include "machine/cpustat.h"
#include "machine/vitals.h"

#define SAMPLER_SIDES 4

struct sampler_side {
    char name[32];          /* key in the details: "server", "postgres", "generator" */
    struct cgroup cgroup;   /* borrowed path; NULL: none */
    pid_t root;             /* 0: none */
    bool on_generator_cpus; /* else on the CPUs that server and database share */
};

struct sampler_reading {
    struct cgroup_cpu groups[SAMPLER_SIDES];
    size_t group_members[SAMPLER_SIDES]; /* processes in it */
    struct account_reading accounts[SAMPLER_SIDES];
    struct cpustat cpustat;
    struct vitals vitals;
};

struct sampler {
    const char *proc; /* "/proc"; tests give another root */
    const char *sys;
    struct cpus_split split; /* copies */
    struct sampler_side sides[SAMPLER_SIDES];
    size_t count;
    struct sampler_reading before;
    bool begun;
};

struct side_usage {
    char name[32];
    const char *source; /* "cgroup", "proc"; NULL: nothing is known */
    double user_s;
    double kernel_s;
    double total_s;
    double other_total_s; /* of the other source */
    double difference_s;  /* total_s - other_total_s */
    double resolution_s;
    double involuntary; /* context switches */
    size_t processes;   /* at the end */
    bool adds_up;       /* false: time may be missing from total_s, `note` says why */
    char note[200];
};

struct cpu_usage {
    int cpu;
    const char *side; /* "server", "generator", "both" (unpinned) */
    struct cpustat_use use;
};

struct machine_usage {
    double window_s;
    struct side_usage sides[SAMPLER_SIDES];
    size_t side_count;
    struct cpu_usage *cpus; /* of both sides; machine_usage_free() */
    size_t cpu_count;
    double shared_busy_pct;    /* how busy the server's and database's CPUs were, whoever used them */
    double generator_busy_pct; /* how busy the generator kept its CPUs: its own time */
    double unattributed_s;     /* worked by the shared CPUs, as far as ticks saw it, and charged to no side on them */
    double unattributed_generator_s;
    struct disturbance disturbance; /* the probes are NAN: the conductor's */
    bool cpus_changed;              /* a CPU of ours came or went in the window */
};

void sampler_init(struct sampler *sampler, const struct cpus_split *split);
void sampler_free(struct sampler *sampler);
/* Returns the side's index. `cgroup` may be NULL and must live as long as the sampler; at most SAMPLER_SIDES sides. */
size_t sampler_add(struct sampler *sampler, const char *name, const struct cgroup *cgroup, pid_t root,
                   bool on_generator_cpus);
void sampler_begin(struct sampler *sampler);
void sampler_end(struct sampler *sampler, struct machine_usage *usage);
void machine_usage_free(struct machine_usage *usage);
/* The side of that name, NULL: none. */
const struct side_usage *machine_usage_side(const struct machine_usage *usage, const char *name);
/* The object "cpu" of the details. */
json_t *machine_usage_to_json(const struct machine_usage *usage);

/* Processes of a side now, zombies left out; the array is the caller's. */
size_t sampler_pids(const struct sampler *sampler, size_t side, pid_t **pids);

/* Sums over a side's processes, MiB. */
struct machine_memory {
    double working_set_mib; /* RSS, and hugetlb pages, which are not in it */
    double private_mib; /* sizes of accountable mappings (`ac`): committed, used or not; hugetlb mappings have none */
    double pss_mib;     /* shared pages divided among those who map them */
    double peak_mib;    /* sum of each process's highest RSS: at least the side's true peak */
    double hugetlb_mib;
    size_t processes;
};
/* Reads smaps: outside windows. */
void sampler_memory(const struct sampler *sampler, size_t side, struct machine_memory *memory);
json_t *machine_memory_to_json(const struct machine_memory *memory);

/* Whether every thread of a side may run only on the side's CPUs. */
struct machine_affinity {
    size_t threads;
    size_t wrong;
    char text[200]; /* the first one that is wrong: "thread 12 of process 11 (x) may run on 0-1, should on 0"; "" */
};
void sampler_affinity(const struct sampler *sampler, size_t side, struct machine_affinity *affinity);
json_t *machine_affinity_to_json(const struct machine_affinity *affinity);

#endif
