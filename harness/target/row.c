#include "target/row.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void add_row(struct rows *rows, const struct recipe *recipe, const struct recipe_variant *variant)
{
    struct row *row;

    rows->items = text_realloc(rows->items, rows->count + 1, sizeof *rows->items);
    row = &rows->items[rows->count++];
    *row = (struct row){.recipe = recipe, .variant = variant, .versions = json_object()};
    row->id = variant->name[0] != '\0' ? text_format("%s:%s", recipe->folder, variant->name) : text_dup(recipe->folder);
    row->title = text_dup(variant->title);
}

/* A pointer to each recipe is kept, so that rows may borrow while the list grows. */
static struct recipe *get_recipe(struct rows *rows, const char *servers_dir, const char *folder, struct err *err)
{
    struct recipe *recipe;

    for (size_t i = 0; i < rows->recipe_count; i++)
        if (strcmp(rows->recipes[i]->folder, folder) == 0)
            return rows->recipes[i];
    recipe = text_alloc(sizeof *recipe);
    if (recipe_load(servers_dir, folder, recipe, err) != 0) {
        free(recipe);
        return NULL;
    }
    rows->recipes = text_realloc(rows->recipes, rows->recipe_count + 1, sizeof *rows->recipes);
    rows->recipes[rows->recipe_count++] = recipe;
    return recipe;
}

static int is_server(const char *servers_dir, const char *name)
{
    char *path = text_format("%s/%s/server.json", servers_dir, name);
    int found = name[0] != '.' && fsx_exists(path);

    free(path);
    return found;
}

/* Names of folders that hold a server.json, sorted; free each and the array. */
static size_t list_folders(const char *servers_dir, char ***names)
{
    struct dirent **entries = NULL;
    int n = scandir(servers_dir, &entries, NULL, alphasort);
    size_t count = 0;

    *names = text_alloc((size_t)(n > 0 ? n : 0) * sizeof **names + 1);
    for (int i = 0; i < n; i++) {
        if (is_server(servers_dir, entries[i]->d_name))
            (*names)[count++] = text_dup(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return count;
}

static int no_such_folder(const char *servers_dir, const char *folder, struct err *err)
{
    char **names;
    size_t count = list_folders(servers_dir, &names);
    const char *nearest = NULL;
    size_t best = 6;

    for (size_t i = 0; i < count; i++) {
        size_t distance = text_distance(names[i], folder);

        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    (void)err_set(err, "server \"%s\": there is no %s/%s/server.json%s%s", folder, servers_dir, folder,
                  nearest != NULL ? "; nearest: " : "", nearest != NULL ? nearest : "");
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return -1;
}

static int add_id(struct rows *rows, const char *servers_dir, const char *id, struct err *err)
{
    const char *colon = strchr(id, ':');
    char *folder = text_dup_n(id, colon != NULL ? (size_t)(colon - id) : strlen(id));
    struct recipe *recipe = NULL;
    struct text known = {0};
    bool added = false;

    if (!is_server(servers_dir, folder))
        (void)no_such_folder(servers_dir, folder, err);
    else
        recipe = get_recipe(rows, servers_dir, folder, err);
    free(folder);
    if (recipe == NULL)
        return -1;
    for (size_t i = 0; i < recipe->variant_count; i++) {
        const struct recipe_variant *variant = &recipe->variants[i];

        if (colon == NULL || strcmp(variant->name, colon + 1) == 0) {
            add_row(rows, recipe, variant);
            added = true;
        }
        text_addf(&known, "%s%s", i > 0 ? ", " : "", variant->name);
    }
    if (!added)
        (void)err_set(err, "server \"%s\": %s has no such variant; it has: %s", id, recipe->folder,
                      recipe->variants[0].name[0] != '\0' ? text_string(&known) : "none");
    text_free(&known);
    return added ? 0 : -1;
}

int rows_load(const char *servers_dir, char *const *ids, size_t count, struct rows *rows, struct err *err)
{
    *rows = (struct rows){0};
    for (size_t i = 0; i < count; i++) {
        if (add_id(rows, servers_dir, ids[i], err) != 0) {
            rows_free(rows);
            return -1;
        }
    }
    return 0;
}

int rows_load_all(const char *servers_dir, struct rows *rows, struct err *err)
{
    char **names;
    size_t count = list_folders(servers_dir, &names);
    int result;

    if (count == 0) {
        free(names);
        return err_set(err, "%s: no folder with a server.json; add one, or name another with --servers-dir",
                       servers_dir);
    }
    result = rows_load(servers_dir, names, count, rows, err);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return result;
}

static void free_row(struct row *row)
{
    free(row->id);
    free(row->title);
    free(row->reason);
    free(row->log);
    free(row->build_dir);
    json_decref(row->versions);
    json_decref(row->build);
    json_decref(row->launch);
    env_free(&row->found);
}

void rows_free(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free_row(&rows->items[i]);
    for (size_t i = 0; i < rows->recipe_count; i++) {
        recipe_free(rows->recipes[i]);
        free(rows->recipes[i]);
    }
    free(rows->items);
    free(rows->recipes);
    *rows = (struct rows){0};
}

static int matches(struct pattern *pattern, const struct row *row, struct err *err)
{
    const char *const names[] = {row->id, row->recipe->folder, row->title};

    for (size_t i = 0; i < 3; i++) {
        int result = pattern_matches(pattern, names[i], err);

        if (result != 0)
            return result;
    }
    return 0;
}

static int nothing_left(const struct rows *rows, const char *option, const char *expression, struct err *err)
{
    const char **names = text_realloc(NULL, rows->count + 1, sizeof *names);

    for (size_t i = 0; i < rows->count; i++)
        names[i] = rows->items[i].id;
    (void)pattern_matched_none(option, "row", expression, names, rows->count, err);
    free(names);
    return -1;
}

int rows_filter(struct rows *rows, const char *option, const char *expression, struct err *err)
{
    struct pattern *pattern = pattern_open(option, expression, err);
    bool *keep = text_alloc(rows->count + 1);
    size_t kept = 0;
    int result = pattern != NULL ? 0 : -1;

    for (size_t i = 0; i < rows->count && result >= 0; i++) {
        result = matches(pattern, &rows->items[i], err);
        keep[i] = result > 0;
        kept += result > 0;
    }
    pattern_close(pattern);
    if (result >= 0 && kept == 0)
        result = nothing_left(rows, option, expression, err);
    if (result >= 0) {
        kept = 0;
        for (size_t i = 0; i < rows->count; i++) {
            if (keep[i])
                rows->items[kept++] = rows->items[i];
            else
                free_row(&rows->items[i]);
        }
        rows->count = kept;
    }
    free(keep);
    return result < 0 ? -1 : 0;
}

int rows_check_titles(const struct rows *rows, struct err *err)
{
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(rows->items[i].title, rows->items[k].title) == 0)
                return err_set(err,
                               "%s and %s have the same title \"%s\": nobody could tell their figures apart; "
                               "change one title in server.json",
                               rows->items[k].id, rows->items[i].id, rows->items[i].title);
    return 0;
}

bool row_is_observed(const struct row *row)
{
    return row->recipe->observed != NULL && env_get(&row->found, row->recipe->observed) != NULL;
}

bool rows_any_observed(const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (row_is_observed(&rows->items[i]))
            return true;
    return false;
}

int row_observed_port(const char *url, struct err *err)
{
    static const char *const hosts[] = {"http://127.0.0.1:", "http://localhost:"};
    uint64_t port;

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (strncmp(url, hosts[i], strlen(hosts[i])) == 0 && text_parse_u64(url + strlen(hosts[i]), &port) == 0 &&
            port >= 1 && port <= 65535)
            return (int)port;
    return err_set(err, "%s: must be a server of this machine, such as http://127.0.0.1:8080", url);
}

int rows_observe(struct rows *rows, const char *url, struct err *err)
{
    if (url == NULL)
        return 0;
    if (row_observed_port(url, err) < 0)
        return -1;
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].recipe->observed != NULL)
            env_set(&rows->items[i].found, rows->items[i].recipe->observed, url);
    return 0;
}

void row_set_launch(struct row *row, json_t *record)
{
    if (row->launch == NULL)
        row->launch = json_incref(record);
}

void row_set_state(struct row *row, enum row_state state, const char *log, const char *reason)
{
    row->state = state;
    if (reason == NULL || row->reason != NULL)
        return;
    row->reason = text_dup(reason);
    row->log = log != NULL ? text_dup(log) : NULL;
}

const char *row_state_name(enum row_state state)
{
    static const char *const names[] = {"planned", "skipped", "failed", "measured"};

    return names[state];
}

static json_t *string_or_null(const char *string)
{
    return string != NULL && string[0] != '\0' ? json_string(string) : json_null();
}

json_t *row_to_json(const struct row *row, long long pool)
{
    long long processes = row->variant->processes;
    json_t *object = json_object();
    json_t *command = json_array();

    for (const char **arg = row_is_observed(row) ? NULL : row->variant->run.argv; arg != NULL && *arg != NULL; arg++)
        (void)json_array_append_new(command, json_string(*arg));
    json_put(object, "id", json_string(row->id));
    json_put(object, "folder", json_string(row->recipe->folder));
    json_put(object, "variant", string_or_null(row->variant->name));
    json_put(object, "title", json_string(row->title));
    json_put(object, "reference", json_boolean(row->recipe->reference));
    json_put(object, "approach", json_string(row->recipe->approach));
    json_put(object, "caches", string_or_null(row->recipe->caches));
    json_put(object, "processes", json_integer(processes));
    json_put(object, "pool", json_integer(pool / processes * processes));
    json_put(object, "versions", json_incref(row->versions));
    json_put(object, "build_hash", string_or_null(row->build_hash));
    json_put(object, "run_command", command);
    json_put(object, "build", row->build != NULL ? json_incref(row->build) : json_null());
    json_put(object, "launch", row->launch != NULL ? json_incref(row->launch) : json_null());
    json_put(object, "status", json_string(row_state_name(row->state)));
    json_put(object, "reason", string_or_null(row->reason));
    json_put(object, "log", string_or_null(row->log));
    return object;
}
