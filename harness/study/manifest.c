#include "study/manifest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/facts.h"

static json_t *command_json(const struct run_options *options)
{
    json_t *command = json_array();

    (void)json_array_append_new(command, json_string("restbench"));
    for (int i = 0; i < options->argc; i++) {
        /* A database's URL may hold a password. */
        bool secret = i > 0 && strcmp(options->argv[i - 1], "--database") == 0;

        if (strncmp(options->argv[i], "--database=", 11) == 0)
            (void)json_array_append_new(command, json_string("--database=URL"));
        else
            (void)json_array_append_new(command, json_string(secret ? "URL" : options->argv[i]));
    }
    return command;
}

static json_t *run_json(const struct run *run)
{
    const char *slash = strrchr(run->store.base, '/');
    json_t *object = json_object();
    char utc[CLOCK_UTC_SIZE];

    clock_format_utc(clock_wall_ns(), utc);
    json_put(object, "name", json_string(slash != NULL ? slash + 1 : run->store.base));
    json_put(object, "started_utc", json_string(utc));
    json_put(object, "ended_utc", json_null());
    json_put(object, "mode", json_string(setup_mode(&run->setup)));
    json_put(object, "command", command_json(run->options));
    json_put(object, "config", json_string(run->setup.study.file));
    json_put(object, "restbench", json_string(RESTBENCH_VERSION));
    json_put(object, "complete", json_false());
    json_put(object, "cpus", machine_cpus_to_json(&run->parts));
    json_put(object, "tool", json_string(run->tool->name));
    json_put(object, "tool_version", run->tool_version != NULL ? json_string(run->tool_version) : json_null());
    json_put(object, "affinity", json_string(run->setup.study.after_start ? "after-start" : "before-exec"));
    json_put(object, "title", json_string(run->setup.study.title));
    return object;
}

static json_t *tests_json(const struct setup *setup)
{
    json_t *tests = json_array();

    for (size_t i = 0; i < setup->study.test_count; i++) {
        const struct study_test *test = &setup->study.tests[i];
        json_t *object;

        if (!setup->tests[i])
            continue;
        object = json_object();
        json_put(object, "name", json_string(test->name));
        json_put(object, "title", json_string(test->title));
        json_put(object, "database", json_boolean(test->uses_database));
        json_put(object, "writes", json_boolean(test->writes));
        (void)json_array_append_new(tests, object);
    }
    return tests;
}

static json_t *facts_json(const struct run *run)
{
    const char *reason = run->server_place.cgroup.path == NULL ? run->server_place.reason : NULL;
    struct facts facts;
    json_t *object;

    facts_read("/proc", "/sys", &run->parts.allowed, reason, &facts);
    object = facts_to_json(&facts);
    facts_free(&facts);
    return object;
}

static json_t *rows_json(const struct run *run)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < run->setup.rows.count; i++)
        (void)json_array_append_new(rows, row_to_json(&run->setup.rows.items[i], run->setup.study.pool));
    return rows;
}

void manifest_make(struct run *run)
{
    json_t *machine = json_object();
    json_t *about = run_json(run);
    json_t *launch = json_object_get(run->database_facts, "launch");

    json_put(about, "database_launch", launch != NULL ? json_incref(launch) : json_null());
    (void)json_object_del(run->database_facts, "launch");
    json_put(machine, "format", json_integer(1));
    json_put(machine, "run", about);
    json_put(machine, "machine", facts_json(run));
    json_put(machine, "database", run->database_facts != NULL ? json_incref(run->database_facts) : json_null());
    json_put(machine, "rows", rows_json(run));
    json_put(machine, "tests", tests_json(&run->setup));
    json_put(machine, "phases", json_incref(json_object_get(run->setup.effective, "phases")));
    json_put(machine, "rounds", json_integer(run->setup.study.rounds));
    json_put(machine, "study", json_incref(run->setup.effective));
    json_put(machine, "study_files", json_incref(run->setup.file_hashes));
    json_put(machine, "study_sha256", json_string(run->setup.hash));
    json_put(machine, "resumes", json_array());
    json_put(machine, "notes", json_array());
    run->machine = machine;
}

void manifest_tool(struct run *run, json_t *record)
{
    json_t *object = json_object_get(run->machine, "run");
    json_t *launch;

    if (object == NULL || record == NULL || json_object_get(object, "tool_launch") != NULL)
        return;
    launch = json_copy(record);
    (void)json_object_del(launch, "command");
    json_put(object, "tool_launch", launch);
}

int manifest_write(struct run *run, struct err *err)
{
    if (run->machine == NULL)
        return 0;
    json_put(run->machine, "rows", rows_json(run));
    return store_write_machine(&run->store, run->machine, err);
}

void manifest_note(struct run *run, const char *format, ...)
{
    va_list args;
    char *note = NULL;

    va_start(args, format);
    if (vasprintf(&note, format, args) < 0)
        note = NULL;
    va_end(args);
    if (note == NULL)
        return;
    log_line("note       %s", note);
    if (run->machine != NULL)
        (void)json_array_append_new(json_object_get(run->machine, "notes"), json_string(note));
    free(note);
}

static void differ(struct text *differences, const char *what, const char *before, const char *now)
{
    if (before != NULL && now != NULL && strcmp(before, now) != 0)
        text_addf(differences, "%s%s (%.12s, now %.12s)", differences->len > 0 ? ", " : "", what, before, now);
}

static void compare_builds(const struct run *run, const json_t *machine, struct text *differences)
{
    size_t index;
    json_t *before;

    json_array_foreach (json_object_get(machine, "rows"), index, before) {
        const char *id = json_get_string(before, "id");

        for (size_t i = 0; i < run->setup.rows.count; i++) {
            const struct row *row = &run->setup.rows.items[i];
            char *what;

            if (id == NULL || strcmp(id, row->id) != 0 || row->build_hash[0] == '\0')
                continue;
            what = text_format("the build of %s", id);
            differ(differences, what, json_get_string(before, "build_hash"), row->build_hash);
            free(what);
        }
    }
}

int manifest_continue(struct run *run, json_t *machine, struct err *err)
{
    json_t *now = facts_json(run);
    const json_t *was = json_object_get(machine, "machine");
    const json_t *database = json_object_get(machine, "database");
    struct text differences = {0};
    json_t *resume;
    char utc[CLOCK_UTC_SIZE];

    differ(&differences, "the configuration", json_get_string(machine, "study_sha256"), run->setup.hash);
    differ(&differences, "the machine", json_get_string(was, "id"), json_get_string(now, "id"));
    differ(&differences, "PostgreSQL", json_get_string(database, "version"),
           json_get_string(run->database_facts, "version"));
    compare_builds(run, machine, &differences);
    json_decref(now);
    if (differences.len > 0 && !run->options->force_mixed) {
        (void)err_set(err,
                      "%s cannot be continued: changed since it began: %s; start a new run, or mix with --force-mixed",
                      run->store.base, differences.data);
        text_free(&differences);
        return -1;
    }
    run->machine = json_incref(machine);
    clock_format_utc(clock_wall_ns(), utc);
    resume = json_object();
    json_put(resume, "utc", json_string(utc));
    json_put(resume, "mixed", differences.len > 0 ? json_string(differences.data) : json_null());
    (void)json_array_append_new(json_object_get(run->machine, "resumes"), resume);
    json_put(run->machine, "rounds", json_integer(run->setup.study.rounds));
    json_put(json_object_get(run->machine, "run"), "complete", json_false());
    if (differences.len > 0)
        manifest_note(run, "mixed data: changed since it began: %s", differences.data);
    text_free(&differences);
    return 0;
}
