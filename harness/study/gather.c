#include "study/gather.h"

#include <math.h>
#include <stdio.h>

#include "results/identity.h"

static double known(int64_t value)
{
    return value == DATABASE_UNKNOWN ? NAN : (double)value;
}

static double total_of(const struct side_usage *side)
{
    return side != NULL ? side->total_s : NAN;
}

/* CPUs that server and database share. */
static double count_shared(const struct machine_usage *usage)
{
    double count = 0;

    for (size_t i = 0; i < usage->cpu_count; i++)
        count += usage->cpus[i].side[0] != 'g';
    return count;
}

/* Identities that every generator's figures must keep. */
static void check_identities(const struct study_phase *phase, const struct tool_result *tool, bool generator_bound,
                             char *text, size_t size)
{
    double busy = tool->requests_per_s * tool->mean_ms / 1000;
    double connections = (double)phase->connections;

    text[0] = '\0';
    if (tool->p50_ms > tool->p99_ms || tool->p99_ms > tool->max_ms * 1.0001)
        (void)snprintf(text, size, "the latencies contradict each other: p50 %.3f, p99 %.3f, max %.3f ms", tool->p50_ms,
                       tool->p99_ms, tool->max_ms);
    else if (phase->rate_per_s == 0 && tool->errors == 0 &&
             !identity_keeps_busy(connections, tool->requests_per_s, tool->mean_ms, tool->max_ms, tool->window_s,
                                  generator_bound))
        (void)snprintf(text, size, "rate x mean latency keeps %.1f connections busy, not %.0f", busy, connections);
}

static void check_accounting(const struct machine_usage *usage, char *text, size_t size)
{
    for (size_t i = 0; i < usage->side_count && text[0] == '\0'; i++)
        if (usage->sides[i].source != NULL && !usage->sides[i].adds_up)
            (void)snprintf(text, size, "CPU time of %s may be missing: %s", usage->sides[i].name, usage->sides[i].note);
    if (text[0] == '\0' && usage->cpus_changed)
        (void)snprintf(text, size, "a CPU came or went in the window");
}

enum whose { SHARED, GENERATORS, ALL };

/*
 * What CPUs worked and nobody of the measurement is charged for, in percent of those CPUs' time. The kernel's own work
 * for the network (softirq) belongs to the measurement: kernels differ in whether they charge a process for it, so that
 * all of it is taken off. What is left was done by strangers.
 */
static double strangers_pct(const struct machine_usage *usage, enum whose whose, double unattributed_s)
{
    double capacity_s = 0;

    for (size_t i = 0; i < usage->cpu_count; i++) {
        if (whose != ALL && (usage->cpus[i].side[0] == 'g') != (whose == GENERATORS))
            continue;
        unattributed_s -= usage->cpus[i].use.seconds[CPUSTAT_SOFTIRQ] + usage->cpus[i].use.seconds[CPUSTAT_IRQ];
        capacity_s += usage->window_s;
    }
    /* /proc/stat counts in ticks of 10 ms, which miss or find a little in each CPU. */
    return capacity_s > 0 && unattributed_s >= 0.1 ? 100 * unattributed_s / capacity_s : NAN;
}

/* Several processes divide the pool among themselves, without a remainder. */
static double declared_pool(const struct life *life)
{
    int64_t processes = life->row->variant->processes;
    int64_t pool = life->run->setup.study.pool;
    int64_t each = processes > 0 ? pool / processes : pool;

    return (double)(processes > 0 ? (each > 0 ? each : 1) * processes : pool);
}

static bool is_foreign(const struct listener_verdict *listener)
{
    return !listener->ours || listener->foreign_sockets > 0 || listener->foreign_connections > 0;
}

static void add_strangers(const struct window *window, struct judge_evidence *evidence)
{
    const struct machine_usage *usage = &window->usage;
    double generators_s = usage->unattributed_generator_s - window->conductor_cpu_s;

    /* Where a party uses CPUs of the other side (a database that ran already is not pinned), only the sum is known. */
    evidence->roams = window->affinity.wrong > 0;
    evidence->others_pct = evidence->roams ? strangers_pct(usage, ALL, usage->unattributed_s + generators_s)
                                           : strangers_pct(usage, SHARED, usage->unattributed_s);
    evidence->others_generator_pct = evidence->roams ? NAN : strangers_pct(usage, GENERATORS, generators_s);
}

void gather_evidence(const struct life *life, const struct study_phase *phase, const struct window *window,
                     const char *rows_disagree, double drift_pct, char *contradiction, size_t size,
                     struct judge_evidence *evidence)
{
    const struct machine_usage *usage = &window->usage;
    const struct side_usage *server = machine_usage_side(usage, "server");
    const struct tool_result *tool = &window->tool;

    *evidence = (struct judge_evidence){
        .window_s = usage->window_s,
        .generator_pct = usage->generator_busy_pct,
        .shared_pct = usage->shared_busy_pct,
        .server_cpu_s = total_of(server),
        .database_cpu_s = total_of(machine_usage_side(usage, "postgres")),
        .generator_cpu_s = total_of(machine_usage_side(usage, "generator")),
        .shared_cpus = count_shared(usage),
        .all_share = !life->run->parts.split.pinned,
        .uses_database = life->run->setup.study.tests[life->test].uses_database,
        .single_threaded = life->row->recipe->single_threaded,
        .processes = (double)life->row->variant->processes,
        .samples_active = window->has_samples ? known(window->samples.active) : NAN,
        .samples_commit = window->has_samples ? known(window->samples.commit) : NAN,
        .samples_lock = window->has_samples ? known(window->samples.lock) : NAN,
        .responses_2xx = tool->responses_2xx,
        .errors = tool->errors,
        .mismatches = tool->mismatches,
        .per_connection_min = tool->per_connection_min,
        .per_connection_mean = tool->per_connection_mean,
        .per_second = tool->per_second,
        .per_second_count = tool->per_second_count,
        .steal_pct_max = usage->disturbance.steal_pct_max,
        .cpu_difference_s = server != NULL ? server->difference_s : NAN,
        .cpu_resolution_s = server != NULL ? server->resolution_s : NAN,
        .wrong_threads = (double)window->affinity.wrong,
        .listener_foreign = window->has_listener && is_foreign(&window->listener),
        .listener_text = window->listener.foreign[0] != '\0' ? window->listener.foreign : NULL,
        .connections_max = window->has_samples ? known(window->samples.connections_max) : NAN,
        .pool = declared_pool(life),
        .drift_pct = drift_pct,
        .unconfirmed = rows_disagree,
        .not_durable = life->run->setup.study.tests[life->test].writes ? life->run->not_durable : NULL,
        .paused = window->paused,
        .suspended_s = usage->disturbance.suspended_s,
        .clock_step_s = usage->disturbance.clock_step_s,
        .dead_rows = life->has_counts && life->run->setup.study.tests[life->test].writes
                         ? known(life->at_start.unremovable)
                         : NAN,
    };
    add_strangers(window, evidence);
    check_identities(phase, tool, judge_generator_bound(evidence), contradiction, size);
    check_accounting(usage, contradiction, size);
    evidence->accounting_broken = contradiction[0] != '\0';
    evidence->accounting_text = evidence->accounting_broken ? contradiction : NULL;
}
