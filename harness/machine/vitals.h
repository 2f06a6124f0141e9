/*
 * vitals - what the machine as a whole went through: pressure, swap, throttling, frequency, load, clocks.
 *
 * struct vitals is one reading, taken with vitals_read() at both ends of a window; vitals_between() makes the
 * disturbance of the window from two of them. Everything that this machine does not tell is NAN (JSON null), never 0.
 * Reads only small files of /proc and /sys, none of a process.
 */
#ifndef MACHINE_VITALS_H
#define MACHINE_VITALS_H

#include <jansson.h>
#include <stdint.h>

#include "machine/cpus.h"

struct vitals {
    int64_t mono_ns;
    int64_t boot_ns;
    int64_t wall_ns;
    double psi_cpu_us; /* time in which some task waited for a CPU, since boot */
    double psi_memory_us;
    double psi_io_us;
    double swap_in_pages;
    double swap_out_pages;
    double throttles; /* thermal throttle events of all CPUs */
};

struct disturbance {
    double steal_pct_max; /* these two and the probes are the sampler's and the conductor's to fill in */
    double involuntary_switches;
    double frequency_mhz; /* mean of the CPUs at the end of the window */
    char governor[64];    /* "" unknown, "mixed" when the CPUs differ */
    double throttles;     /* events in the window */
    double psi_cpu_pct;   /* share of the window in which some task waited */
    double psi_memory_pct;
    double psi_io_pct;
    double swap_in_mib;
    double swap_out_mib;
    double load_1m; /* load average at the end */
    double suspended_s;
    double clock_step_s; /* how much the wall clock moved against the boot clock */
    double probe_before_ms;
    double probe_after_ms;
    double probe_own_ms; /* what server and database took from the one after; not in it */
};

/* `proc` and `sys` are the roots ("/proc", "/sys"). */
void vitals_read(const char *proc, const char *sys, struct vitals *vitals);
void vitals_between(const char *proc, const char *sys, const struct cpus *cpus, const struct vitals *before,
                    const struct vitals *after, struct disturbance *disturbance);
/* The object "disturbance" of the details. */
json_t *disturbance_to_json(const struct disturbance *disturbance);

/* The frequency governor that all `cpus` have: "" unknown, "mixed". */
void vitals_governor(const char *sys, const struct cpus *cpus, char *governor, size_t size);
double vitals_frequency_mhz(const char *proc, const char *sys, const struct cpus *cpus);
/* Pure: total= of the line "some" in a /proc/pressure file. */
double vitals_parse_pressure(const char *content);

#endif
