#include "machine/sampler.h"

#include "base/json.h"

static json_t *side_to_json(const struct side_usage *side)
{
    json_t *object = json_object();

    json_put(object, "source", side->source != NULL ? json_string(side->source) : json_null());
    json_put(object, "user_s", json_number(side->user_s, 6));
    json_put(object, "kernel_s", json_number(side->kernel_s, 6));
    json_put(object, "total_s", json_number(side->total_s, 6));
    json_put(object, "split", json_string("estimate"));
    json_put(object, "other_total_s", json_number(side->other_total_s, 6));
    json_put(object, "difference_s", json_number(side->difference_s, 6));
    json_put(object, "resolution_s", json_number(side->resolution_s, 6));
    json_put(object, "involuntary_switches", json_number(side->involuntary, 0));
    json_put(object, "processes", json_integer((json_int_t)side->processes));
    json_put(object, "adds_up", json_boolean(side->adds_up));
    json_put(object, "note", side->note[0] != '\0' ? json_string(side->note) : json_null());
    return object;
}

/* busy_pct comes from the idle time, the kinds of work from ticks: they need not add up. */
static json_t *cpu_to_json(const struct cpu_usage *cpu, double window_s)
{
    const struct cpustat_use *use = &cpu->use;
    json_t *object = json_object();

    json_put(object, "cpu", json_integer(cpu->cpu));
    json_put(object, "side", json_string(cpu->side));
    json_put(object, "busy_pct", json_number(cpustat_busy_pct(use, window_s), 2));
    json_put(object, "user_pct", json_number(cpustat_pct(use, CPUSTAT_USER) + cpustat_pct(use, CPUSTAT_NICE), 2));
    json_put(object, "kernel_pct", json_number(cpustat_pct(use, CPUSTAT_SYSTEM), 2));
    json_put(object, "softirq_pct", json_number(cpustat_pct(use, CPUSTAT_SOFTIRQ), 2));
    json_put(object, "irq_pct", json_number(cpustat_pct(use, CPUSTAT_IRQ), 2));
    json_put(object, "steal_pct", json_number(cpustat_pct(use, CPUSTAT_STEAL), 2));
    json_put(object, "iowait_pct", json_number(cpustat_pct(use, CPUSTAT_IOWAIT), 2));
    return object;
}

json_t *machine_usage_to_json(const struct machine_usage *usage)
{
    json_t *object = json_object();
    json_t *cpus = json_array();

    for (size_t i = 0; i < usage->side_count; i++)
        json_put(object, usage->sides[i].name, side_to_json(&usage->sides[i]));
    for (size_t i = 0; i < usage->cpu_count; i++)
        (void)json_array_append_new(cpus, cpu_to_json(&usage->cpus[i], usage->window_s));
    json_put(object, "cpus", cpus);
    json_put(object, "window_s", json_number(usage->window_s, 6));
    json_put(object, "unattributed_s", json_number(usage->unattributed_s, 3));
    json_put(object, "unattributed_generator_s", json_number(usage->unattributed_generator_s, 3));
    json_put(object, "shared_busy_pct", json_number(usage->shared_busy_pct, 2));
    json_put(object, "generator_busy_pct", json_number(usage->generator_busy_pct, 2));
    json_put(object, "cpus_changed", json_boolean(usage->cpus_changed));
    return object;
}

json_t *machine_memory_to_json(const struct machine_memory *memory)
{
    json_t *object = json_object();

    json_put(object, "working_set_mib", json_number(memory->working_set_mib, 3));
    json_put(object, "private_mib", json_number(memory->private_mib, 3));
    json_put(object, "pss_mib", json_number(memory->pss_mib, 3));
    json_put(object, "peak_mib", json_number(memory->peak_mib, 3));
    json_put(object, "hugetlb_mib", json_number(memory->hugetlb_mib, 3));
    json_put(object, "processes", json_integer((json_int_t)memory->processes));
    return object;
}

json_t *machine_affinity_to_json(const struct machine_affinity *affinity)
{
    json_t *object = json_object();

    json_put(object, "threads", json_integer((json_int_t)affinity->threads));
    json_put(object, "wrong", json_integer((json_int_t)affinity->wrong));
    json_put(object, "text", affinity->text[0] != '\0' ? json_string(affinity->text) : json_null());
    return object;
}
