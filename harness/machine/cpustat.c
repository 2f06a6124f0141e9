#include "machine/cpustat.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fsx.h"
#include "base/text.h"
#include "machine/procfs.h"

/* "cpu12 1 2 3 ..."; false for the sum line "cpu ", for other lines and for fewer than user, nice, system, idle. */
static bool parse_line(const char *line, double tick_s, struct cpustat_cpu *cpu)
{
    char *end;
    int kinds = 0;

    if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9')
        return false;
    cpu->cpu = (int)strtol(line + 3, &end, 10);
    for (; kinds < CPUSTAT_KINDS && *end == ' ' && end[1] >= '0' && end[1] <= '9'; kinds++)
        cpu->seconds[kinds] = (double)strtoull(end + 1, &end, 10) * tick_s;
    for (int kind = kinds; kind < CPUSTAT_KINDS; kind++)
        cpu->seconds[kind] = NAN;
    return kinds > CPUSTAT_IDLE;
}

static int by_number(const void *a, const void *b)
{
    const struct cpustat_cpu *left = a;
    const struct cpustat_cpu *right = b;

    return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

void cpustat_parse(const char *content, double tick_s, struct cpustat *stat)
{
    *stat = (struct cpustat){0};
    for (const char *line = content; *line != '\0';) {
        struct cpustat_cpu cpu;
        size_t len = strcspn(line, "\n");

        if (parse_line(line, tick_s, &cpu)) {
            stat->cpus = text_realloc(stat->cpus, stat->count + 1, sizeof *stat->cpus);
            stat->cpus[stat->count++] = cpu;
        }
        line += len + (line[len] == '\n');
    }
    if (stat->count > 1)
        qsort(stat->cpus, stat->count, sizeof *stat->cpus, by_number);
}

int cpustat_read(const char *proc, struct cpustat *stat)
{
    char *path = fsx_join(proc, "stat");
    char *content;
    size_t len;
    struct err err = {0};
    int result = fsx_read(path, (size_t)16 << 20, &content, &len, &err);

    free(path);
    *stat = (struct cpustat){0};
    if (result != 0)
        return -1;
    cpustat_parse(content, procfs_tick_s(), stat);
    free(content);
    return 0;
}

void cpustat_free(struct cpustat *stat)
{
    free(stat->cpus);
    *stat = (struct cpustat){0};
}

const struct cpustat_cpu *cpustat_find(const struct cpustat *stat, int cpu)
{
    for (size_t i = 0; i < stat->count; i++)
        if (stat->cpus[i].cpu == cpu)
            return &stat->cpus[i];
    return NULL;
}

void cpustat_between(const struct cpustat_cpu *before, const struct cpustat_cpu *after, struct cpustat_use *use)
{
    *use = (struct cpustat_use){.cpu = after != NULL ? after->cpu : before != NULL ? before->cpu : -1};
    for (int kind = 0; kind < CPUSTAT_KINDS; kind++) {
        double spent = before != NULL && after != NULL ? after->seconds[kind] - before->seconds[kind] : NAN;
        bool missing = before != NULL && after != NULL && isnan(before->seconds[kind]) && isnan(after->seconds[kind]);

        use->seconds[kind] = spent >= 0 ? spent : NAN;
        /* A kind that this kernel does not count is within the others; one that ran backwards spoils the sums. */
        if (missing)
            continue;
        use->total_s += use->seconds[kind];
        if (kind == CPUSTAT_IDLE || kind == CPUSTAT_IOWAIT || kind == CPUSTAT_STEAL)
            use->idle_s += use->seconds[kind];
        else
            use->busy_s += use->seconds[kind];
    }
}

double cpustat_busy_pct(const struct cpustat_use *use, double window_s)
{
    double busy_s = isnan(use->idle_s) ? use->busy_s : window_s - use->idle_s;

    /* A total that is unknown is not one that is zero. */
    if (use->total_s <= 0 || !(window_s > 0))
        return NAN;
    return 100 * (busy_s < 0 ? 0 : busy_s) / window_s;
}

double cpustat_pct(const struct cpustat_use *use, enum cpustat_kind kind)
{
    return use->total_s > 0 ? 100 * use->seconds[kind] / use->total_s : NAN;
}
