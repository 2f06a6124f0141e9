#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "results/bundle_parts.h"

/* SHA-256 of the program that the row ran, from the kept build; null when it is gone or is not in it. */
static json_t *binary_hash(const struct bundle_writing *w, const struct machine_row *row, const char *folder)
{
    const char *hash = json_get_string(row->json, "build_hash");
    const char *program = json_string_value(json_array_get(json_object_get(row->json, "run_command"), 0));
    char hex[FSX_SHA256_SIZE];
    struct err ignored = {0};
    char *path;
    int result;

    if (w->options->state_dir == NULL || hash == NULL || program == NULL)
        return json_null();
    path = *program == '/' ? text_dup(program)
                           : text_format("%s/build/%s/%s/%s", w->options->state_dir, folder, hash, program);
    result = fsx_sha256_file(path, hex, &ignored);
    free(path);
    return result == 0 ? json_string(hex) : json_null();
}

static int add_server(struct bundle_writing *w, const struct machine_row *row, const char *servers_dir,
                      struct intern *done, struct err *err)
{
    const char *folder = json_get_string(row->json, "folder");
    const char *expected = json_get_string(row->json, "build_hash");
    char hex[FSX_SHA256_SIZE] = "";
    struct err ignored = {0};
    json_t *entry = json_object();
    char *dir, *member;
    bool same, first;
    int result = 0;

    folder = folder != NULL ? folder : row->id;
    dir = fsx_join(servers_dir, folder);
    member = text_format("servers/%s", folder);
    first = intern_find(done, folder) == INTERN_NONE;
    same =
        fsx_is_dir(dir) && fsx_sha256_tree(dir, hex, &ignored) == 0 && expected != NULL && strcmp(hex, expected) == 0;
    if (same && first)
        result = tarball_add_tree(w->tarball, member, dir, err);
    else if (!same)
        bundle_note(w, "%s: the folder %s is not (or no longer) what was measured: its source is not in the bundle",
                    row->id, dir);
    (void)intern_add(done, folder);
    json_put(entry, "id", json_string(row->id));
    json_put(entry, "source_sha256", expected != NULL ? json_string(expected) : json_null());
    json_put(entry, "source", same ? json_string(member) : json_null());
    json_put(entry, "binary_sha256", binary_hash(w, row, folder));
    json_put(entry, "versions", json_incref(json_object_get(row->json, "versions")));
    (void)json_array_append_new(w->servers, entry);
    free(member);
    free(dir);
    return result;
}

int bundle_add_servers(struct bundle_writing *w, struct err *err)
{
    const struct machine_file *machine = &w->record->machine;
    const char *named = json_get_string(w->study, "servers_folder");
    char *dir = NULL;
    struct intern done = {0};
    int result = 0;

    if (w->options->servers_dir != NULL)
        dir = text_dup(w->options->servers_dir);
    else if (w->config_dir != NULL)
        dir = fsx_join(w->config_dir, named != NULL ? named : "../servers");
    for (size_t i = 0; i < machine->row_count && result == 0 && dir != NULL; i++)
        if (strcmp(machine->rows[i].status, "measured") == 0)
            result = add_server(w, &machine->rows[i], dir, &done, err);
    intern_free(&done);
    free(dir);
    return result;
}
