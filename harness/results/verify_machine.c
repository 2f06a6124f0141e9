#include "results/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "results/machine_file.h"

static bool is_accounted_for(const struct verify *verify, const char *title, int64_t round, const char *test,
                             int64_t connections)
{
    char *key = verify_key(title, round, test, connections);
    bool found = verify_find(verify, title, round, test, connections) != NULL ||
                 intern_find(&verify->failed, key) != INTERN_NONE;

    free(key);
    return found;
}

/* A run that says it is complete holds every cell of the rows that it says were measured, or says that it failed. */
static void check_complete(struct verify *verify, const char *path, const char *csv, const struct machine_file *machine)
{
    for (size_t r = 0; r < machine->row_count; r++) {
        const struct machine_row *row = &machine->rows[r];

        if (!machine->complete || strcmp(row->status, "measured") != 0 || row->reason != NULL)
            continue;
        for (int64_t round = 1; round <= machine->rounds; round++)
            for (size_t t = 0; t < machine->test_count; t++)
                for (size_t p = 0; p < machine->phase_count; p++)
                    if (machine->phases[p].connections > 0 &&
                        !is_accounted_for(verify, row->title, round, machine->tests[t].name,
                                          machine->phases[p].connections))
                        verify_fault(verify, csv, 0, "no line for %s, round %lld, %s, %lld, which %s says was measured",
                                     row->title, (long long)round, machine->tests[t].name,
                                     (long long)machine->phases[p].connections, fsx_basename(path));
    }
}

static void check_rows(struct verify *verify, const char *path, const struct machine_file *machine)
{
    bool *known = text_alloc(verify->servers.count * sizeof *known);

    for (size_t i = 0; i < machine->row_count; i++) {
        uint32_t server = intern_find(&verify->servers, machine->rows[i].title);

        for (size_t k = 0; k < i; k++)
            if (strcmp(machine->rows[i].title, machine->rows[k].title) == 0)
                verify_fault(verify, path, 0, "two rows have one title: %s", machine->rows[i].title);
        if (server != INTERN_NONE)
            known[server] = true;
    }
    for (uint32_t i = 0; machine->row_count > 0 && i < verify->servers.count; i++)
        if (!known[i])
            verify_fault(verify, path, 0, "no row has the title %s, which the CSV holds", verify->servers.strings[i]);
    free(known);
}

void verify_machine(const char *path, const char *csv, struct verify *verify)
{
    struct machine_file machine;
    struct err fault = {0};
    const json_t *study;
    const char *recorded;
    char hash[FSX_SHA256_SIZE];

    if (machine_file_load(path, &machine, &fault) != 0) {
        verify_fault(verify, NULL, 0, "%s", fault.text);
        return;
    }
    study = json_object_get(machine.doc.root, "study");
    recorded = json_get_string(machine.doc.root, "study_sha256");
    machine_file_hash(study, json_object_get(machine.doc.root, "study_files"), hash);
    if (study != NULL && recorded != NULL && strcmp(recorded, hash) != 0)
        verify_fault(verify, path, 0, "study_sha256 is not the hash of the configuration in \"study\"");
    check_rows(verify, path, &machine);
    check_complete(verify, path, csv, &machine);
    machine_file_free(&machine);
}
