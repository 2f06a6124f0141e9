#include "study/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/cpus.h"
#include "results/machine_file.h"
#include "study/progress.h"
#include "study/until.h"
#include "tools/tool.h"

/* "50,200": one closed phase each, named by its number. */
static int set_connections(struct study *study, const char *list, double seconds, struct err *err)
{
    for (size_t i = 0; i < study->phase_count; i++)
        free(study->phases[i].name);
    study->phase_count = 0;
    for (const char *at = list;; at++) {
        size_t len = strcspn(at, ",");
        char *number = text_dup_n(at, len);
        uint64_t connections;
        bool good = text_parse_u64(number, &connections) == 0 && connections >= 1 && connections <= 100000;

        for (size_t i = 0; good && i < study->phase_count; i++)
            good = strcmp(study->phases[i].name, number) != 0;
        if (!good) {
            (void)err_set(err, "--connections %s: give different numbers from 1 to 100000, such as 50,200", list);
            free(number);
            return -1;
        }
        study->phases = text_realloc(study->phases, study->phase_count + 1, sizeof *study->phases);
        study->phases[study->phase_count++] =
            (struct study_phase){.name = number, .connections = (int64_t)connections, .seconds = seconds};
        at += len;
        if (*at == '\0')
            return 0;
    }
}

static int apply(const struct run_options *options, struct study *study, struct err *err)
{
    if (options->rounds == 0 || options->rounds > 1000)
        return err_set(err, "--rounds %lld: give 1 to 1000", (long long)options->rounds);
    if (options->rounds > 0)
        study->rounds = options->rounds;
    else if (options->until_pct > 0)
        study->rounds = UNTIL_ROUNDS_MOST;
    if (options->window_ns >= 0 && options->window_ns < 50 * CLOCK_NS_PER_MS)
        return err_set(err, "--seconds: a window of less than 50 ms measures nothing; give at least 0.05");
    if (options->connections != NULL &&
        set_connections(study, options->connections, study->phases[0].seconds, err) != 0)
        return -1;
    for (size_t i = 0; i < study->phase_count && options->window_ns >= 0; i++)
        study->phases[i].seconds = (double)options->window_ns / (double)CLOCK_NS_PER_S;
    if (options->warmup_ns >= 0)
        study->warmup_seconds = (double)options->warmup_ns / (double)CLOCK_NS_PER_S;
    if (options->security != NULL) {
        study->jwt = strcmp(options->security, "jwt") == 0;
        if (!study->jwt && strcmp(options->security, "none") != 0)
            return err_set(err, "--security %s: give none or jwt", options->security);
    }
    if (options->affinity != NULL) {
        study->after_start = strcmp(options->affinity, "after-start") == 0;
        if (!study->after_start && strcmp(options->affinity, "before-exec") != 0)
            return err_set(err, "--affinity %s: give before-exec or after-start", options->affinity);
    }
    if (options->tool != NULL && tool_find(options->tool, err) == NULL)
        return -1;
    if (options->ceiling != NULL && strcmp(options->ceiling, "yes") != 0 && strcmp(options->ceiling, "no") != 0)
        return err_set(err, "--ceiling %s: give yes or no", options->ceiling);
    if (options->cpus != NULL) {
        free(study->cpus);
        study->cpus = text_dup(options->cpus);
    }
    return 0;
}

static int resolve(const struct run_options *options, struct setup *setup, struct err *err)
{
    struct err wrong = {0};

    if (rows_observe(&setup->rows, options->url, &wrong) != 0)
        return err_set(err, "--url %s", wrong.text);
    rows_resolve(&setup->rows);
    return 0;
}

static int check_rows(const struct run_options *options, const struct setup *setup, struct err *err)
{
    const char *secret = getenv("JWT_SECRET");

    if (options->url != NULL && !rows_any_observed(&setup->rows))
        return err_set(err, "--url %s: no chosen row observes a server that already listens; choose one with --servers",
                       options->url);
    if (setup->study.jwt && rows_any_observed(&setup->rows) && (secret == NULL || *secret == '\0'))
        return err_set(err, "--security jwt with a server that already listens: set JWT_SECRET to its secret");
    return rows_check_titles(&setup->rows, err);
}

static bool is_of_study(const struct study *study, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < study->server_count; i++)
        if (strncasecmp(study->servers[i], name, len) == 0 &&
            (study->servers[i][len] == '\0' || (study->servers[i][len] == ':' && strchr(name, ':') == NULL)))
            return true;
    return false;
}

/* A row that an alternative of the pattern names outright takes part, also when the study does not name it. */
static void add_named_rows(const char *pattern, const char *dir, struct study *study)
{
    size_t len;

    for (const char *at = pattern; *at != '\0'; at += len + (at[len] == '|')) {
        char *name = text_dup_n(at, len = strcspn(at, "|"));
        char *folder = text_dup_n(name, strcspn(name, ":"));
        char *recipe = text_format("%s/%s/server.json", dir, folder);
        const char *variant = strchr(name, ':');

        if (config_is_name(folder) && (variant == NULL || config_is_name(variant + 1)) && !is_of_study(study, name) &&
            fsx_exists(recipe)) {
            study->servers = text_realloc(study->servers, study->server_count + 2, sizeof *study->servers);
            study->servers[study->server_count++] = text_dup(name);
            study->servers[study->server_count] = NULL;
        }
        free(recipe);
        free(folder);
        free(name);
    }
}

/* Rows of the study; where the pattern matches none of them, any folder of servers/ may be meant. */
static int choose_rows(const struct run_options *options, struct setup *setup, struct err *err)
{
    const char *dir = options->servers_dir != NULL ? options->servers_dir : setup->study.servers_dir;
    const size_t own = setup->study.server_count;
    struct err none = {0};

    if (options->servers != NULL)
        add_named_rows(options->servers, dir, &setup->study);
    if (rows_load(dir, setup->study.servers, setup->study.server_count, &setup->rows, err) != 0)
        return err_prefix(err, "%s", setup->study.file);
    if (resolve(options, setup, err) != 0)
        return -1;
    if (options->servers == NULL || rows_filter(&setup->rows, "--servers", options->servers, &none) == 0) {
        if (check_rows(options, setup, err) != 0)
            return -1;
        for (size_t i = own; i < setup->study.server_count; i++)
            log_line("plan       %s: not in %s, taken from %s", setup->study.servers[i], setup->study.file, dir);
        return 0;
    }
    rows_free(&setup->rows);
    if (strstr(none.text, "no row matches") == NULL)
        return err_set(err, "%s", none.text);
    if (rows_load_all(dir, &setup->rows, err) != 0 || resolve(options, setup, err) != 0 ||
        rows_filter(&setup->rows, "--servers", options->servers, err) != 0 || check_rows(options, setup, err) != 0)
        return -1;
    log_line("plan       %s names none of these rows; they are taken from %s", setup->study.file, dir);
    return 0;
}

/* The file's content with what was chosen and overridden in its place. */
static json_t *make_effective(const struct setup *setup)
{
    const struct study *study = &setup->study;
    json_t *effective = json_copy(study->json);
    json_t *servers = json_array();
    json_t *tests = json_array();
    json_t *phases = json_array();
    json_t *warmup = json_object();

    for (size_t i = 0; i < setup->rows.count; i++)
        (void)json_array_append_new(servers, json_string(setup->rows.items[i].id));
    for (size_t i = 0; i < study->test_count; i++)
        if (setup->tests[i])
            (void)json_array_append(tests, json_array_get(json_object_get(study->json, "tests"), i));
    for (size_t i = 0; i < study->phase_count; i++) {
        const struct study_phase *phase = &study->phases[i];
        json_t *object = json_object();

        json_put(object, "name", json_string(phase->name));
        json_put(object, "connections", json_integer(phase->connections));
        if (phase->rate_per_s > 0)
            json_put(object, "rate", json_number(phase->rate_per_s, 3));
        json_put(object, "seconds", json_number(phase->seconds, 3));
        (void)json_array_append_new(phases, object);
    }
    json_put(warmup, "seconds", json_number(study->warmup_seconds, 3));
    json_put(warmup, "connections", json_integer(study->warmup_connections));
    json_put(effective, "servers", servers);
    json_put(effective, "rounds", json_integer(study->rounds));
    json_put(effective, "warmup", warmup);
    json_put(effective, "phases", phases);
    json_put(effective, "security", json_string(study->jwt ? "jwt" : "none"));
    json_put(effective, "cpus", json_string(study->cpus));
    json_put(effective, "affinity", json_string(study->after_start ? "after-start" : "before-exec"));
    json_put(effective, "tests", tests);
    return effective;
}

/* What tests take from files, as it was read. */
static void hash_contents(struct setup *setup)
{
    for (size_t i = 0; i < setup->study.test_count; i++) {
        const struct study_test *test = &setup->study.tests[i];
        const json_t *given = json_array_get(json_object_get(setup->study.json, "tests"), i);
        const struct {
            const char *key;
            const char *content;
            size_t len;
        } contents[] = {{"body", test->body, test->body_len},
                        {"requests", test->requests, test->requests_len},
                        {"expect", test->expect, test->expect != NULL ? strlen(test->expect) : 0}};

        for (size_t k = 0; k < sizeof contents / sizeof contents[0] && setup->tests[i]; k++) {
            char hex[FSX_SHA256_SIZE];
            char *name;

            if (json_object_get(json_object_get(given, contents[k].key), "file") == NULL)
                continue;
            fsx_sha256(contents[k].content, contents[k].len, hex);
            name = text_format("%s of %s", contents[k].key, test->name);
            json_put(setup->file_hashes, name, json_string(hex));
            free(name);
        }
    }
}

static int make_hash(struct setup *setup, struct err *err)
{
    const struct study *study = &setup->study;
    const struct {
        const char *name;
        const char *path;
    } files[] = {{"schema", study->schema_path},
                 {"seed", study->seed_path},
                 {"reset", study->reset_path},
                 {"checksum", study->checksum_path},
                 {"contract", study->contract_path}};

    setup->file_hashes = json_object();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char hex[FSX_SHA256_SIZE];

        if (files[i].path == NULL)
            continue;
        if (fsx_sha256_file(files[i].path, hex, err) != 0)
            return -1;
        json_put(setup->file_hashes, files[i].name, json_string(hex));
    }
    hash_contents(setup);
    machine_file_hash(setup->effective, setup->file_hashes, setup->hash);
    return 0;
}

int setup_load(const struct run_options *options, struct setup *setup, struct err *err)
{
    char *config = options->config != NULL ? text_dup(options->config) : home_file("config/study.json", err);
    int result = -1;

    *setup = (struct setup){0};
    if (config != NULL && config_load(config, &setup->study, err) == 0 && apply(options, &setup->study, err) == 0 &&
        choose_rows(options, setup, err) == 0 &&
        config_choose_tests(&setup->study, options->tests, &setup->tests, err) == 0) {
        plan_make(&setup->study, setup->rows.count, setup->tests, &setup->plan);
        setup->effective = make_effective(setup);
        result = make_hash(setup, err);
    }
    free(config);
    if (result != 0)
        setup_free(setup);
    return result;
}

void setup_free(struct setup *setup)
{
    rows_free(&setup->rows);
    config_free(&setup->study);
    plan_free(&setup->plan);
    free(setup->tests);
    json_decref(setup->effective);
    json_decref(setup->file_hashes);
    *setup = (struct setup){0};
}

const char *setup_mode(const struct setup *setup)
{
    return setup->study.jwt ? "jwt" : "no-auth";
}

/* Who would run where; a wish that this machine cannot fulfil is refused as a run would. */
static int place_text(const struct setup *setup, struct text *text, struct err *err)
{
    struct cpus allowed = {0};
    struct cpus_split split = {0};
    int result = cpus_allowed(&allowed, err);

    if (result == 0)
        result = cpus_split(&allowed, setup->study.cpus, &split, err);
    if (result == 0 && split.pinned) {
        char *server = cpus_format(&split.server);
        char *generator = cpus_format(&split.generator);

        text_addf(text, "server and database on CPU %s, generator on CPU %s", server, generator);
        free(server);
        free(generator);
    } else if (result == 0) {
        text_add(text, split.note[0] != '\0' ? split.note : "unpinned");
    }
    cpus_split_free(&split);
    cpus_free(&allowed);
    return result;
}

int setup_print(const struct setup *setup, double afterwards_s, struct err *err)
{
    const struct plan *plan = &setup->plan;
    size_t skipped = 0;
    struct text cpus = {0};
    char eta[32];

    if (place_text(setup, &cpus, err) != 0)
        return -1;
    for (size_t i = 0; i < setup->rows.count; i++) {
        if (setup->rows.items[i].state == ROW_SKIPPED) {
            printf("skip       %s: %s\n", setup->rows.items[i].id, setup->rows.items[i].reason);
            skipped++;
        }
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_cell *cell = &plan->cells[i];

        if (setup->rows.items[cell->row].state != ROW_SKIPPED)
            printf("round %zu  %s  %s  %s\n", cell->round, setup->rows.items[cell->row].id,
                   setup->study.tests[cell->test].name, setup->study.phases[cell->phase].name);
    }
    progress_format_eta(plan_seconds(&setup->study, plan) * (double)(setup->rows.count - skipped) /
                                (double)setup->rows.count +
                            afterwards_s,
                        eta, sizeof eta);
    printf("plan       %zu cells, about %s; %s\n", plan->count / setup->rows.count * (setup->rows.count - skipped), eta,
           text_string(&cpus));
    text_free(&cpus);
    return 0;
}
