#include "machine/vitals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "machine/procfs.h"

double vitals_parse_pressure(const char *content)
{
    const char *total = strncmp(content, "some ", 5) == 0 ? strstr(content, "total=") : NULL;
    const char *end = strchr(content, '\n');

    if (total == NULL || (end != NULL && total > end) || total[6] < '0' || total[6] > '9')
        return NAN;
    return (double)strtoull(total + 6, NULL, 10);
}

static double pressure(const char *proc, const char *kind)
{
    char path[512];
    char content[512];

    (void)snprintf(path, sizeof path, "%s/pressure/%s", proc, kind);
    return fsx_read_small(path, content, sizeof content) > 0 ? vitals_parse_pressure(content) : NAN;
}

/* The number behind "KEY " at the start of a line. */
static double counter(const char *content, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = content; line != NULL && *line != '\0';) {
        if (strncmp(line, key, len) == 0 && line[len] == ' ' && line[len + 1] >= '0' && line[len + 1] <= '9')
            return (double)strtoull(line + len + 1, NULL, 10);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return NAN;
}

/* A number in a file of one line; NAN: not readable. */
static double number_in(const char *format, const char *root, int cpu)
{
    char path[512];
    char content[64];
    double value;

    (void)snprintf(path, sizeof path, format, root, cpu);
    if (fsx_read_small(path, content, sizeof content) <= 0)
        return NAN;
    content[strcspn(content, "\n")] = '\0';
    return text_parse_double(content, &value) == 0 ? value : NAN;
}

void vitals_read(const char *proc, const char *sys, struct vitals *vitals)
{
    char path[512];
    char content[65536];
    struct cpus online = {0};
    struct err ignored = {0};

    *vitals = (struct vitals){.mono_ns = clock_mono_ns(),
                              .boot_ns = clock_boot_ns(),
                              .wall_ns = clock_wall_ns(),
                              .psi_cpu_us = pressure(proc, "cpu"),
                              .psi_memory_us = pressure(proc, "memory"),
                              .psi_io_us = pressure(proc, "io"),
                              .swap_in_pages = NAN,
                              .swap_out_pages = NAN,
                              .throttles = NAN};
    (void)snprintf(path, sizeof path, "%s/vmstat", proc);
    if (fsx_read_small(path, content, sizeof content) > 0) {
        vitals->swap_in_pages = counter(content, "pswpin");
        vitals->swap_out_pages = counter(content, "pswpout");
    }
    (void)snprintf(path, sizeof path, "%s/devices/system/cpu/online", sys);
    if (fsx_read_small(path, content, sizeof content) > 0) {
        content[strcspn(content, "\n")] = '\0';
        (void)cpus_parse(content, &online, &ignored);
    }
    for (int cpu = cpus_next(&online, -1); cpu >= 0; cpu = cpus_next(&online, cpu)) {
        double events = number_in("%s/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", sys, cpu);

        if (!isnan(events))
            vitals->throttles = isnan(vitals->throttles) ? events : vitals->throttles + events;
    }
    cpus_free(&online);
}

void vitals_governor(const char *sys, const struct cpus *cpus, char *governor, size_t size)
{
    governor[0] = '\0';
    for (int cpu = cpus_next(cpus, -1); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        char path[512];
        char content[64];

        (void)snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/cpufreq/scaling_governor", sys, cpu);
        if (fsx_read_small(path, content, sizeof content) <= 0)
            continue;
        content[strcspn(content, "\n")] = '\0';
        if (governor[0] == '\0')
            (void)snprintf(governor, size, "%s", content);
        else if (strcmp(governor, content) != 0)
            (void)snprintf(governor, size, "mixed");
    }
}

/* Mean of the "cpu MHz" lines of /proc/cpuinfo for these CPUs. */
static double cpuinfo_mhz(const char *proc, const struct cpus *cpus)
{
    char *path = fsx_join(proc, "cpuinfo");
    char *content;
    size_t len;
    struct err err = {0};
    double sum = 0;
    int count = 0;
    int cpu = -1;
    int result = fsx_read(path, (size_t)64 << 20, &content, &len, &err);

    free(path);
    if (result != 0)
        return NAN;
    for (const char *line = content; line != NULL && *line != '\0';) {
        const char *colon = line + strcspn(line, ":\n");

        if (strncmp(line, "processor", 9) == 0 && *colon == ':') {
            cpu = atoi(colon + 1);
        } else if (strncmp(line, "cpu MHz", 7) == 0 && *colon == ':' && cpus_has(cpus, cpu)) {
            const char *number = colon + 1 + strspn(colon + 1, " ");
            double mhz;

            if (text_parse_double_n(number, strcspn(number, "\n"), &mhz) == 0) {
                sum += mhz;
                count++;
            }
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    free(content);
    return count > 0 ? sum / count : NAN;
}

double vitals_frequency_mhz(const char *proc, const char *sys, const struct cpus *cpus)
{
    double sum = 0;
    int count = 0;

    for (int cpu = cpus_next(cpus, -1); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        double khz = number_in("%s/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", sys, cpu);

        if (!isnan(khz)) {
            sum += khz / 1000;
            count++;
        }
    }
    return count > 0 ? sum / count : cpuinfo_mhz(proc, cpus);
}

/* The share of the window, NAN when a counter is unknown or ran backwards. */
static double share_pct(double before_us, double after_us, double window_s)
{
    double spent_us = after_us - before_us;

    return spent_us >= 0 && window_s > 0 ? 100 * spent_us / 1e6 / window_s : NAN;
}

static double grown(double before, double after)
{
    return after >= before ? after - before : NAN;
}

void vitals_between(const char *proc, const char *sys, const struct cpus *cpus, const struct vitals *before,
                    const struct vitals *after, struct disturbance *disturbance)
{
    double window_s = (double)(after->mono_ns - before->mono_ns) / 1e9;
    double boot_s = (double)(after->boot_ns - before->boot_ns) / 1e9;
    double wall_s = (double)(after->wall_ns - before->wall_ns) / 1e9;
    double page_mib = (double)sysconf(_SC_PAGESIZE) / 1048576;
    char path[512];
    char content[128];

    *disturbance = (struct disturbance){
        .steal_pct_max = NAN,
        .involuntary_switches = NAN,
        .frequency_mhz = vitals_frequency_mhz(proc, sys, cpus),
        .throttles = grown(before->throttles, after->throttles),
        .psi_cpu_pct = share_pct(before->psi_cpu_us, after->psi_cpu_us, window_s),
        .psi_memory_pct = share_pct(before->psi_memory_us, after->psi_memory_us, window_s),
        .psi_io_pct = share_pct(before->psi_io_us, after->psi_io_us, window_s),
        .swap_in_mib = grown(before->swap_in_pages, after->swap_in_pages) * page_mib,
        .swap_out_mib = grown(before->swap_out_pages, after->swap_out_pages) * page_mib,
        .load_1m = NAN,
        .suspended_s = boot_s - window_s,
        .clock_step_s = wall_s - boot_s,
        .probe_before_ms = NAN,
        .probe_after_ms = NAN,
        .probe_own_ms = NAN,
    };
    vitals_governor(sys, cpus, disturbance->governor, sizeof disturbance->governor);
    (void)snprintf(path, sizeof path, "%s/loadavg", proc);
    if (fsx_read_small(path, content, sizeof content) > 0)
        (void)text_parse_double_n(content, strcspn(content, " "), &disturbance->load_1m);
}

json_t *disturbance_to_json(const struct disturbance *disturbance)
{
    json_t *object = json_object();

    json_put(object, "steal_pct_max", json_number(disturbance->steal_pct_max, 3));
    json_put(object, "involuntary_switches", json_number(disturbance->involuntary_switches, 0));
    json_put(object, "frequency_mhz", json_number(disturbance->frequency_mhz, 1));
    json_put(object, "governor", disturbance->governor[0] != '\0' ? json_string(disturbance->governor) : json_null());
    json_put(object, "throttled", json_number(disturbance->throttles, 0));
    json_put(object, "psi_cpu_pct", json_number(disturbance->psi_cpu_pct, 3));
    json_put(object, "psi_memory_pct", json_number(disturbance->psi_memory_pct, 3));
    json_put(object, "psi_io_pct", json_number(disturbance->psi_io_pct, 3));
    json_put(object, "swap_in_mib", json_number(disturbance->swap_in_mib, 3));
    json_put(object, "swap_out_mib", json_number(disturbance->swap_out_mib, 3));
    json_put(object, "load_1m", json_number(disturbance->load_1m, 2));
    json_put(object, "suspended_s", json_number(disturbance->suspended_s, 6));
    json_put(object, "clock_step_s", json_number(disturbance->clock_step_s, 6));
    json_put(object, "probe_before_ms", json_number(disturbance->probe_before_ms, 3));
    json_put(object, "probe_after_ms", json_number(disturbance->probe_after_ms, 3));
    json_put(object, "probe_own_ms", json_number(disturbance->probe_own_ms, 3));
    return object;
}
