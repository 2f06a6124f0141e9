/* restbench run - measures a study. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/run_next.h"
#include "cli/report_files.h"
#include "machine/child.h"
#include "results/bundle.h"
#include "results/record.h"
#include "results/report_term.h"
#include "study/interrupt.h"
#include "study/run.h"
#include "target/pq.h"

static const int64_t finish_patience_ns = 300 * CLOCK_NS_PER_S;

#define AT(field) offsetof(struct run_options, field)

static const struct opt run_opts[] = {
    {0, "servers", "PATTERN", OPT_STRING, AT(servers), "rows to measure: a PCRE2 expression for whole names or titles"},
    {0, "tests", "PATTERN", OPT_STRING, AT(tests), "tests to measure, in the same way"},
    {0, "rounds", "N", OPT_COUNT, AT(rounds), "rounds (the most, with --until)"},
    {0, "seconds", "S", OPT_SECONDS, AT(window_ns), "length of a measured window"},
    {0, "warmup", "S", OPT_SECONDS, AT(warmup_ns), "length of the warm-up before each test; 0: none"},
    {0, "connections", "N,N", OPT_STRING, AT(connections), "phases: one for each number of connections"},
    {0, "security", "none|jwt", OPT_STRING, AT(security), "with jwt every request carries a token that servers check"},
    {0, "tool", "NAME", OPT_STRING, AT(tool),
     "load tool: restbench (default), bombardier, wrk, oha, h2load, h2load-http2"},
    {0, "database", "URL", OPT_STRING, AT(database), "a PostgreSQL that already runs, instead of the private one"},
    {0, "url", "URL", OPT_STRING, AT(url),
     "a server that already listens, for the row that observes one\n(--servers external): not built, started, pinned "
     "or stopped"},
    {0, "cpus", "SERVER/GENERATOR", OPT_STRING, AT(cpus),
     "CPUs of server and database, and of the generator, such as\n0-5/6,7; auto (default): the last quarter generates"},
    {0, "affinity", "MODE", OPT_STRING, AT(affinity), "before-exec (default), or after-start as the study did it"},
    {0, "ceiling", "yes|no", OPT_STRING, AT(ceiling),
     "at the end, what PostgreSQL alone does (pgbench), so that reports say\nhow near each server comes; as the study "
     "says"},
    {0, "from", "BUNDLE", OPT_STRING, AT(from), "repeat the run of a bundle: its configuration, its servers' sources"},
    {0, "resume", NULL, OPT_FLAG, AT(resume), "go on with the unfinished run that started last (or with --name's)"},
    {0, "force-mixed", NULL, OPT_FLAG, AT(force_mixed),
     "resume even if configuration, machine or a build changed; recorded"},
    {0, "name", "NAME", OPT_STRING, AT(name), "appended to the names of the files"},
    {0, "data", "DIR", OPT_STRING, AT(data), "where the files go (default: data)"},
    {0, "state", "DIR", OPT_STRING, AT(state), "private PostgreSQL, builds, logs"},
    {0, "servers-dir", "DIR", OPT_STRING, AT(servers_dir), "folder of the servers' folders"},
    {0, "until", "PCT", OPT_PCT, AT(until_pct), "add rounds until each median's interval is within PCT"},
    {0, "strict", NULL, OPT_FLAG, AT(strict), "exit 1 for marks and for rows whose toolchain is missing, too"},
    {0, "log", "FILE", OPT_STRING, AT(log), "append every line, with its time, to FILE"},
    {0, "on-finish", "CMD", OPT_STRING, AT(on_finish),
     "shell command at the end; gets RESTBENCH_CSV and RESTBENCH_STATUS"},
    {0, "dry-run", NULL, OPT_FLAG, AT(dry_run), "print every cell in order and how long it will take; start nothing"},
    {0},
};

/* Tables to stdout, pages into reports/ beside the data folder. */
static void report(const struct run_options *options, const char *csv)
{
    struct report_term_options how = report_term_detect();
    struct record record;
    struct text text = {0};
    struct err err = {0};
    char *data;
    char *beside;
    char *out;

    if (record_open(csv, &record, &err) != 0) {
        log_error("%s", err.text);
        return;
    }
    report_term_write(&record, &how, &text);
    (void)fwrite(text_string(&text), 1, text.len, stdout);
    (void)fflush(stdout);
    text_free(&text);
    data = text_dup(options->data != NULL ? options->data : "data");
    while (strlen(data) > 1 && data[strlen(data) - 1] == '/')
        data[strlen(data) - 1] = '\0';
    beside = fsx_dirname(data);
    out = fsx_join(strcmp(beside, ".") == 0 ? "" : beside, "reports");
    if (report_files_write(&record, (json_t *[]){NULL}, 1, out, &err) != 0)
        log_error("%s", err.text);
    free(data);
    free(beside);
    free(out);
    record_close(&record);
}

static void say_done(const struct run_outcome *outcome)
{
    log_line("done       %zu cell%s, %.0f error%s, %zu mark%s%s", outcome->measured, outcome->measured == 1 ? "" : "s",
             outcome->errors, outcome->errors == 1 ? "" : "s", outcome->marks, outcome->marks == 1 ? "" : "s",
             outcome->failed > 0 ? "; something failed, see above and below the tables" : "");
    log_line("raw data   %s", outcome->csv_path);
    if (!outcome->complete)
        log_line("next       the same command with --resume goes on where this one stopped");
}

/* The person's own command line, so a shell reads it; what it needs comes in its environment. */
static void finish(const struct run_options *options, const struct run_outcome *outcome, int status)
{
    const char *const argv[] = {"/bin/sh", "-c", options->on_finish, NULL};
    char *text = text_format("%d", status);
    struct env env = {0};
    struct child_spec spec = {
        .argv = argv, .env = &env, .out = {.kind = CHILD_FD, .fd = STDERR_FILENO}, .err = {.kind = CHILD_SAME}};
    struct child_result result = {0};
    struct err err = {0};
    char folder[4096];

    if (options->on_finish != NULL && !options->dry_run) {
        interrupt_finish();
        env_basic(&env);
        env_set(&env, "RESTBENCH_STATUS", text);
        env_set(&env, "RESTBENCH_CSV", outcome->csv_path != NULL ? outcome->csv_path : "");
        spec.cwd = getcwd(folder, sizeof folder);
        if (child_run(&spec, finish_patience_ns, &result, &err) != 0)
            log_error("--on-finish: %s", err.text);
        child_result_free(&result);
        env_free(&env);
    }
    free(text);
}

/* A bundle taken apart into a folder of its own for as long as the run lasts. */
struct repeated {
    char into[64];
    struct bundle bundle;
    bool open;
};

static int open_bundle(struct run_options *options, struct repeated *repeated, struct err *err)
{
    if (options->config != NULL)
        return err_set(err, "--from brings its own study; leave %s out", options->config);
    (void)snprintf(repeated->into, sizeof repeated->into, "/tmp/restbench-from-XXXXXX");
    if (mkdtemp(repeated->into) == NULL)
        return err_sys(err, "%s: no folder for the bundle", repeated->into);
    repeated->open = true;
    if (chmod(repeated->into, 0755) != 0 || bundle_open(options->from, repeated->into, &repeated->bundle, err) != 0)
        return err->kind != ERR_NONE ? -1 : err_sys(err, "%s", repeated->into);
    if (repeated->bundle.config == NULL)
        return err_set(err, "%s: holds no configuration, so the run cannot be repeated from it", options->from);
    options->config = repeated->bundle.config;
    if (options->servers_dir == NULL) {
        char *names = NULL;
        int result = bundle_keep_what_it_holds(&repeated->bundle, &names, err);

        if (result == 0 && names[0] != '\0')
            log_line("from       without %s: the bundle does not hold their sources", names);
        free(names);
        if (result != 0)
            return err_prefix(err, "%s", options->from);
        options->servers_dir = repeated->bundle.servers;
    }
    if (options->tool == NULL)
        options->tool = repeated->bundle.tool;
    return 0;
}

static void close_bundle(struct repeated *repeated)
{
    if (!repeated->open)
        return;
    bundle_free(&repeated->bundle);
    (void)fsx_remove_tree(repeated->into, NULL);
}

static int exit_status(const struct run_options *options, const struct run_outcome *outcome)
{
    if (options->dry_run)
        return 0;
    if (outcome->failed > 0 || (outcome->measured == 0 && !options->resume))
        return 1;
    return options->strict && (outcome->marks > 0 || outcome->skipped > 0) ? 1 : 0;
}

static int main_run(int argc, char **argv)
{
    struct run_options options = {.rounds = -1, .window_ns = -1, .warmup_ns = -1, .until_pct = -1, .argc = argc};
    struct run_outcome outcome = {0};
    struct repeated repeated = {0};
    struct err err = {0};
    char *url = NULL;
    int operands;
    int status;

    /* opts_parse() moves operands; the record wants what was typed. */
    options.argv = text_realloc(NULL, (size_t)argc + 1, sizeof *options.argv);
    memcpy(options.argv, argv, ((size_t)argc + 1) * sizeof *options.argv);
    switch (opts_parse(&cmd_run, &options, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        free(options.argv);
        return 0;
    case OPTS_BAD:
        free(options.argv);
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (options.database != NULL) {
        /* Every user of the machine can read a command line. */
        url = text_dup(options.database);
        pq_hide_password((char *)options.database);
        options.database = url;
    }
    if (operands > 0)
        options.config = argv[1];
    if (operands > 1)
        (void)err_set(&err, "run %s: give at most one study file", argv[2]);
    else if (options.until_pct == 0)
        (void)err_set(&err, "--until 0%%: no median is ever as certain; give a bound such as 2%%");
    else if (options.name != NULL &&
             options.name[strspn(options.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")] !=
                 '\0')
        (void)err_set(&err, "--name %s: use letters, digits, '.' and '-'", options.name);
    if (err.kind == ERR_NONE && options.log != NULL)
        (void)log_open(options.log, &err);
    if (err.kind == ERR_NONE && (options.from == NULL || open_bundle(&options, &repeated, &err) == 0))
        (void)run_study(&options, &outcome, &err);
    if (outcome.csv_path != NULL && outcome.complete)
        report(&options, outcome.csv_path);
    if (outcome.csv_path != NULL)
        say_done(&outcome);
    if (outcome.csv_path != NULL && outcome.complete)
        run_next_say(&options, outcome.csv_path);
    status = err.kind != ERR_NONE ? opts_exit(&err) : exit_status(&options, &outcome);
    finish(&options, &outcome, status);
    run_outcome_free(&outcome);
    close_bundle(&repeated);
    free(options.argv);
    free(url);
    log_close();
    interrupt_raise();
    return status;
}

const struct command cmd_run = {
    .name = "run",
    .summary = "measures a study: every server, round, test and number of connections",
    .usage = "[OPTIONS] [CONFIG]",
    .description =
        "CONFIG is a study file; config/study.json when absent. Ctrl-C ends a run within two seconds and leaves\n"
        "nothing running; --resume goes on where it stopped. Exit status: 0 all well; 1 a build, a contract or a cell\n"
        "failed, or nothing was measured; 2 could not run.",
    .opts = run_opts,
    .main = main_run,
};
