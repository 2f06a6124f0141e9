#include "results/verify.h"

#include <math.h>

#include "base/json.h"
#include "results/details.h"
#include "results/marks.h"

/* Of figures that the details round. */
static const double rounding_pct = 0.05;

/* Evidence that a cell itself holds, and the mark that it asks for: beyond the mark's threshold, or else above 0. */
static const struct {
    const char *path;
    enum mark_id mark;
} demands[] = {
    {"verdict.generator_pct", MARK_GENERATOR_BOUND},
    {"disturbance.steal_pct_max", MARK_STEAL},
    {"affinity.wrong", MARK_AFFINITY},
    {"listener.foreign_sockets", MARK_LISTENER},
    {"listener.foreign_connections", MARK_LISTENER},
    {"load.restbench.errors.mismatch", MARK_MISMATCH},
};

bool verify_is_marked(const json_t *cell, enum mark_id id)
{
    bool marked = false;
    size_t i;
    json_t *mark;

    json_array_foreach (json_object_get(cell, "marks"), i, mark) {
        const char *name = json_get_string(mark, "name");

        marked = marked || (name != NULL && mark_find(name) == id);
    }
    return marked;
}

static void need(struct verify *verify, const char *file, uint64_t number, const json_t *cell, enum mark_id id,
                 const char *because)
{
    if (!verify_is_marked(cell, id))
        verify_fault(verify, file, number, "the mark %s is missing: %s", mark_kinds[id].name, because);
}

void verify_marks(struct verify *verify, const char *file, uint64_t number, const json_t *cell)
{
    const char *name;
    json_t *side;

    for (size_t i = 0; i < sizeof demands / sizeof demands[0]; i++) {
        double value = details_number(cell, demands[i].path);
        bool counts = isnan(mark_kinds[demands[i].mark].threshold);
        char because[100];

        (void)snprintf(because, sizeof because, "%s is %g", demands[i].path, value);
        if (counts ? value > 0 : mark_exceeded(demands[i].mark, value - rounding_pct))
            need(verify, file, number, cell, demands[i].mark, because);
    }
    json_object_foreach (json_object_get(cell, "cpu"), name, side) {
        char because[100];

        (void)snprintf(because, sizeof because, "cpu.%.60s does not add up", name);
        if (json_is_false(json_object_get(side, "adds_up")) && json_get_string(side, "source") != NULL)
            need(verify, file, number, cell, MARK_ACCOUNTING, because);
    }
    if (json_is_false(json_object_get(json_object_get(cell, "listener"), "ours")))
        need(verify, file, number, cell, MARK_LISTENER, "listener.ours is false");
}
