#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fsx.h"
#include "base/json.h"
#include "base/tarball.h"
#include "base/text.h"
#include "results/bundle.h"
#include "results/intern.h"

#define SUMS "SHA256SUMS"

bool bundle_is(const char *path)
{
    size_t len = strlen(path);

    return len > 7 && strcmp(path + len - 7, ".tar.gz") == 0;
}

/* The one folder that a bundle consists of; NULL: there is none, or more than one thing. */
static char *only_folder(const char *into)
{
    DIR *dir = opendir(into);
    struct dirent *entry;
    char *found = NULL;
    size_t count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        free(found);
        found = fsx_join(into, entry->d_name);
    }
    if (dir != NULL)
        (void)closedir(dir);
    if (count == 1 && fsx_is_dir(found))
        return found;
    free(found);
    return NULL;
}

/* "HEX  NAME": the member must be there and have this hash. */
static int check_line(const char *dir, char *line, struct intern *known, struct err *err)
{
    char hex[FSX_SHA256_SIZE];
    char *name, *path;
    int result;

    if (strlen(line) < 67 || strncmp(line + 64, "  ", 2) != 0)
        return err_fail(err, SUMS ": not a line of sha256sum: %.80s", line);
    line[64] = '\0';
    name = line + 66;
    path = fsx_join(dir, name);
    result = fsx_sha256_file(path, hex, err);
    if (result == 0 && strcmp(hex, line) != 0)
        result = err_fail(err, "%s is not the file that was put in: its hash differs", name);
    if (result == 0)
        (void)intern_add(known, name);
    free(path);
    return result;
}

/* Every file must be named in the sums: something slipped in is no part of the run. */
static int check_names(const char *dir, const char *prefix, const struct intern *known, struct err *err)
{
    DIR *stream = opendir(dir);
    struct dirent *entry;
    int result = 0;

    if (stream == NULL)
        return err_sys(err, "%s: cannot read the folder", dir);
    while (result == 0 && (entry = readdir(stream)) != NULL) {
        char *path = fsx_join(dir, entry->d_name);
        char *name = text_format("%s%s%s", prefix, *prefix != '\0' ? "/" : "", entry->d_name);
        struct stat status;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || strcmp(name, SUMS) == 0)
            ;
        else if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode))
            result = check_names(path, name, known, err);
        else if (S_ISREG(status.st_mode) && intern_find(known, name) == INTERN_NONE)
            result = err_fail(err, "%s is not named in " SUMS, name);
        free(path);
        free(name);
    }
    (void)closedir(stream);
    return result;
}

static int check(const char *dir, struct err *err)
{
    char *path = fsx_join(dir, SUMS), *text, *rest, *line;
    struct intern known = {0};
    size_t len;
    int result = fsx_read(path, 64U << 20, &text, &len, err);

    free(path);
    if (result != 0)
        return -1;
    for (rest = text; result == 0 && (line = strsep(&rest, "\n")) != NULL;)
        if (*line != '\0')
            result = check_line(dir, line, &known, err);
    if (result == 0)
        result = check_names(dir, "", &known, err);
    intern_free(&known);
    free(text);
    return result;
}

static char *member(const char *dir, const json_t *json, const char *key)
{
    const char *name = json_get_string(json, key);

    return name != NULL ? fsx_join(dir, name) : NULL;
}

int bundle_open(const char *path, const char *into, struct bundle *bundle, struct err *err)
{
    struct json_doc doc = {0};
    char *description;
    int result;

    *bundle = (struct bundle){0};
    if (tarball_extract(path, into, err) != 0)
        return -1;
    bundle->dir = only_folder(into);
    if (bundle->dir == NULL)
        return err_set(err, "%s: no bundle of restbench: it should hold one folder", path);
    description = fsx_join(bundle->dir, "bundle.json");
    result = check(bundle->dir, err);
    if (result == 0)
        result = json_doc_load(description, &doc, err);
    if (result == 0) {
        const char *tool = json_get_string(doc.root, "tool");

        bundle->csv = member(bundle->dir, doc.root, "csv");
        bundle->config = member(bundle->dir, doc.root, "config");
        bundle->servers = member(bundle->dir, doc.root, "servers");
        bundle->tool = tool != NULL ? text_dup(tool) : NULL;
        if (json_integer_value(json_object_get(doc.root, "format")) != 1 || bundle->csv == NULL)
            result = err_set(err, "bundle.json: expected \"format\": 1 and \"csv\"");
    }
    json_doc_free(&doc);
    free(description);
    if (result == 0)
        return 0;
    bundle_free(bundle);
    return err_prefix(err, "%s", path);
}

void bundle_free(struct bundle *bundle)
{
    free(bundle->dir);
    free(bundle->csv);
    free(bundle->config);
    free(bundle->servers);
    free(bundle->tool);
    *bundle = (struct bundle){0};
}

static bool holds(const struct bundle *bundle, const char *row)
{
    char *folder = text_dup_n(row, strcspn(row, ":"));
    char *recipe = text_format("%s/%s/server.json", bundle->servers, folder);
    bool found = fsx_exists(recipe);

    free(recipe);
    free(folder);
    return found;
}

int bundle_keep_what_it_holds(const struct bundle *bundle, char **names, struct err *err)
{
    struct json_doc doc;
    struct text lost = {0};
    json_t *kept = json_array();
    json_t *row;
    char *text;
    size_t i;
    int result = json_doc_load(bundle->config, &doc, err);

    json_array_foreach (result == 0 ? json_object_get(doc.root, "servers") : NULL, i, row) {
        if (json_is_string(row) && holds(bundle, json_string_value(row)))
            (void)json_array_append(kept, row);
        else if (json_is_string(row))
            text_addf(&lost, "%s%s", lost.len > 0 ? ", " : "", json_string_value(row));
    }
    if (result == 0 && json_array_size(kept) == 0)
        result =
            err_set(err, "the bundle holds the source of no server (%s); give --servers-dir DIR", text_string(&lost));
    if (result == 0 && lost.len > 0) {
        json_put(doc.root, "servers", json_incref(kept));
        text = json_pretty(doc.root);
        result = fsx_write_atomic(bundle->config, text, strlen(text), 0644, err);
        free(text);
    }
    json_decref(kept);
    json_doc_free(&doc);
    *names = text_take(&lost);
    return result;
}
