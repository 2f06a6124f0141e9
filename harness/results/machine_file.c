#include "results/machine_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* A string, or NULL where it is missing or null; anything else is an error. */
static int optional_string(const struct json_at *at, const char *key, const char **value, struct err *err)
{
    *value = NULL;
    if (json_is_null(json_object_get(at->value, key)))
        return 0;
    return json_at_string(at, key, "", value, err) == 0 ? (**value == '\0' ? (*value = NULL, 0) : 0) : -1;
}

static int load_row(const struct json_at *at, struct machine_row *row, struct err *err)
{
    static const bool no = false;

    row->json = at->value;
    if (json_at_object(at, err) != 0 || json_at_string(at, "id", NULL, &row->id, err) != 0 ||
        json_at_string(at, "title", NULL, &row->title, err) != 0 ||
        json_at_string(at, "status", "planned", &row->status, err) != 0 ||
        optional_string(at, "reason", &row->reason, err) != 0 || optional_string(at, "log", &row->log, err) != 0 ||
        optional_string(at, "approach", &row->approach, err) != 0 ||
        optional_string(at, "caches", &row->caches, err) != 0 ||
        json_at_bool(at, "reference", &no, &row->reference, err) != 0)
        return -1;
    if (!text_is_title(row->title)) {
        struct json_at title = json_at_key(at, "title");

        return json_at_error(&title, err, "expected a name: no control characters, and not empty");
    }
    return 0;
}

static int load_test(const struct json_at *at, struct machine_test *test, struct err *err)
{
    static const bool yes = true;
    static const bool no = false;

    if (json_at_object(at, err) != 0 || json_at_string(at, "name", NULL, &test->name, err) != 0 ||
        json_at_string(at, "title", test->name, &test->title, err) != 0 ||
        json_at_bool(at, "database", &yes, &test->database, err) != 0)
        return -1;
    return json_at_bool(at, "writes", &no, &test->writes, err);
}

static int load_phase(const struct json_at *at, struct machine_phase *phase, struct err *err)
{
    if (json_at_object(at, err) != 0 || json_at_string(at, "name", NULL, &phase->name, err) != 0)
        return -1;
    if (json_is_integer(json_object_get(at->value, "connections")))
        phase->connections = json_integer_value(json_object_get(at->value, "connections"));
    return 0;
}

/* The elements of an array that may be missing; -1 with err when it is something else. */
static int list_of(const struct json_at *root, const char *key, size_t size, struct json_at *at, void **items,
                   size_t *count, struct err *err)
{
    *at = json_at_key(root, key);
    *count = 0;
    if (at->value == NULL)
        return 0;
    if (json_at_array(at, count, err) != 0)
        return -1;
    *items = text_alloc(*count * size);
    return 0;
}

static int load_lists(struct machine_file *machine, const struct json_at *root, struct err *err)
{
    struct json_at list;
    size_t count;

    if (list_of(root, "rows", sizeof *machine->rows, &list, (void **)&machine->rows, &count, err) != 0)
        return -1;
    for (; machine->row_count < count; machine->row_count++) {
        struct json_at item = json_at_index(&list, machine->row_count);

        if (load_row(&item, &machine->rows[machine->row_count], err) != 0)
            return -1;
    }
    if (list_of(root, "tests", sizeof *machine->tests, &list, (void **)&machine->tests, &count, err) != 0)
        return -1;
    for (; machine->test_count < count; machine->test_count++) {
        struct json_at item = json_at_index(&list, machine->test_count);

        if (load_test(&item, &machine->tests[machine->test_count], err) != 0)
            return -1;
    }
    if (list_of(root, "phases", sizeof *machine->phases, &list, (void **)&machine->phases, &count, err) != 0)
        return -1;
    for (; machine->phase_count < count; machine->phase_count++) {
        struct json_at item = json_at_index(&list, machine->phase_count);

        if (load_phase(&item, &machine->phases[machine->phase_count], err) != 0)
            return -1;
    }
    return 0;
}

static int load(struct machine_file *machine, struct err *err)
{
    static const int64_t unknown = 0;
    struct json_at root = json_at_root(&machine->doc);
    const json_t *run = json_object_get(root.value, "run");
    int64_t format;

    if (json_at_object(&root, err) != 0 || json_at_int(&root, "format", NULL, 1, 1, &format, err) != 0 ||
        json_at_int(&root, "rounds", &unknown, 0, 1000000, &machine->rounds, err) != 0)
        return -1;
    machine->mode = json_get_string(run, "mode");
    machine->started_utc = json_get_string(run, "started_utc");
    machine->complete = json_is_true(json_object_get(run, "complete"));
    return load_lists(machine, &root, err);
}

int machine_file_load(const char *path, struct machine_file *machine, struct err *err)
{
    *machine = (struct machine_file){0};
    if (json_doc_load(path, &machine->doc, err) != 0)
        return -1;
    if (load(machine, err) == 0)
        return 0;
    machine_file_free(machine);
    return -1;
}

void machine_file_free(struct machine_file *machine)
{
    free(machine->rows);
    free(machine->tests);
    free(machine->phases);
    json_doc_free(&machine->doc);
    *machine = (struct machine_file){0};
}

void machine_file_hash(const json_t *study, const json_t *files, char *hex)
{
    json_t *copy = json_copy((json_t *)study);
    char *line;
    struct text all = {0};
    const json_t *value;
    const char *key;

    (void)json_object_del(copy, "rounds");
    line = json_line(copy);
    text_add(&all, line);
    json_object_foreach ((json_t *)files, key, value) {
        text_addf(&all, "\n%s", json_is_string(value) ? json_string_value(value) : "");
    }
    fsx_sha256(all.data, all.len, hex);
    text_free(&all);
    free(line);
    json_decref(copy);
}
