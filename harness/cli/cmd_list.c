/* restbench list - rows and tests, and exactly what each lacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/home.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "study/config.h"
#include "target/build.h"
#include "target/row.h"

struct list_args {
    const char *servers_dir;
    const char *state;
    bool json;
};

static const struct opt list_opts[] = {
    {0, "json", NULL, OPT_FLAG, offsetof(struct list_args, json), "machine-readable (harness/schema/list.schema.json)"},
    {0, "servers-dir", "DIR", OPT_STRING, offsetof(struct list_args, servers_dir),
     "folder with one folder a server (default: servers/ of the study)"},
    {0, "state", "DIR", OPT_STRING, offsetof(struct list_args, state), "where builds are kept"},
    {0},
};

/* "built", "not built yet", or what it lacks. */
static char *describe(struct row *row, const char *state_dir, bool *built)
{
    *built = row->state == ROW_PLANNED && build_is_ready(row, state_dir);
    if (row->state == ROW_SKIPPED)
        return text_dup(row->reason);
    if (row_is_observed(row))
        return text_dup("observed only: not built, started or pinned");
    return text_dup(*built ? "built" : "ready to build");
}

static void print_padded(const char *string, size_t width)
{
    printf("%s%*s", string, (int)(text_width(string) < width ? width - text_width(string) : 0), "");
}

static void print_text(struct rows *rows, const struct study *study, const char *state_dir)
{
    size_t id_width = 3;
    size_t title_width = 5;

    for (size_t i = 0; i < rows->count; i++) {
        size_t id = text_width(rows->items[i].id);
        size_t title = text_width(rows->items[i].title);

        id_width = id > id_width ? id : id_width;
        title_width = title > title_width ? title : title_width;
    }
    print_padded("row", id_width + 2);
    print_padded("title", title_width + 2);
    printf("state\n");
    for (size_t i = 0; i < rows->count; i++) {
        bool built;
        char *state = describe(&rows->items[i], state_dir, &built);

        print_padded(rows->items[i].id, id_width + 2);
        print_padded(rows->items[i].title, title_width + 2);
        printf("%s%s\n", rows->items[i].recipe->reference ? "reference, " : "", state);
        free(state);
    }
    printf("\ntests of %s\n", study->file);
    for (size_t i = 0; i < study->test_count; i++) {
        const struct study_test *test = &study->tests[i];

        printf("  ");
        print_padded(test->name, 14);
        print_padded(test->title, 24);
        printf("%s %s%s\n", test->method, test->path, test->uses_database ? "" : "  (no database)");
    }
}

static void print_json(struct rows *rows, const struct study *study, const char *state_dir)
{
    json_t *list = json_object();
    json_t *row_array = json_array();
    json_t *tests = json_array();
    char *text;

    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];
        json_t *object = json_object();
        bool built;
        char *state = describe(row, state_dir, &built);

        json_put(object, "id", json_string(row->id));
        json_put(object, "folder", json_string(row->recipe->folder));
        json_put(object, "variant", row->variant->name[0] != '\0' ? json_string(row->variant->name) : json_null());
        json_put(object, "title", json_string(row->title));
        json_put(object, "reference", json_boolean(row->recipe->reference));
        json_put(object, "approach", json_string(row->recipe->approach));
        json_put(object, "versions", json_incref(row->versions));
        json_put(object, "available", json_boolean(row->state != ROW_SKIPPED));
        json_put(object, "built", json_boolean(built));
        json_put(object, "lacks", row->state == ROW_SKIPPED ? json_string(row->reason) : json_null());
        (void)json_array_append_new(row_array, object);
        free(state);
    }
    for (size_t i = 0; i < study->test_count; i++) {
        json_t *object = json_object();

        json_put(object, "name", json_string(study->tests[i].name));
        json_put(object, "title", json_string(study->tests[i].title));
        json_put(object, "method", json_string(study->tests[i].method));
        json_put(object, "path", json_string(study->tests[i].path));
        json_put(object, "database", json_boolean(study->tests[i].uses_database));
        json_put(object, "writes", json_boolean(study->tests[i].writes));
        (void)json_array_append_new(tests, object);
    }
    json_put(list, "format", json_integer(1));
    json_put(list, "rows", row_array);
    json_put(list, "tests", tests);
    text = json_pretty(list);
    printf("%s\n", text);
    free(text);
    json_decref(list);
}

static int list(const struct list_args *args, const char *config, struct err *err)
{
    char *path = config != NULL ? text_dup(config) : home_file("config/study.json", err);
    char *state_dir = home_state(args->state, err);
    struct study study = {0};
    struct rows rows = {0};
    int result = -1;

    if (path != NULL && state_dir != NULL && config_load(path, &study, err) == 0 &&
        rows_load_all(args->servers_dir != NULL ? args->servers_dir : study.servers_dir, &rows, err) == 0) {
        rows_resolve(&rows);
        if (args->json)
            print_json(&rows, &study, state_dir);
        else
            print_text(&rows, &study, state_dir);
        result = 0;
    }
    rows_free(&rows);
    config_free(&study);
    free(state_dir);
    free(path);
    return result;
}

static int main_list(int argc, char **argv)
{
    struct list_args args = {0};
    struct err err = {0};
    int operands;

    switch (opts_parse(&cmd_list, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands > 1)
        (void)err_set(&err, "list %s: give at most one study file", argv[2]);
    else if (list(&args, operands == 1 ? argv[1] : NULL, &err) == 0)
        return 0;
    return opts_exit(&err);
}

const struct command cmd_list = {
    .name = "list",
    .summary = "rows, tests, and exactly what each lacks",
    .usage = "[OPTIONS] [CONFIG]",
    .description = "Lists every folder of servers/ with its variants: the title with the versions found here, and\n"
                   "whether it is built, can be built, or what is missing. Then the tests of the study\n"
                   "(config/study.json when no CONFIG is given).",
    .opts = list_opts,
    .main = main_list,
};
