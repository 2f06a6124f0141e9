#include "target/recipe.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/pattern.h"
#include "base/text.h"

static const bool no = false;

static int check_pattern(const struct json_at *at, const char *pattern, struct err *err)
{
    struct err cause = {0};
    struct pattern *compiled = pattern_open_search("\"pattern\"", pattern, &cause);

    if (compiled == NULL)
        return json_at_error(at, err, "%s", cause.text);
    pattern_close(compiled);
    return 0;
}

static int read_env(const struct json_at *at, json_t **env, struct err *err)
{
    struct json_at object = json_at_key(at, "env");
    const char *name;
    json_t *value;

    *env = NULL;
    if (object.value == NULL)
        return 0;
    if (json_at_object(&object, err) != 0)
        return -1;
    json_object_foreach (object.value, name, value) {
        struct json_at here = json_at_key(&object, name);

        if (*name == '\0' || strchr(name, '=') != NULL || !json_is_string(value) ||
            strlen(json_string_value(value)) != json_string_length(value))
            return json_at_error(&here, err, "\"%s\" must be a variable's name with a string", name);
    }
    *env = object.value;
    return 0;
}

static int read_argv(const struct json_at *at, const char *key, bool required, const char ***argv, struct err *err)
{
    struct json_at here = json_at_key(at, key);
    size_t count;

    if (json_at_strings(at, key, argv, &count, err) != 0)
        return -1;
    if (here.value == NULL && !required)
        return 0;
    if (count == 0 || (*argv)[0][0] == '\0') {
        free(*argv);
        *argv = NULL;
        return json_at_error(here.value != NULL ? &here : at, err, "\"%s\" must be a program and its arguments", key);
    }
    return 0;
}

static int read_command(const struct json_at *at, const char *key, struct recipe_command *command, struct err *err)
{
    static const char *const keys[] = {"command", "env", "timeout_s", NULL};
    static const double fallback_s = 1800;
    struct json_at here = json_at_key(at, key);

    if (here.value == NULL)
        return 0;
    if (json_at_only(&here, keys, err) != 0 || read_argv(&here, "command", true, &command->argv, err) != 0 ||
        read_env(&here, &command->env, err) != 0 ||
        json_at_number(&here, "timeout_s", &fallback_s, 1, 86400, &command->timeout_s, err) != 0)
        return -1;
    return 0;
}

/* "env": a variable's name, or a list of names that are alternatives. */
static int read_variables(const struct json_at *at, struct recipe_need *need, struct err *err)
{
    struct json_at env = json_at_key(at, "env");
    size_t count = 1;

    if (json_is_array(env.value)) {
        if (json_at_strings(at, "env", &need->variables, &count, err) != 0)
            return -1;
    } else {
        need->variables = text_alloc(2 * sizeof *need->variables);
        if (json_at_string(at, "env", NULL, &need->variables[0], err) != 0)
            return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (need->variables[i][0] == '\0' || strchr(need->variables[i], '=') != NULL)
            return json_at_error(&env, err, "\"env\": \"%s\" is not a variable's name", need->variables[i]);
    if (count == 0)
        return json_at_error(&env, err, "\"env\" must be a variable's name, or a list of names");
    return json_at_string(at, "hint", "set it", &need->hint, err);
}

static int read_need(const struct json_at *at, struct recipe_need *need, struct err *err)
{
    static const char *const keys[] = {"name",     "env",     "search", "command", "pattern",
                                       "at_least", "set_env", "hint",   NULL};
    size_t count;

    if (json_at_only(at, keys, err) != 0)
        return -1;
    if (json_object_get(at->value, "env") != NULL)
        return read_variables(at, need, err);
    if (json_at_string(at, "name", NULL, &need->name, err) != 0 ||
        json_at_strings(at, "search", &need->search, &count, err) != 0 ||
        read_argv(at, "command", true, &need->argv, err) != 0 ||
        json_at_string(at, "pattern", "(\\d+(?:\\.\\d+)*)", &need->pattern, err) != 0 ||
        json_at_string(at, "at_least", "", &need->at_least, err) != 0 ||
        json_at_string(at, "set_env", "", &need->set_env, err) != 0 ||
        json_at_string(at, "hint", "", &need->hint, err) != 0)
        return -1;
    if (need->at_least[strspn(need->at_least, "0123456789.")] != '\0')
        return json_at_error(at, err, "\"at_least\": \"%s\" is not a version such as 1.25", need->at_least);
    return check_pattern(at, need->pattern, err);
}

static int read_needs(const struct json_at *at, struct recipe_need **needs, size_t *count, struct err *err)
{
    struct json_at list = json_at_key(at, "requires");
    size_t n;

    if (list.value == NULL)
        return 0;
    if (json_at_array(&list, &n, err) != 0)
        return -1;
    *needs = text_alloc(n * sizeof **needs);
    *count = n;
    for (size_t i = 0; i < n; i++) {
        struct json_at here = json_at_index(&list, i);

        if (read_need(&here, &(*needs)[i], err) != 0)
            return -1;
    }
    return 0;
}

static int read_version(const struct json_at *at, struct recipe_version *version, struct err *err)
{
    static const char *const keys[] = {"name", "command", "file", "pattern", NULL};

    if (json_at_only(at, keys, err) != 0 || json_at_string(at, "name", NULL, &version->name, err) != 0 ||
        read_argv(at, "command", false, &version->argv, err) != 0 ||
        json_at_string(at, "file", "", &version->file, err) != 0 ||
        json_at_string(at, "pattern", NULL, &version->pattern, err) != 0)
        return -1;
    if ((version->argv == NULL) == (version->file[0] == '\0'))
        return json_at_error(at, err, "version \"%s\" needs \"command\" or \"file\", one of them", version->name);
    if (version->file[0] == '/' || strstr(version->file, "..") != NULL)
        return json_at_error(at, err, "version \"%s\": \"file\" must lie in the server's folder", version->name);
    return check_pattern(at, version->pattern, err);
}

static int read_versions(const struct json_at *at, struct recipe *recipe, struct err *err)
{
    struct json_at list = json_at_key(at, "versions");
    size_t n;

    if (list.value == NULL)
        return 0;
    if (json_at_array(&list, &n, err) != 0)
        return -1;
    recipe->versions = text_alloc(n * sizeof *recipe->versions);
    recipe->version_count = n;
    for (size_t i = 0; i < n; i++) {
        struct json_at here = json_at_index(&list, i);

        if (read_version(&here, &recipe->versions[i], err) != 0)
            return -1;
    }
    return 0;
}

static int read_title(const struct json_at *at, const char *fallback, const char **title, struct err *err)
{
    struct json_at here = json_at_key(at, "title");

    if (json_at_string(at, "title", fallback, title, err) != 0)
        return -1;
    return text_is_title(*title) ? 0 : json_at_error(&here, err, "\"title\" must be one line of visible characters");
}

static int read_variant(const struct json_at *at, const char *title, struct recipe *recipe,
                        struct recipe_variant *variant, struct err *err)
{
    static const char *const keys[] = {"name", "title", "processes", "env", "run", "requires", "note", NULL};
    static const int64_t one = 1;

    if (json_at_only(at, keys, err) != 0 || json_at_string(at, "name", NULL, &variant->name, err) != 0 ||
        read_title(at, title, &variant->title, err) != 0 ||
        json_at_int(at, "processes", &one, 1, 1000, &variant->processes, err) != 0 ||
        read_env(at, &variant->env, err) != 0 || read_command(at, "run", &variant->run, err) != 0 ||
        read_needs(at, &variant->needs, &variant->need_count, err) != 0)
        return -1;
    for (struct recipe_variant *other = recipe->variants; other != variant; other++)
        if (strcmp(other->name, variant->name) == 0)
            return json_at_error(at, err, "variant \"%s\" is there twice", variant->name);
    if (variant->name[strspn(variant->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] !=
            '\0' ||
        variant->name[0] == '\0')
        return json_at_error(at, err, "a variant's name is made of letters, digits, '_' and '-'");
    return 0;
}

static int read_variants(const struct json_at *at, struct recipe *recipe, struct err *err)
{
    struct json_at list = json_at_key(at, "variants");
    const char *title;
    size_t n = 1;

    if (read_title(at, list.value != NULL ? recipe->folder : NULL, &title, err) != 0)
        return -1;
    if (list.value != NULL && json_at_array(&list, &n, err) != 0)
        return -1;
    if (n == 0)
        return json_at_error(&list, err, "\"variants\" is empty; leave it out when there is one form only");
    recipe->variants = text_alloc(n * sizeof *recipe->variants);
    recipe->variant_count = n;
    for (size_t i = 0; i < n; i++) {
        struct recipe_variant *variant = &recipe->variants[i];
        struct json_at here = json_at_index(&list, i);

        *variant = (struct recipe_variant){.name = "", .title = title, .processes = 1};
        if (list.value != NULL && read_variant(&here, title, recipe, variant, err) != 0)
            return -1;
        if (variant->run.argv == NULL && read_command(at, "run", &variant->run, err) != 0)
            return -1;
        if (variant->run.argv == NULL && recipe->observed == NULL)
            return json_at_error(at, err, "\"run\" is missing: the program and its arguments");
    }
    return 0;
}

static int read_recipe(const struct json_at *at, struct recipe *recipe, struct err *err)
{
    static const char *const keys[] = {"$schema",   "format",          "title",    "approach", "caches",
                                       "reference", "single_threaded", "observed", "requires", "build",
                                       "run",       "versions",        "variants", "port",     "start_timeout_s",
                                       "run_as",    "stop_timeout_s",  "note",     NULL};
    static const double start_s = 30;
    static const double stop_s = 10;
    static const int64_t any_port = 0;
    struct json_at approach = json_at_key(at, "approach");
    struct json_at caches = json_at_key(at, "caches");
    struct json_at observed = json_at_key(at, "observed");
    int64_t format;

    if (json_at_only(at, keys, err) != 0 || json_at_int(at, "format", NULL, 1, 1, &format, err) != 0 ||
        json_at_string(at, "approach", NULL, &recipe->approach, err) != 0)
        return -1;
    if (strcmp(recipe->approach, "standard") != 0 && strcmp(recipe->approach, "tuned") != 0)
        return json_at_error(&approach, err, "\"approach\" must be \"standard\" or \"tuned\"");
    if (caches.value != NULL && !json_is_null(caches.value) &&
        json_at_string(at, "caches", NULL, &recipe->caches, err) != 0)
        return -1;
    if (json_at_bool(at, "reference", &no, &recipe->reference, err) != 0 ||
        json_at_bool(at, "single_threaded", &no, &recipe->single_threaded, err) != 0 ||
        (observed.value != NULL && json_at_string(at, "observed", NULL, &recipe->observed, err) != 0) ||
        json_at_number(at, "start_timeout_s", &start_s, 0.1, 3600, &recipe->start_timeout_s, err) != 0 ||
        json_at_number(at, "stop_timeout_s", &stop_s, 0.1, 600, &recipe->stop_timeout_s, err) != 0 ||
        json_at_int(at, "port", &any_port, 0, 65535, &recipe->port, err) != 0 ||
        json_at_string(at, "run_as", "", &recipe->run_as, err) != 0 ||
        read_needs(at, &recipe->needs, &recipe->need_count, err) != 0 ||
        read_command(at, "build", &recipe->build, err) != 0 || read_versions(at, recipe, err) != 0 ||
        read_variants(at, recipe, err) != 0)
        return -1;
    return 0;
}

int recipe_load(const char *servers_dir, const char *folder, struct recipe *recipe, struct err *err)
{
    char *path;
    struct json_at root;
    int result;

    *recipe = (struct recipe){.folder = text_dup(folder), .dir = fsx_join(servers_dir, folder)};
    path = fsx_join(recipe->dir, "server.json");
    result = json_doc_load(path, &recipe->doc, err);
    free(path);
    if (result == 0) {
        root = json_at_root(&recipe->doc);
        result = read_recipe(&root, recipe, err);
    }
    if (result != 0)
        recipe_free(recipe);
    return result;
}

static void free_needs(struct recipe_need *needs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(needs[i].variables);
        free(needs[i].search);
        free(needs[i].argv);
    }
    free(needs);
}

void recipe_free(struct recipe *recipe)
{
    free_needs(recipe->needs, recipe->need_count);
    for (size_t i = 0; i < recipe->version_count; i++)
        free(recipe->versions[i].argv);
    for (size_t i = 0; i < recipe->variant_count; i++) {
        free_needs(recipe->variants[i].needs, recipe->variants[i].need_count);
        free(recipe->variants[i].run.argv);
    }
    free(recipe->build.argv);
    free(recipe->versions);
    free(recipe->variants);
    free(recipe->folder);
    free(recipe->dir);
    json_doc_free(&recipe->doc);
    *recipe = (struct recipe){0};
}
