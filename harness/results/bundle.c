#include "results/bundle.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "results/bundle_parts.h"
#include "results/tables.h"

void bundle_note(struct bundle_writing *w, const char *format, ...)
{
    va_list args;
    char *line = NULL;

    va_start(args, format);
    if (vasprintf(&line, format, args) < 0)
        line = NULL;
    va_end(args);
    if (line != NULL)
        (void)json_array_append_new(w->notes, json_string(line));
    free(line);
}

const json_t *bundle_run(const struct bundle_writing *w)
{
    return json_object_get(w->record->machine.doc.root, "run");
}

static int add_beside(struct bundle_writing *w, const char *path, struct err *err)
{
    char *name = text_format("data/%s", fsx_basename(path));
    int result = fsx_exists(path) ? tarball_add_file(w->tarball, name, path, err) : 0;

    free(name);
    return result;
}

static int add_data(struct bundle_writing *w, struct err *err)
{
    char *folder = fsx_dirname(w->record->csv);
    int result = add_beside(w, w->record->csv, err);

    if (result == 0 && w->record->details != NULL)
        result = add_beside(w, w->record->details, err);
    else if (result == 0)
        bundle_note(w, "there is no %s_details.jsonl: the evidence of the cells is missing", w->record->name);
    if (result == 0)
        result = add_beside(w, w->record->machine_path, err);
    for (int after = 0; after < 2 && result == 0; after++) {
        char *path = text_format("%s/%.10s_calibration_%s.csv", folder, w->record->name, after ? "after" : "before");

        result = add_beside(w, path, err);
        free(path);
    }
    if (result == 0) {
        char *path = record_beside(w->record->csv, "_ceiling.json");

        result = add_beside(w, path, err);
        free(path);
    }
    free(folder);
    return result;
}

static int add_tables(struct bundle_writing *w, struct err *err)
{
    char *name = text_format("reports/%s.md", w->record->name);
    struct text text = {0};
    int result;

    tables_write(w->record, &text);
    result = tarball_add_bytes(w->tarball, name, text_string(&text), text.len, err);
    text_free(&text);
    free(name);
    return result;
}

static json_t *copy_of(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return value != NULL ? json_incref(value) : json_null();
}

static int add_description(struct bundle_writing *w, struct err *err)
{
    const json_t *run = bundle_run(w);
    json_t *json = json_object();
    char *text;
    int result;

    json_put(json, "format", json_integer(1));
    json_put(json, "name", json_string(w->record->name));
    text = text_format("data/%s.csv", w->record->name);
    json_put(json, "csv", json_string(text));
    free(text);
    json_put(json, "config",
             json_is_object(w->study) && w->config_dir != NULL ? json_string("config/study.json") : json_null());
    json_put(json, "servers", json_string("servers"));
    json_put(json, "command", copy_of(run, "command"));
    json_put(json, "tool", copy_of(run, "tool"));
    json_put(json, "tool_version", copy_of(run, "tool_version"));
    json_put(json, "measured_with", copy_of(run, "restbench"));
    json_put(json, "bundled_with", json_string(RESTBENCH_VERSION));
    json_put(json, "rows", json_incref(w->servers));
    json_put(json, "lacks", json_incref(w->notes));
    text = json_pretty(json);
    result = tarball_add_bytes(w->tarball, "bundle.json", text, strlen(text), err);
    free(text);
    json_decref(json);
    return result;
}

static const char readme[] =
    "A run of restbench, with everything that is needed to check and to repeat it.\n\n"
    "  sha256sum -c SHA256SUMS             are these the files that were put in?\n"
    "  restbench verify ARCHIVE            does the data contradict itself?\n"
    "  restbench report data/*.csv         tables, charts, a page\n"
    "  restbench run --from ARCHIVE        the same run on your machine\n\n"
    "data/ what was measured; reports/ its tables; config/ the configuration used; servers/ the sources of what was\n"
    "measured; bundle.json the command, versions, hashes of the binaries, and what the bundle lacks.\n";

static int add_all(struct bundle_writing *w, struct err *err)
{
    int result = add_data(w, err);

    if (result == 0)
        result = add_tables(w, err);
    if (result == 0)
        result = bundle_add_config(w, err);
    if (result == 0)
        result = bundle_add_servers(w, err);
    if (result == 0)
        result = add_description(w, err);
    if (result == 0)
        result = tarball_add_bytes(w->tarball, "README.txt", readme, sizeof readme - 1, err);
    if (result == 0) {
        char *sums = text_dup(tarball_sums(w->tarball));

        result = tarball_add_bytes(w->tarball, "SHA256SUMS", sums, strlen(sums), err);
        free(sums);
    }
    return result;
}

int bundle_write(const struct bundle_options *options, char **path, json_t **notes, struct err *err)
{
    struct record record;
    struct bundle_writing w = {.options = options, .record = &record};
    int64_t begin_s;
    int result;

    if (record_open(options->csv, &record, err) != 0)
        return -1;
    if (record.machine_path == NULL) {
        record_close(&record);
        return err_set(err, "%s: there is no machine.json beside it, so nobody could check or repeat what was measured",
                       options->csv);
    }
    /* The files' own time is that of a checkout: the same content is to have the same hash everywhere. */
    begin_s = clock_parse_utc_s(record.machine.started_utc);
    *path = options->out != NULL ? text_dup(options->out) : record_beside(options->csv, ".tar.gz");
    w.notes = json_array();
    w.servers = json_array();
    w.tarball = tarball_create(*path, record.name, begin_s >= 0 ? begin_s : 0, err);
    result = w.tarball != NULL ? add_all(&w, err) : -1;
    if (result == 0)
        result = tarball_finish(w.tarball, err);
    else if (w.tarball != NULL)
        tarball_abandon(w.tarball);
    *notes = w.notes;
    json_decref(w.servers);
    json_decref(w.study);
    intern_free(&w.files);
    free(w.config_dir);
    record_close(&record);
    if (result != 0) {
        free(*path);
        json_decref(*notes);
        *path = NULL;
        *notes = NULL;
    }
    return result;
}
