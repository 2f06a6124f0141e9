#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "results/bundle_parts.h"

/* The study file that was run: as it was named, or from the folder above the data. */
static void find_config(struct bundle_writing *w)
{
    const char *config = json_get_string(bundle_run(w), "config");
    char *folder = fsx_dirname(w->record->csv);
    char *other = config != NULL ? text_format("%s/../%s", folder, config) : NULL;

    if (config != NULL && fsx_exists(config))
        w->config_dir = fsx_dirname(config);
    else if (config != NULL && *config != '/' && fsx_exists(other))
        w->config_dir = fsx_dirname(other);
    else
        bundle_note(
            w, "the study file %s is not where it was: the files that it names are missing, so run --from cannot work",
            config != NULL ? config : "(not recorded)");
    free(folder);
    free(other);
}

/* Puts one file that the configuration names under config/files, and its new name into the configuration. */
static int add_named(struct bundle_writing *w, json_t *object, const char *key, struct err *err)
{
    const char *name = json_get_string(object, key);
    char *path, *member;
    int result = 0;

    if (name == NULL || w->config_dir == NULL)
        return 0;
    path = fsx_join(w->config_dir, name);
    member = text_format("files/%s", fsx_basename(path));
    for (int i = 2; intern_find(&w->files, member) != INTERN_NONE; i++) {
        free(member);
        member = text_format("files/%d_%s", i, fsx_basename(path));
    }
    (void)intern_add(&w->files, member);
    if (!fsx_exists(path)) {
        bundle_note(w, "%s, named in the configuration, is missing", path);
    } else {
        const json_t *hashes = json_object_get(w->record->machine.doc.root, "study_files");
        const char *measured = json_get_string(hashes, key);
        char *full = text_format("config/%s", member);
        char hex[FSX_SHA256_SIZE];

        if (measured != NULL && fsx_sha256_file(path, hex, err) == 0 && strcmp(hex, measured) != 0)
            bundle_note(w, "%s has changed since the run", path);

        result = tarball_add_file(w->tarball, full, path, err);
        free(full);
    }
    json_put(object, key, json_string(member));
    free(member);
    free(path);
    return result;
}

int bundle_add_config(struct bundle_writing *w, struct err *err)
{
    static const char *const database_keys[] = {"schema", "seed", "reset", "checksum"};
    json_t *test, *database;
    size_t i;
    char *text;
    int result;

    w->study = json_deep_copy(json_object_get(w->record->machine.doc.root, "study"));
    if (!json_is_object(w->study)) {
        bundle_note(w, "machine.json holds no configuration");
        return 0;
    }
    find_config(w);
    database = json_object_get(w->study, "database");
    result = add_named(w, w->study, "contract", err);
    for (i = 0; i < sizeof database_keys / sizeof database_keys[0] && result == 0; i++)
        result = add_named(w, database, database_keys[i], err);
    json_array_foreach (json_object_get(w->study, "tests"), i, test) {
        if (result == 0)
            result = add_named(w, json_object_get(test, "body"), "file", err);
        if (result == 0)
            result = add_named(w, json_object_get(test, "requests"), "file", err);
        if (result == 0)
            result = add_named(w, json_object_get(test, "expect"), "file", err);
    }
    (void)json_object_del(w->study, "$schema");
    text = json_pretty(w->study);
    if (result == 0)
        result = tarball_add_bytes(w->tarball, "config/study.json", text, strlen(text), err);
    free(text);
    return result;
}
