#include "results/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/home.h"
#include "base/text.h"

static void add_test(struct names *names, const char *name, const char *title, bool database)
{
    names->tests = text_realloc(names->tests, names->test_count + 1, sizeof *names->tests);
    names->tests[names->test_count++] = (struct names_test){text_dup(name), text_dup(title), database};
}

static void add_reference(struct names *names, const char *title)
{
    names->references = text_realloc(names->references, names->reference_count + 1, sizeof *names->references);
    names->references[names->reference_count++] = text_dup(title);
}

void names_from_machine(const struct machine_file *machine, struct names *names)
{
    for (size_t i = 0; i < machine->test_count; i++)
        add_test(names, machine->tests[i].name, machine->tests[i].title, machine->tests[i].database);
    for (size_t i = 0; i < machine->row_count; i++)
        if (machine->rows[i].reference)
            add_reference(names, machine->rows[i].title);
}

static int load_installed(const char *name, struct json_doc *doc)
{
    struct err ignored = {0};
    char *path = home_file(name, &ignored);
    int result = path != NULL ? json_doc_load(path, doc, &ignored) : -1;

    free(path);
    return result;
}

/* A row of a study is "folder" or "folder:variant"; the folder's server.json says whether it is a reference. */
static void add_server(struct names *names, const char *row)
{
    char *path = text_format("servers/%.*s/server.json", (int)strcspn(row, ":"), row);
    struct json_doc doc = {0};

    if (load_installed(path, &doc) == 0 && json_is_true(json_object_get(doc.root, "reference")) &&
        json_get_string(doc.root, "title") != NULL)
        add_reference(names, json_get_string(doc.root, "title"));
    json_doc_free(&doc);
    free(path);
}

void names_from_installed(struct names *names)
{
    struct json_doc doc = {0};
    const json_t *item;
    size_t i;

    if (load_installed("config/study.json", &doc) != 0)
        return;
    json_array_foreach (json_object_get(doc.root, "tests"), i, item) {
        const char *name = json_get_string(item, "name");
        const char *title = json_get_string(item, "title");

        if (name != NULL)
            add_test(names, name, title != NULL && text_is_title(title) ? title : name,
                     !json_is_false(json_object_get(item, "database")));
    }
    json_array_foreach (json_object_get(doc.root, "servers"), i, item) {
        if (json_is_string(item))
            add_server(names, json_string_value(item));
    }
    json_doc_free(&doc);
}

void names_free(struct names *names)
{
    for (size_t i = 0; i < names->test_count; i++) {
        free(names->tests[i].name);
        free(names->tests[i].title);
    }
    for (size_t i = 0; i < names->reference_count; i++)
        free(names->references[i]);
    free(names->tests);
    free(names->references);
    *names = (struct names){0};
}

const struct names_test *names_find_test(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->test_count; i++)
        if (strcmp(names->tests[i].name, name) == 0)
            return &names->tests[i];
    return NULL;
}

/* {name} of a template stands for one or more characters of a version: letters, digits, '.', '-', '_' and '+'. */
static bool matches(const char *template, const char *title)
{
    const char *close;
    size_t version;

    while (*template != '\0' && *template != '{') {
        if (*template ++ != *title++)
            return false;
    }
    close = *template == '{' ? strchr(template, '}') : NULL;
    if (close == NULL)
        return strcmp(template, title) == 0;
    version = strspn(title, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_+");
    for (; version > 0; version--)
        if (matches(close + 1, title + version))
            return true;
    return false;
}

bool names_is_reference(const struct names *names, const char *title)
{
    for (size_t i = 0; i < names->reference_count; i++)
        if (matches(names->references[i], title))
            return true;
    return false;
}
