#include "machine/cpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"

void cpus_split_free(struct cpus_split *split)
{
    cpus_free(&split->server);
    cpus_free(&split->generator);
}

static void unpinned(const struct cpus *allowed, struct cpus_split *split)
{
    cpus_copy(allowed, &split->server);
    cpus_copy(allowed, &split->generator);
    split->pinned = false;
}

static void split_auto(const struct cpus *allowed, struct cpus_split *split)
{
    int count = cpus_count(allowed);
    int for_generator = count / 4 > 1 ? count / 4 : 1;
    int index = 0;

    if (count < 2) {
        char *list = cpus_format(allowed);

        unpinned(allowed, split);
        (void)snprintf(split->note, sizeof split->note,
                       "one allowed CPU (%s): runs unpinned, server and generator share it", list);
        free(list);
        return;
    }
    for (int cpu = cpus_next(allowed, -1); cpu >= 0; cpu = cpus_next(allowed, cpu), index++)
        cpus_add(index < count - for_generator ? &split->server : &split->generator, cpu);
    split->pinned = true;
}

/* One side of SERVER/GENERATOR. */
static int parse_side(const char *name, const char *list, const struct cpus *allowed, struct cpus *side,
                      struct err *err)
{
    char *allowed_list;

    if (cpus_parse(list, side, err) != 0)
        return err_prefix(err, "--cpus, the %s's side", name);
    if (cpus_contains(allowed, side))
        return 0;
    allowed_list = cpus_format(allowed);
    (void)err_set(err, "--cpus: the %s's CPUs %s are not all among the allowed ones, which are %s", name, list,
                  allowed_list);
    free(allowed_list);
    return -1;
}

static int split_by_list(const struct cpus *allowed, const char *wish, struct cpus_split *split, struct err *err)
{
    char *lists = text_dup(wish);
    char *slash = strchr(lists, '/');
    int result;

    if (slash == NULL || strchr(slash + 1, '/') != NULL) {
        char *allowed_list = cpus_format(allowed);

        result = err_set(err, "--cpus %s: give auto, none, or SERVER/GENERATOR such as 0-2/3, out of %s", wish,
                         allowed_list);
        free(allowed_list);
        free(lists);
        return result;
    }
    *slash = '\0';
    result = parse_side("server", lists, allowed, &split->server, err);
    if (result == 0)
        result = parse_side("generator", slash + 1, allowed, &split->generator, err);
    if (result == 0 && cpus_overlap(&split->server, &split->generator))
        result =
            err_set(err, "--cpus %s: both sides name the same CPU; give each its own, or none to pin nobody", wish);
    split->pinned = result == 0;
    free(lists);
    return result;
}

int cpus_split(const struct cpus *allowed, const char *wish, struct cpus_split *split, struct err *err)
{
    *split = (struct cpus_split){0};
    if (strcmp(wish, "auto") == 0) {
        split_auto(allowed, split);
    } else if (strcmp(wish, "none") == 0) {
        unpinned(allowed, split);
        (void)snprintf(split->note, sizeof split->note, "runs unpinned, as asked");
    } else if (split_by_list(allowed, wish, split, err) != 0) {
        cpus_split_free(split);
        return -1;
    }
    return 0;
}

bool cpus_shared_cores(const char *sys, const struct cpus *a, const struct cpus *b, struct cpus *shared)
{
    bool known = true;

    for (int cpu = cpus_next(a, -1); cpu >= 0; cpu = cpus_next(a, cpu)) {
        char path[512];
        char list[4096];
        struct cpus siblings = {0};
        struct err ignored = {0};

        (void)snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/topology/thread_siblings_list", sys, cpu);
        if (fsx_read_small(path, list, sizeof list) < 0) {
            known = false;
            continue;
        }
        list[strcspn(list, "\n")] = '\0';
        if (cpus_parse(list, &siblings, &ignored) != 0)
            known = false;
        else if (cpus_overlap(&siblings, b))
            cpus_add(shared, cpu);
        cpus_free(&siblings);
    }
    return known;
}
