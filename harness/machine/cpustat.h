/*
 * cpustat - the CPUs' own counters in /proc/stat: what each one did, whoever is charged for it.
 *
 * Keyed by the number in the line: CPUs may be offline or absent, so the third line need not be CPU 2. Fields that an
 * old kernel does not have are NAN, and a counter that ran backwards makes a difference NAN, never a huge number.
 * Guest time is part of user (and nice) time and is not added again. Seconds; the kernel counts in ticks of 10 ms.
 */
#ifndef MACHINE_CPUSTAT_H
#define MACHINE_CPUSTAT_H

#include <stddef.h>

enum cpustat_kind {
    CPUSTAT_USER,
    CPUSTAT_NICE,
    CPUSTAT_SYSTEM,
    CPUSTAT_IDLE,
    CPUSTAT_IOWAIT,
    CPUSTAT_IRQ,
    CPUSTAT_SOFTIRQ,
    CPUSTAT_STEAL,
    CPUSTAT_KINDS,
};

struct cpustat_cpu {
    int cpu;
    double seconds[CPUSTAT_KINDS];
};

struct cpustat {
    struct cpustat_cpu *cpus; /* ascending by number */
    size_t count;
};

/* Pure; a line that is not of the expected form is left out. */
void cpustat_parse(const char *content, double tick_s, struct cpustat *stat);
/* Of /proc/stat below `proc`; -1: not readable. */
int cpustat_read(const char *proc, struct cpustat *stat);
void cpustat_free(struct cpustat *stat);
const struct cpustat_cpu *cpustat_find(const struct cpustat *stat, int cpu);

/* What one CPU did between two reads. */
struct cpustat_use {
    int cpu;
    double seconds[CPUSTAT_KINDS];
    double busy_s;  /* all but idle, waiting for disks, and steal, as far as ticks saw it */
    double total_s; /* all of it: the window as this CPU's counters saw it */
    double idle_s;  /* idle, waiting for disks, and steal */
};

/* NULL for a CPU that was not there: everything NAN. */
void cpustat_between(const struct cpustat_cpu *before, const struct cpustat_cpu *after, struct cpustat_use *use);
/*
 * How busy a CPU was in a window, in percent. The kernel charges work to whoever runs at its ticks, which between many
 * short sleeps is half or twice the truth; idle time it measures exactly while a CPU's tick rests. So what was not
 * idle was busy; only when idle time ran backwards do the ticks tell. NAN when nothing was counted.
 */
double cpustat_busy_pct(const struct cpustat_use *use, double window_s);
/* 100 * part / total, NAN when unknown. */
double cpustat_pct(const struct cpustat_use *use, enum cpustat_kind kind);

#endif
