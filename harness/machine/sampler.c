#include "machine/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "machine/procfs.h"

void sampler_init(struct sampler *sampler, const struct cpus_split *split)
{
    *sampler = (struct sampler){.proc = "/proc", .sys = "/sys"};
    sampler->split = (struct cpus_split){.pinned = split->pinned};
    cpus_copy(&split->server, &sampler->split.server);
    cpus_copy(&split->generator, &sampler->split.generator);
}

static void free_reading(struct sampler_reading *reading)
{
    for (size_t i = 0; i < SAMPLER_SIDES; i++)
        account_free(&reading->accounts[i]);
    cpustat_free(&reading->cpustat);
}

void sampler_free(struct sampler *sampler)
{
    free_reading(&sampler->before);
    cpus_split_free(&sampler->split);
    *sampler = (struct sampler){0};
}

size_t sampler_add(struct sampler *sampler, const char *name, const struct cgroup *cgroup, pid_t root,
                   bool on_generator_cpus)
{
    struct sampler_side *side = &sampler->sides[sampler->count];

    *side = (struct sampler_side){.root = root, .on_generator_cpus = on_generator_cpus};
    (void)snprintf(side->name, sizeof side->name, "%s", name);
    if (cgroup != NULL)
        side->cgroup.path = cgroup->path;
    return sampler->count++;
}

/* The groups first: they are the figures; the CPUs next, so that both see the same time; the slow walk last. */
static void read_all(const struct sampler *sampler, struct sampler_reading *reading)
{
    struct procfs_list all;

    vitals_read(sampler->proc, sampler->sys, &reading->vitals);
    for (size_t i = 0; i < sampler->count; i++)
        (void)cgroup_cpu(&sampler->sides[i].cgroup, &reading->groups[i]);
    (void)cpustat_read(sampler->proc, &reading->cpustat);
    (void)procfs_list_read(sampler->proc, &all);
    for (size_t i = 0; i < sampler->count; i++) {
        pid_t *members;
        size_t count = cgroup_pids(&sampler->sides[i].cgroup, &members);

        reading->group_members[i] = count;
        account_read(sampler->proc, &all, sampler->sides[i].root, members, count, &reading->accounts[i]);
        free(members);
    }
    procfs_list_free(&all);
}

void sampler_begin(struct sampler *sampler)
{
    free_reading(&sampler->before);
    sampler->before = (struct sampler_reading){0};
    read_all(sampler, &sampler->before);
    sampler->begun = true;
}

/* A group's counters grow; less than before means another group of that name. */
static double grown(double before, double after)
{
    return after >= before ? after - before : NAN;
}

/* By how much /proc may exceed the group: ticks rounded at both ends, of every process unless their threads' own clocks
 * told, and the time between the two readings. */
static double slack_s(const struct account_usage *proc, const struct side_usage *usage)
{
    double rounded = proc->resolution_s < procfs_tick_s() ? 0 : (double)usage->processes;

    return 4 * procfs_tick_s() * (rounded + 1) + 0.02 * proc->total_s;
}

/* The group's growth; NAN: there is none, or nobody lives in it. */
static double group_total_s(const struct sampler *sampler, const struct sampler_reading *after, size_t index)
{
    if (sampler->before.group_members[index] == 0 && after->group_members[index] == 0)
        return NAN;
    return grown(sampler->before.groups[index].total_s, after->groups[index].total_s);
}

static void use_side(const struct sampler *sampler, const struct sampler_reading *after, size_t index,
                     struct side_usage *usage)
{
    const struct cgroup_cpu *then = &sampler->before.groups[index];
    const struct cgroup_cpu *now = &after->groups[index];
    struct account_usage proc;
    double group_total = group_total_s(sampler, after, index);

    account_between(&sampler->before.accounts[index], &after->accounts[index], procfs_tick_s(), &proc);
    *usage = (struct side_usage){
        .source = isnan(proc.total_s) ? NULL : "proc",
        .user_s = proc.user_s,
        .kernel_s = proc.kernel_s,
        .total_s = proc.total_s,
        .other_total_s = NAN,
        .difference_s = NAN,
        .resolution_s = proc.resolution_s,
        .involuntary = proc.involuntary,
        .processes = after->accounts[index].count,
        .adds_up = proc.adds_up,
    };
    memcpy(usage->name, sampler->sides[index].name, sizeof usage->name);
    memcpy(usage->note, proc.note, sizeof usage->note);
    if (isnan(group_total))
        return;
    usage->source = "cgroup";
    usage->user_s = grown(then->user_s, now->user_s);
    usage->kernel_s = grown(then->kernel_s, now->kernel_s);
    usage->total_s = group_total;
    usage->other_total_s = proc.total_s;
    usage->difference_s = group_total - proc.total_s;
    usage->resolution_s = 1e-6;
    /* The group counts those whom /proc loses; but whoever left the group is seen by /proc alone. */
    usage->adds_up = !(-usage->difference_s > slack_s(&proc, usage));
    usage->note[0] = '\0';
    if (!usage->adds_up)
        (void)snprintf(usage->note, sizeof usage->note,
                       "/proc saw %.3f s more than the cgroup: a process of this side runs outside of it",
                       -usage->difference_s);
}

/* Busy time of the CPUs of a set, by their ticks; NAN when one is unknown. */
static double busy_of(const struct machine_usage *usage, const struct cpus *cpus)
{
    double sum = 0;

    for (size_t i = 0; i < usage->cpu_count; i++)
        if (cpus_has(cpus, usage->cpus[i].cpu))
            sum += usage->cpus[i].use.busy_s;
    return sum;
}

/* Of the CPUs of a set, their mean; NAN when one is unknown. */
static double busy_pct_of(const struct machine_usage *usage, const struct cpus *cpus)
{
    double sum = 0;

    for (size_t i = 0; i < usage->cpu_count; i++)
        if (cpus_has(cpus, usage->cpus[i].cpu))
            sum += cpustat_busy_pct(&usage->cpus[i].use, usage->window_s);
    return sum / cpus_count(cpus);
}

static double charged(const struct sampler *sampler, const struct machine_usage *usage, bool generator)
{
    double sum = 0;

    for (size_t i = 0; i < usage->side_count; i++)
        if (!sampler->split.pinned || sampler->sides[i].on_generator_cpus == generator)
            sum += usage->sides[i].total_s;
    return sum;
}

static void use_cpus(const struct sampler *sampler, const struct sampler_reading *after, struct machine_usage *usage)
{
    const struct cpus_split *split = &sampler->split;
    int most = (int)(8 * (split->server.bytes > split->generator.bytes ? split->server.bytes : split->generator.bytes));

    usage->disturbance.steal_pct_max = NAN;
    for (int cpu = 0; cpu < most; cpu++) {
        bool server = cpus_has(&split->server, cpu);
        bool generator = cpus_has(&split->generator, cpu);
        const struct cpustat_cpu *then = cpustat_find(&sampler->before.cpustat, cpu);
        const struct cpustat_cpu *now = cpustat_find(&after->cpustat, cpu);
        struct cpu_usage *use;
        double steal_pct;

        if (!server && !generator)
            continue;
        usage->cpus = text_realloc(usage->cpus, usage->cpu_count + 1, sizeof *usage->cpus);
        use = &usage->cpus[usage->cpu_count++];
        cpustat_between(then, now, &use->use);
        use->cpu = cpu;
        use->side = server && generator ? "both" : server ? "server" : "generator";
        usage->cpus_changed = usage->cpus_changed || (then == NULL) != (now == NULL);
        steal_pct = 100 * use->use.seconds[CPUSTAT_STEAL] / usage->window_s;
        if (!isnan(steal_pct))
            usage->disturbance.steal_pct_max = fmax(steal_pct, usage->disturbance.steal_pct_max);
    }
}

static void sum_up(const struct sampler *sampler, struct machine_usage *usage)
{
    const struct cpus_split *split = &sampler->split;
    const double window_s = usage->window_s;

    usage->shared_busy_pct = busy_pct_of(usage, &split->server);
    usage->unattributed_s = busy_of(usage, &split->server) - charged(sampler, usage, false);
    usage->unattributed_generator_s = busy_of(usage, &split->generator) - charged(sampler, usage, true);
    usage->generator_busy_pct = NAN;
    usage->disturbance.involuntary_switches = NAN;
    for (size_t i = 0; i < usage->side_count; i++) {
        const struct side_usage *side = &usage->sides[i];

        if (sampler->sides[i].on_generator_cpus)
            usage->generator_busy_pct = 100 * side->total_s / (window_s * cpus_count(&split->generator));
        else if (!isnan(side->involuntary))
            usage->disturbance.involuntary_switches =
                side->involuntary +
                (isnan(usage->disturbance.involuntary_switches) ? 0 : usage->disturbance.involuntary_switches);
    }
}

void sampler_end(struct sampler *sampler, struct machine_usage *usage)
{
    struct sampler_reading after = {0};
    struct cpus all = {0};

    *usage = (struct machine_usage){.window_s = NAN};
    if (!sampler->begun)
        return;
    read_all(sampler, &after);
    usage->window_s = (double)(after.vitals.mono_ns - sampler->before.vitals.mono_ns) / 1e9;
    usage->side_count = sampler->count;
    for (size_t i = 0; i < sampler->count; i++)
        use_side(sampler, &after, i, &usage->sides[i]);
    cpus_copy(&sampler->split.server, &all);
    for (int cpu = cpus_next(&sampler->split.generator, -1); cpu >= 0; cpu = cpus_next(&sampler->split.generator, cpu))
        cpus_add(&all, cpu);
    vitals_between(sampler->proc, sampler->sys, &all, &sampler->before.vitals, &after.vitals, &usage->disturbance);
    cpus_free(&all);
    use_cpus(sampler, &after, usage);
    sum_up(sampler, usage);
    free_reading(&after);
    sampler->begun = false;
}

void machine_usage_free(struct machine_usage *usage)
{
    free(usage->cpus);
    *usage = (struct machine_usage){0};
}

const struct side_usage *machine_usage_side(const struct machine_usage *usage, const char *name)
{
    for (size_t i = 0; i < usage->side_count; i++)
        if (strcmp(usage->sides[i].name, name) == 0)
            return &usage->sides[i];
    return NULL;
}
