#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "results/compare_parts.h"

/* Where it stands in machine.json, and what it is called. Objects are compared as a whole. */
static const struct {
    const char *section;
    const char *key;
    const char *name;
} watched[] = {
    {"machine", "cpu_model", "CPU"},
    {"machine", "cpus", "number of CPUs"},
    {"machine", "cpus_allowed", "allowed CPUs"},
    {"machine", "kernel", "kernel"},
    {"machine", "memory_mib", "memory"},
    {"machine", "governor", "governor"},
    {"machine", "virtualization", "virtualization"},
    {"machine", "smt", "SMT"},
    {"machine", "cgroup", "cgroup"},
    {"database", "kind", "database"},
    {"database", "version", "database's version"},
    {"database", "private", "private database"},
    {"database", "host_local", "database on this host"},
    {"database", "settings", "database settings"},
    {"database", "rows", "rows of the table"},
    {"database", "checksum", "content of the table"},
    {"run", "restbench", "restbench"},
    {"run", "tool", "load tool"},
    {"run", "cpus", "CPUs of server and generator"},
    {"run", "affinity", "way of pinning"},
    {"study", "seconds", "seconds of a window"},
    {"study", "warmup", "warm-up"},
    {"study", "pool", "pool"},
    {"study", "security", "security"},
    {"study", "timeout", "timeout"},
    {"study", "order", "order of rounds"},
    {"study", "tests", "configuration of tests"},
};

static char *shown(const json_t *value)
{
    char *line;

    if (json_is_string(value))
        return text_dup(json_string_value(value));
    line = json_is_object(value) || json_is_array(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    return line;
}

/* The members of two objects that are not equal. */
static void note_members(struct compare *compare, const char *name, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)a, key, value) {
        const json_t *other = json_object_get(b, key);

        if (other != NULL && json_equal(value, other))
            continue;
        char *x = shown(value), *y = other != NULL ? shown(other) : NULL;

        compare_note(compare, "differs: %s, %s: %s in base, %s in head", name, key, x != NULL ? x : "something",
                     y != NULL       ? y
                     : other != NULL ? "something else"
                                     : "nothing");
        free(x);
        free(y);
    }
    json_object_foreach ((json_t *)b, key, value) {
        if (json_object_get(a, key) == NULL)
            compare_note(compare, "differs: %s, %s: only in head", name, key);
    }
}

static void note_value(struct compare *compare, const char *name, const json_t *a, const json_t *b)
{
    char *x, *y;

    if (a == NULL || b == NULL || json_is_null(a) || json_is_null(b) || json_equal(a, b))
        return;
    if (json_is_object(a) && json_is_object(b)) {
        note_members(compare, name, a, b);
        return;
    }
    x = shown(a);
    y = shown(b);
    if (x != NULL && y != NULL)
        compare_note(compare, "differs: %s: %s in base, %s in head", name, x, y);
    else
        compare_note(compare, "differs: %s", name);
    free(x);
    free(y);
}

static void note_rows(struct compare *compare)
{
    static const char *const keys[] = {"approach", "caches", "processes", "pool"};

    for (size_t i = 0; i < compare->row_count; i++) {
        const struct machine_row *a = compare_run_machine_row(compare->base, compare->rows[i].base);
        const struct machine_row *b = compare_run_machine_row(compare->head, compare->rows[i].head);

        for (size_t k = 0; a != NULL && b != NULL && k < sizeof keys / sizeof keys[0]; k++) {
            char *name = text_format("%s of %s", keys[k], compare->rows[i].label);

            note_value(compare, name, json_object_get(a->json, keys[k]), json_object_get(b->json, keys[k]));
            free(name);
        }
        if (a != NULL && b != NULL)
            note_value(compare, compare->rows[i].label, json_object_get(a->json, "versions"),
                       json_object_get(b->json, "versions"));
    }
}

void compare_note_differences(struct compare *compare)
{
    const struct compare_run *base = compare->base, *head = compare->head;
    const json_t *a = base->machine.doc.root, *b = head->machine.doc.root;

    if (compare->design == INFER_PAIRED) {
        note_rows(compare);
        return;
    }
    if (!base->has_machine || !head->has_machine) {
        const char *without = base->has_machine ? head->csv : base->csv;

        compare_note(compare,
                     !base->has_machine && !head->has_machine
                         ? "neither file has a machine.json beside it: whether machine, database and configuration are "
                           "the same is not known"
                         : "%s has no machine.json beside it: whether machine, database and configuration are the same "
                           "is not known",
                     without);
        return;
    }
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++)
        note_value(compare, watched[i].name, json_object_get(json_object_get(a, watched[i].section), watched[i].key),
                   json_object_get(json_object_get(b, watched[i].section), watched[i].key));
    if (!json_equal(json_object_get(json_object_get(a, "machine"), "id"),
                    json_object_get(json_object_get(b, "machine"), "id")))
        compare_note(compare, "these were two machines: a difference may be theirs");
    if (!base->machine.complete || !head->machine.complete)
        compare_note(compare, "%s is not complete", base->machine.complete ? head->csv : base->csv);
    note_rows(compare);
}
