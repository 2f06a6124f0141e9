/* What a side holds: processes, memory, CPUs that its threads may use. Read outside of windows. */
#include "machine/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "machine/procfs.h"

size_t sampler_pids(const struct sampler *sampler, size_t side, pid_t **pids)
{
    struct procfs_list list;
    pid_t *members;
    size_t member_count = cgroup_pids(&sampler->sides[side].cgroup, &members);
    size_t count = 0;

    *pids = NULL;
    (void)procfs_list_read(sampler->proc, &list);
    procfs_list_keep_tree(&list, sampler->sides[side].root, members, member_count);
    free(members);
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i].state == 'Z' || list.items[i].state == 'X')
            continue;
        *pids = text_realloc(*pids, count + 1, sizeof **pids);
        (*pids)[count++] = list.items[i].pid;
    }
    procfs_list_free(&list);
    return count;
}

void sampler_memory(const struct sampler *sampler, size_t side, struct machine_memory *memory)
{
    pid_t *pids;
    size_t count = sampler_pids(sampler, side, &pids);

    *memory = (struct machine_memory){0};
    for (size_t i = 0; i < count; i++) {
        struct procfs_memory one;
        struct procfs_stat stat;

        if (procfs_memory_read(sampler->proc, pids[i], &one) != 0)
            continue;
        /* It may have ended while it was read: then its figures are unknown and nobody holds them any more. */
        if (isnan(one.working_set_mib) &&
            (procfs_read_stat(sampler->proc, pids[i], &stat) != 0 || stat.state == 'Z' || stat.state == 'X'))
            continue;
        memory->working_set_mib += one.working_set_mib;
        memory->private_mib += one.private_mib;
        memory->pss_mib += one.pss_mib;
        memory->peak_mib += one.peak_mib;
        memory->hugetlb_mib += one.hugetlb_mib;
        memory->processes++;
    }
    if (memory->processes == 0)
        *memory = (struct machine_memory){NAN, NAN, NAN, NAN, NAN, 0};
    free(pids);
}

struct check {
    const struct sampler *sampler;
    const struct cpus *expected;
    struct machine_affinity *affinity;
    pid_t pid;
};

static int check_thread(const char *folder, pid_t thread, void *argument)
{
    const struct check *check = argument;
    struct procfs_status status;
    char path[600];
    char content[16384];

    (void)snprintf(path, sizeof path, "%s/status", folder);
    if (fsx_read_small(path, content, sizeof content) <= 0 || procfs_parse_status(content, &status) != 0)
        return 0;
    check->affinity->threads++;
    /* A server may pin its threads to some of its CPUs. */
    if (!cpus_contains(check->expected, &status.cpus) || cpus_count(&status.cpus) == 0) {
        check->affinity->wrong++;
        if (check->affinity->text[0] == '\0') {
            char *found = cpus_format(&status.cpus);
            char *expected = cpus_format(check->expected);
            struct text command = {0};

            procfs_add_command(check->sampler->proc, check->pid, 60, &command);
            (void)snprintf(check->affinity->text, sizeof check->affinity->text,
                           "thread %d of process %d (%s) may run on %s, should on %s", (int)thread, (int)check->pid,
                           text_string(&command), found, expected);
            text_free(&command);
            free(found);
            free(expected);
        }
    }
    procfs_status_free(&status);
    return 0;
}

void sampler_affinity(const struct sampler *sampler, size_t side, struct machine_affinity *affinity)
{
    pid_t *pids;
    size_t count = sampler_pids(sampler, side, &pids);

    *affinity = (struct machine_affinity){0};
    for (size_t i = 0; i < count; i++) {
        struct check check = {
            .sampler = sampler,
            .expected = sampler->sides[side].on_generator_cpus ? &sampler->split.generator : &sampler->split.server,
            .affinity = affinity,
            .pid = pids[i],
        };

        (void)procfs_threads(sampler->proc, pids[i], check_thread, &check);
    }
    free(pids);
}
