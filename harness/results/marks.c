#include "results/marks.h"

#include <math.h>
#include <string.h>

const struct mark_kind mark_kinds[MARK_COUNT] = {
    [MARK_GENERATOR_BOUND] = {"generator-bound", 85, "%",
                              "the load generator's own CPUs were the limit, not the server", false},
    [MARK_STEAL] = {"steal", 2, "%", "the hypervisor took CPU time away from this machine", false},
    [MARK_DRIFT] = {"drift", 5, "%", "the machine's speed changed: a fixed job took longer or shorter than before",
                    false},
    [MARK_ERRORS] = {"errors", 0.1, "%", "requests failed: not 2xx, timed out, broken or refused", true},
    [MARK_STARVED] = {"starved", 0.1, "",
                      "a connection got less than a tenth of the mean, so the latencies are not everyone's", true},
    [MARK_SLOPE] = {"slope", 10, "%", "the rate moved inside the window, so warm-up or decay is part of the figure",
                    false},
    [MARK_UNCONFIRMED] = {"unconfirmed", NAN, "", "the database does not confirm the work that the answers claim",
                          true},
    [MARK_ACCOUNTING] = {"accounting", NAN, "", "sources of CPU time disagree, or figures contradict each other", true},
    [MARK_AFFINITY] = {"affinity", NAN, "", "a thread ran on CPUs that belong to another side", false},
    [MARK_LISTENER] = {"listener", NAN, "",
                       "connections went, or could have gone, to a process that is not the measured server", false},
    [MARK_MISMATCH] = {"mismatch", NAN, "", "answers under load were not the expected ones", true},
    [MARK_SETTINGS] = {"settings", NAN, "", "fsync or synchronous_commit was off: inserts were not durable", false},
    [MARK_ROUNDS] = {"rounds", NAN, "", "the median rests on fewer rounds than planned", true},
    [MARK_SUSPENDED] = {"suspended", NAN, "", "the machine slept during the cell", false},
    [MARK_CLOCK] = {"clock", NAN, "", "the wall clock stepped during the cell, so its times are not to be trusted",
                    false},
    [MARK_DEAD_ROWS] = {"dead-rows", 0, "",
                        "rows deleted before the test stayed in the table: somebody's open transaction needed them",
                        false},
    [MARK_OTHERS] = {"others", 5, "%", "programs that take no part in the measurement used its CPUs", false},
    [MARK_POOL] = {"pool", NAN, "", "the server held more connections to the database than the declared pool", false},
};

enum mark_id mark_find(const char *name)
{
    for (int i = 0; i < MARK_COUNT; i++)
        if (strcmp(mark_kinds[i].name, name) == 0)
            return (enum mark_id)i;
    return MARK_COUNT;
}

bool mark_exceeded(enum mark_id id, double value)
{
    double threshold = mark_kinds[id].threshold;

    if (isnan(value) || isnan(threshold))
        return false;
    if (id == MARK_STARVED)
        return value < threshold;
    return id == MARK_GENERATOR_BOUND ? value >= threshold : value > threshold;
}
