#include "results/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"

static size_t stem_of(const char *path)
{
    size_t len = strlen(path);

    return len > 4 && strcmp(path + len - 4, ".csv") == 0 ? len - 4 : len;
}

char *record_beside(const char *csv, const char *suffix)
{
    return text_format("%.*s%s", (int)stem_of(csv), csv, suffix);
}

bool record_is_calibration(const char *csv)
{
    static const char *const ends[] = {"_calibration_before.csv", "_calibration_after.csv"};
    size_t len = strlen(csv);

    for (size_t i = 0; i < 2; i++)
        if (len > strlen(ends[i]) && strcmp(csv + len - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

static char *existing(const char *csv, const char *suffix)
{
    char *path = record_beside(csv, suffix);

    if (fsx_exists(path))
        return path;
    free(path);
    return NULL;
}

/* Things are shown in the order of the study, not in that of the file, which a resumed run may have mixed up. */
static void seed(struct record *record)
{
    const struct machine_file *machine = &record->machine;

    for (size_t i = 0; i < machine->row_count; i++)
        (void)cells_seed_row(&record->cells, machine->rows[i].title);
    for (size_t i = 0; i < machine->test_count; i++)
        (void)cells_seed_test(&record->cells, machine->tests[i].name);
    for (size_t i = 0; i < machine->phase_count; i++)
        if (machine->phases[i].connections > 0)
            (void)cells_seed_phase(&record->cells, machine->phases[i].connections);
}

/* A median that rests on fewer rounds than planned, for any figure that is known at all. */
static void mark_rounds(struct record *record)
{
    struct cells *cells = &record->cells;

    for (uint32_t i = 0; i < cells->group_count; i++) {
        struct cells_group *group = &cells->groups[i];
        size_t least = group->rounds;

        for (int figure = 0; figure < CELLS_FIGURES; figure++)
            if (group->spread[figure].count > 0 && group->spread[figure].count < least)
                least = group->spread[figure].count;
        if (least < record->rounds)
            cells_mark(cells, group, MARK_ROUNDS, 0, (double)least);
    }
}

/* The run's own, else that of its day: `restbench ceiling` with and without a CSV. */
static int load_ceiling(struct record *record, struct err *err)
{
    char *dir = fsx_dirname(record->csv);
    char *paths[2] = {record_beside(record->csv, "_ceiling.json"),
                      text_format("%s/%.10s_ceiling.json", dir, record->name)};
    int result = 0;

    for (size_t i = 0; i < 2; i++) {
        if (result == 0 && record->ceiling.root == NULL && fsx_exists(paths[i]))
            result = json_doc_load(paths[i], &record->ceiling, err);
        free(paths[i]);
    }
    free(dir);
    return result;
}

static int load(struct record *record, struct err *err)
{
    if (record->machine_path != NULL) {
        if (machine_file_load(record->machine_path, &record->machine, err) != 0)
            return -1;
        seed(record);
    }
    if (record->machine.test_count > 0)
        names_from_machine(&record->machine, &record->names);
    else
        names_from_installed(&record->names);
    if (cells_read(record->csv, &record->cells, err) != 0)
        return -1;
    record->rounds = record->machine.rounds > 0 ? (uint32_t)record->machine.rounds : record->cells.round_count;
    mark_rounds(record);
    record->drift_pct = json_get_number(json_object_get(record->machine.doc.root, "calibration"), "drift_pct");
    if (record->details != NULL && evidence_read(record->details, &record->cells, &record->evidence, err) != 0)
        return -1;
    return load_ceiling(record, err);
}

int record_open(const char *csv, struct record *record, struct err *err)
{
    const char *base = fsx_basename(csv);

    *record = (struct record){
        .csv = text_dup(csv),
        .name = text_dup_n(base, stem_of(base)),
        .details = existing(csv, "_details.jsonl"),
        .machine_path = existing(csv, "_machine.json"),
    };
    if (load(record, err) == 0)
        return 0;
    record_close(record);
    return -1;
}

void record_close(struct record *record)
{
    evidence_free(&record->evidence);
    cells_free(&record->cells);
    names_free(&record->names);
    machine_file_free(&record->machine);
    json_doc_free(&record->ceiling);
    free(record->csv);
    free(record->name);
    free(record->details);
    free(record->machine_path);
    *record = (struct record){0};
}

const char *record_test_title(const struct record *record, uint32_t test)
{
    const struct names_test *known = names_find_test(&record->names, record->cells.tests.strings[test]);

    return known != NULL ? known->title : record->cells.tests.strings[test];
}

bool record_test_uses_database(const struct record *record, uint32_t test)
{
    const struct names_test *known = names_find_test(&record->names, record->cells.tests.strings[test]);

    return known == NULL || known->database;
}

bool record_is_reference(const struct record *record, uint32_t row)
{
    return names_is_reference(&record->names, record->cells.titles.strings[row]);
}

const struct machine_row *record_machine_row(const struct record *record, uint32_t row)
{
    for (size_t i = 0; i < record->machine.row_count; i++)
        if (strcmp(record->machine.rows[i].title, record->cells.titles.strings[row]) == 0)
            return &record->machine.rows[i];
    return NULL;
}

double record_ceiling(const struct record *record, uint32_t test)
{
    json_t *item;
    size_t i;

    json_array_foreach (json_object_get(record->ceiling.root, "tests"), i, item) {
        const char *name = json_get_string(item, "name");
        double rate = json_get_number(item, "transactions_per_s");

        if (name != NULL && strcmp(name, record->cells.tests.strings[test]) == 0)
            return rate > 0 ? rate : NAN;
    }
    return NAN;
}

bool record_ceiling_matters(const struct record *record)
{
    for (uint32_t test = 0; test < record->cells.tests.count; test++)
        if (cells_has_test(&record->cells, test) && record_test_uses_database(record, test))
            return record->machine_path != NULL || record->ceiling.root != NULL;
    return false;
}
