#include "study/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/pattern.h"
#include "base/text.h"
#include "study/config_test.h"

bool config_is_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

    return len > 0 && len <= 60 && name[len] == '\0' && name[0] != '.' && name[0] != '-';
}

static int read_servers(const struct json_at *at, struct study *study, struct err *err)
{
    const char **names;
    struct json_at list = json_at_key(at, "servers");

    if (json_at_strings(at, "servers", &names, &study->server_count, err) != 0)
        return -1;
    if (study->server_count == 0) {
        free(names);
        return json_at_error(list.value != NULL ? &list : at, err, "\"servers\" names none; name at least one folder");
    }
    study->servers = text_alloc((study->server_count + 1) * sizeof *study->servers);
    for (size_t i = 0; i < study->server_count; i++) {
        struct json_at here = json_at_index(&list, i);
        const char *colon = strchr(names[i], ':');
        char *folder = text_dup_n(names[i], colon != NULL ? (size_t)(colon - names[i]) : strlen(names[i]));
        bool good = config_is_name(folder) && (colon == NULL || config_is_name(colon + 1));

        free(folder);
        if (!good) {
            (void)json_at_error(&here, err, "\"%s\" is not a folder of servers/ (or FOLDER:VARIANT)", names[i]);
            free(names);
            return -1;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[k], names[i]) == 0) {
                (void)json_at_error(&here, err, "server \"%s\" is named twice", names[i]);
                free(names);
                return -1;
            }
        }
        study->servers[i] = text_dup(names[i]);
    }
    free(names);
    return 0;
}

static const double least_seconds = 0.05;
static const double most_seconds = 86400;

static int read_phase(const struct json_at *at, double seconds, struct study_phase *phase, struct err *err)
{
    static const char *const keys[] = {"name", "connections", "rate", "seconds", "note", NULL};
    static const double closed = 0;
    const char *name;
    char *fallback;
    int result = -1;

    if (json_at_only(at, keys, err) != 0 ||
        json_at_int(at, "connections", NULL, 1, 100000, &phase->connections, err) != 0)
        return -1;
    fallback = text_format("%lld", (long long)phase->connections);
    if (json_at_string(at, "name", fallback, &name, err) == 0) {
        phase->name = text_dup(name);
        result = json_at_number(at, "rate", &closed, 0, 1e8, &phase->rate_per_s, err);
    }
    free(fallback);
    if (result != 0 || json_at_number(at, "seconds", &seconds, least_seconds, most_seconds, &phase->seconds, err) != 0)
        return -1;
    if (!config_is_name(phase->name))
        return json_at_error(at, err, "the phase's name \"%s\" must be letters, digits, '_', '-' or '.'", phase->name);
    return 0;
}

static int read_phases(const struct json_at *at, struct study *study, struct err *err)
{
    static const double fifteen = 15;
    struct json_at list = json_at_key(at, "phases");
    double seconds;
    size_t count = 0;

    if (json_at_number(at, "seconds", &fifteen, least_seconds, most_seconds, &seconds, err) != 0)
        return -1;
    if (list.value == NULL)
        return json_at_error(at, err, "\"phases\" is missing");
    if (json_at_array(&list, &count, err) != 0)
        return -1;
    if (count == 0)
        return json_at_error(&list, err, "\"phases\" is empty; give at least one");
    study->phases = text_alloc(count * sizeof *study->phases);
    for (size_t i = 0; i < count; i++) {
        struct json_at here = json_at_index(&list, i);

        study->phase_count = i + 1;
        if (read_phase(&here, seconds, &study->phases[i], err) != 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(study->phases[k].name, study->phases[i].name) == 0)
                return json_at_error(&here, err, "phase \"%s\" is there twice; give each its own \"name\"",
                                     study->phases[i].name);
    }
    return 0;
}

static int read_warmup(const struct json_at *at, struct study *study, struct err *err)
{
    static const char *const keys[] = {"seconds", "connections", NULL};
    static const double five = 5;
    static const int64_t fifty = 50;
    struct json_at warmup = json_at_key(at, "warmup");

    study->warmup_seconds = five;
    study->warmup_connections = fifty;
    if (warmup.value == NULL)
        return 0;
    if (json_at_only(&warmup, keys, err) != 0 ||
        json_at_number(&warmup, "seconds", &five, 0, most_seconds, &study->warmup_seconds, err) != 0 ||
        json_at_int(&warmup, "connections", &fifty, 1, 100000, &study->warmup_connections, err) != 0)
        return -1;
    return 0;
}

/* A file that the study names: it must be there. */
static int read_path(const struct json_at *at, const char *key, const char *dir, char **path, struct err *err)
{
    const char *name;
    struct json_at here = json_at_key(at, key);

    if (here.value == NULL)
        return 0;
    if (json_at_string(at, key, NULL, &name, err) != 0)
        return -1;
    *path = fsx_join(dir, name);
    if (!fsx_exists(*path))
        return json_at_error(&here, err, "\"%s\": there is no file %s", key, *path);
    return 0;
}

static int read_database(const struct json_at *at, const char *dir, struct study *study, struct err *err)
{
    static const char *const keys[] = {"kind", "table", "rows", "schema", "seed", "reset", "checksum", NULL};
    struct json_at database = json_at_key(at, "database");
    const char *kind;
    const char *table;

    if (database.value == NULL)
        return json_at_error(at, err, "\"database\" is missing; {\"kind\": \"none\"} is a study without one");
    if (json_at_only(&database, keys, err) != 0 || json_at_string(&database, "kind", NULL, &kind, err) != 0)
        return -1;
    if (strcmp(kind, "none") == 0)
        return 0;
    if (strcmp(kind, "postgresql") != 0) {
        struct json_at here = json_at_key(&database, "kind");

        return json_at_error(&here, err, "\"kind\": \"%s\" is not known; give \"postgresql\" or \"none\"", kind);
    }
    study->has_database = true;
    if (json_at_string(&database, "table", NULL, &table, err) != 0 ||
        json_at_int(&database, "rows", NULL, 1, 100000000, &study->rows, err) != 0 ||
        read_path(&database, "schema", dir, &study->schema_path, err) != 0 ||
        read_path(&database, "seed", dir, &study->seed_path, err) != 0 ||
        read_path(&database, "reset", dir, &study->reset_path, err) != 0 ||
        read_path(&database, "checksum", dir, &study->checksum_path, err) != 0)
        return -1;
    study->table = text_dup(table);
    if (!config_is_name(table))
        return json_at_error(&database, err, "\"table\": \"%s\" is not a plain name", table);
    if (study->schema_path == NULL || study->seed_path == NULL || study->reset_path == NULL ||
        study->checksum_path == NULL)
        return json_at_error(&database, err, "\"database\" needs schema, seed, reset and checksum: files of SQL");
    return 0;
}

static int read_tests(const struct json_at *at, const char *dir, struct study *study, struct err *err)
{
    struct json_at list = json_at_key(at, "tests");
    size_t count = 0;

    if (list.value == NULL)
        return json_at_error(at, err, "\"tests\" is missing");
    if (json_at_array(&list, &count, err) != 0)
        return -1;
    if (count == 0)
        return json_at_error(&list, err, "\"tests\" is empty; give at least one");
    study->tests = text_alloc(count * sizeof *study->tests);
    for (size_t i = 0; i < count; i++) {
        struct json_at here = json_at_index(&list, i);

        study->test_count = i + 1;
        if (config_read_test(&here, dir, study->has_database, &study->tests[i], err) != 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(study->tests[k].name, study->tests[i].name) == 0)
                return json_at_error(&here, err, "test \"%s\" is there twice", study->tests[i].name);
    }
    return 0;
}

/* "key" must be one of two words; *second tells which. */
static int read_choice(const struct json_at *at, const char *key, const char *first, const char *second_word,
                       bool *second, struct err *err)
{
    struct json_at here = json_at_key(at, key);
    const char *word;

    if (json_at_string(at, key, first, &word, err) != 0)
        return -1;
    *second = strcmp(word, second_word) == 0;
    if (!*second && strcmp(word, first) != 0)
        return json_at_error(&here, err, "\"%s\": \"%s\" is not known; give \"%s\" or \"%s\"", key, word, first,
                             second_word);
    return 0;
}

static int read_timeout(const struct json_at *at, struct study *study, struct err *err)
{
    struct json_at here = json_at_key(at, "timeout");
    const char *word;

    if (json_at_string(at, "timeout", "2s", &word, err) != 0)
        return -1;
    if (text_parse_duration(word, &study->timeout_ns) != 0 || study->timeout_ns < 1000000)
        return json_at_error(&here, err, "\"timeout\": \"%s\" is not a duration such as \"2s\" (at least 1ms)", word);
    return 0;
}

static int read_study(const struct json_at *at, const char *dir, struct study *study, struct err *err)
{
    static const char *const keys[] = {"$schema", "format",      "title",   "servers",  "servers_folder", "rounds",
                                       "order",   "warmup",      "seconds", "phases",   "security",       "pool",
                                       "cpus",    "affinity",    "timeout", "database", "contract",       "tests",
                                       "note",    "calibration", "ceiling", NULL};
    static const int64_t three = 3;
    static const int64_t sixteen = 16;
    static const bool yes = true;
    static const bool no = false;
    bool forward;
    int64_t format;
    const char *title;
    const char *cpus;
    const char *servers_dir;

    if (json_at_only(at, keys, err) != 0 || json_at_int(at, "format", NULL, 1, 1, &format, err) != 0 ||
        json_at_string(at, "title", "", &title, err) != 0 || read_servers(at, study, err) != 0 ||
        json_at_string(at, "servers_folder", "../servers", &servers_dir, err) != 0 ||
        json_at_int(at, "rounds", &three, 1, 1000, &study->rounds, err) != 0 ||
        read_choice(at, "order", "alternating", "forward", &forward, err) != 0 || read_warmup(at, study, err) != 0 ||
        read_phases(at, study, err) != 0 || read_choice(at, "security", "none", "jwt", &study->jwt, err) != 0 ||
        json_at_int(at, "pool", &sixteen, 1, 10000, &study->pool, err) != 0 ||
        json_at_string(at, "cpus", "auto", &cpus, err) != 0 ||
        read_choice(at, "affinity", "before-exec", "after-start", &study->after_start, err) != 0 ||
        json_at_bool(at, "calibration", &yes, &study->calibrates, err) != 0 ||
        json_at_bool(at, "ceiling", &no, &study->ceiling, err) != 0 || read_timeout(at, study, err) != 0 ||
        read_database(at, dir, study, err) != 0 || read_path(at, "contract", dir, &study->contract_path, err) != 0 ||
        read_tests(at, dir, study, err) != 0)
        return -1;
    study->alternating = !forward;
    study->title = text_dup(title);
    study->cpus = text_dup(cpus);
    study->servers_dir = fsx_join(dir, servers_dir);
    return 0;
}

int config_load(const char *path, struct study *study, struct err *err)
{
    struct json_doc doc;
    struct json_at root;
    char *dir;
    int result;

    *study = (struct study){0};
    if (json_doc_load(path, &doc, err) != 0)
        return -1;
    root = json_at_root(&doc);
    dir = fsx_dirname(path);
    study->file = text_dup(path);
    study->json = json_deep_copy(doc.root);
    result = read_study(&root, dir, study, err);
    free(dir);
    json_doc_free(&doc);
    if (result != 0)
        config_free(study);
    return result;
}

void config_free(struct study *study)
{
    for (size_t i = 0; i < study->server_count && study->servers != NULL; i++)
        free(study->servers[i]);
    for (size_t i = 0; i < study->phase_count; i++)
        free(study->phases[i].name);
    for (size_t i = 0; i < study->test_count; i++)
        config_free_test(&study->tests[i]);
    free(study->servers);
    free(study->servers_dir);
    free(study->phases);
    free(study->tests);
    free(study->file);
    free(study->title);
    free(study->cpus);
    free(study->table);
    free(study->schema_path);
    free(study->seed_path);
    free(study->reset_path);
    free(study->checksum_path);
    free(study->contract_path);
    json_decref(study->json);
    *study = (struct study){0};
}

int config_choose_tests(const struct study *study, const char *expression, bool **tests, struct err *err)
{
    struct pattern *pattern = NULL;
    size_t chosen = 0;
    int result = 0;

    *tests = text_alloc(study->test_count * sizeof **tests);
    if (expression != NULL && (pattern = pattern_open("--tests", expression, err)) == NULL)
        return -1;
    for (size_t i = 0; i < study->test_count && result >= 0; i++) {
        result = pattern == NULL ? 1 : pattern_matches(pattern, study->tests[i].name, err);
        if (result == 0)
            result = pattern_matches(pattern, study->tests[i].title, err);
        (*tests)[i] = result > 0;
        chosen += result > 0;
    }
    pattern_close(pattern);
    if (result >= 0 && chosen == 0) {
        const char **names = text_realloc(NULL, study->test_count + 1, sizeof *names);

        for (size_t i = 0; i < study->test_count; i++)
            names[i] = study->tests[i].name;
        result = pattern_matched_none("--tests", "test", expression, names, study->test_count, err);
        free(names);
    }
    return result < 0 ? -1 : 0;
}
