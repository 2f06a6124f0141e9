#include "study/duel_study.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/home.h"
#include "base/json.h"
#include "base/text.h"
#include "results/duel_report.h"
#include "study/duel.h"

/* A file name of the study as an absolute one: the study moves, its files stay. */
static void make_absolute(json_t *object, const char *key, const char *dir)
{
    const char *name = json_get_string(object, key);
    char *joined = name != NULL ? fsx_join(dir, name) : NULL;
    char *real = joined != NULL ? realpath(joined, NULL) : NULL;

    if (real != NULL)
        json_put(object, key, json_string(real));
    free(joined);
    free(real);
}

static void set_rows(json_t *study, const char *variant, const char *control)
{
    static const char *const arms[] = {DUEL_BASE, DUEL_HEAD, DUEL_AGAIN};
    json_t *servers = json_array();

    for (size_t i = 0; i < sizeof arms / sizeof arms[0]; i++) {
        char *id = variant != NULL ? text_format("%s:%s", arms[i], variant) : text_dup(arms[i]);

        (void)json_array_append_new(servers, json_string(id));
        free(id);
    }
    if (control != NULL)
        (void)json_array_append_new(servers, json_string(control));
    json_put(study, "servers", servers);
    json_put(study, "servers_folder", json_string("servers"));
    json_put(study, "order", json_string("alternating"));
    json_put(study, "rounds", json_integer(DUEL_PAIRS));
    json_put(study, "title", json_string("A duel: two builds of one server in turn"));
}

/* Shorter than the study: a difference needs many pairs more than long windows. */
static void shorten(json_t *study)
{
    json_t *phase = json_object(), *phases = json_array(), *warmup = json_object();
    char *name = text_format("%d", DUEL_CONNECTIONS);

    json_put(phase, "name", json_string(name));
    json_put(phase, "connections", json_integer(DUEL_CONNECTIONS));
    (void)json_array_append_new(phases, phase);
    json_put(study, "phases", phases);
    json_put(warmup, "seconds", json_integer(DUEL_WARMUP));
    json_put(warmup, "connections", json_integer(DUEL_CONNECTIONS));
    json_put(study, "warmup", warmup);
    json_put(study, "seconds", json_integer(DUEL_SECONDS));
    free(name);
}

int duel_study_write(const char *to, const char *given, const char *variant, const char *control, struct err *err)
{
    static const char *const database_keys[] = {"schema", "seed", "reset", "checksum"};
    char *config = given != NULL ? text_dup(given) : home_file("config/study.json", err);
    char *dir, *path, *text;
    struct json_doc doc = {0};
    json_t *test;
    size_t i;
    int result;

    if (config == NULL || json_doc_load(config, &doc, err) != 0) {
        free(config);
        return -1;
    }
    dir = fsx_dirname(config);
    make_absolute(doc.root, "contract", dir);
    for (i = 0; i < sizeof database_keys / sizeof database_keys[0]; i++)
        make_absolute(json_object_get(doc.root, "database"), database_keys[i], dir);
    json_array_foreach (json_object_get(doc.root, "tests"), i, test) {
        make_absolute(json_object_get(test, "body"), "file", dir);
        make_absolute(json_object_get(test, "expect"), "file", dir);
    }
    (void)json_object_del(doc.root, "$schema");
    set_rows(doc.root, variant, control);
    if (given == NULL)
        shorten(doc.root);
    path = fsx_join(to, "study.json");
    text = json_pretty(doc.root);
    result = fsx_write_new(path, text, strlen(text), 0644, err);
    json_doc_free(&doc);
    free(config);
    free(dir);
    free(path);
    free(text);
    return result;
}
