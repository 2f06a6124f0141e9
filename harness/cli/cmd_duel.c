/* restbench duel - two builds of one server in one sitting, in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "results/compare.h"
#include "study/duel.h"
#include "study/interrupt.h"
#include "target/pq.h"

#define AT(field) offsetof(struct duel_options, field)
#define RUN(field) offsetof(struct duel_options, run.field)

static const struct opt duel_opts[] = {
    {0, "server", "ROW", OPT_STRING, AT(server), "the row: folder or folder:variant (not needed for two folders)"},
    {0, "pairs", "N", OPT_COUNT, AT(pairs), "pairs (the most, with --until); default: 8"},
    {0, "until", "PCT", OPT_PCT, AT(until_pct), "stop when every interval of the rate is within PCT"},
    {0, "bound", "PCT", OPT_PCT, AT(bound_pct), "a difference up to this is of no interest (default: 3 %)"},
    {0, "commands", NULL, OPT_FLAG, AT(commands), "BASE and HEAD are commands, run in the row's folder"},
    {0, "control", "ROW", OPT_STRING, AT(control), "the reference beside them (default: the first one); none"},
    {0, "config", "STUDY", OPT_STRING, AT(config),
     "take tests and windows from this study file (default:\nconfig/study.json with 5 s at 50 connections)"},
    {0, "tests", "PATTERN", OPT_STRING, RUN(tests), "tests to measure: a PCRE2 expression for whole names or titles"},
    {0, "seconds", "S", OPT_SECONDS, RUN(window_ns), "length of a measured window"},
    {0, "warmup", "S", OPT_SECONDS, RUN(warmup_ns), "length of the warm-up before each test; 0: none"},
    {0, "connections", "N,N", OPT_STRING, RUN(connections), "phases: one for each number of connections"},
    {0, "security", "none|jwt", OPT_STRING, RUN(security), "with jwt every request carries a token that servers check"},
    {0, "tool", "NAME", OPT_STRING, RUN(tool),
     "load tool: restbench (default), bombardier, wrk, oha, h2load, h2load-http2"},
    {0, "database", "URL", OPT_STRING, RUN(database), "a PostgreSQL that already runs, instead of the private one"},
    {0, "cpus", "SERVER/GENERATOR", OPT_STRING, RUN(cpus), "CPUs of server and database, and of the generator"},
    {0, "resume", NULL, OPT_FLAG, RUN(resume),
     "go on with this very duel; with a larger --pairs also when it was done"},
    {0, "force-mixed", NULL, OPT_FLAG, RUN(force_mixed), "resume even if the machine changed; recorded"},
    {0, "data", "DIR", OPT_STRING, RUN(data), "where the files go (default: data)"},
    {0, "reports", "DIR", OPT_STRING, RUN(reports), "where the report goes (default: reports)"},
    {0, "state", "DIR", OPT_STRING, RUN(state), "private PostgreSQL, builds, logs"},
    {0, "servers-dir", "DIR", OPT_STRING, RUN(servers_dir), "folder of the servers' folders"},
    {0, "dry-run", NULL, OPT_FLAG, RUN(dry_run), "print every cell in order and how long it will take; start nothing"},
    {0},
};

static int duel_main(int argc, char **argv);

const struct command cmd_duel = {
    .name = "duel",
    .summary = "two builds of one server, measured in turn",
    .usage = "BASE HEAD --server ROW [OPTIONS]",
    .description =
        "BASE and HEAD are git revisions of the row's folder, or folders with a server.json, or (--commands) two\n"
        "commands. Both are built apart and measured in turn (ABBA), each time in a fresh process, with BASE once "
        "more\n"
        "(what two equal builds differ by here) and a reference beside them. After each pair the table so far.\n"
        "Ends with a verdict a figure, the CSV under data/ and markdown under reports/. Exit status: 0 all well,\n"
        "whatever the verdicts; 1 a build, a contract or a cell failed; 2 could not run.",
    .opts = duel_opts,
    .main = duel_main,
};

static void check(const struct duel_options *options, int operands, struct err *err)
{
    if (operands != 2)
        (void)err_set(err, "duel: give BASE and HEAD: two revisions, folders or commands");
    else if (options->pairs < 1 || options->pairs > 1000)
        (void)err_set(err, "--pairs %lld: give 1 to 1000", (long long)options->pairs);
    else if (!(options->until_pct >= 0 && options->until_pct <= 100))
        (void)err_set(err, "--until: give at most 100 %%");
    else if (!(options->bound_pct > 0 && options->bound_pct <= 100))
        (void)err_set(err, "--bound: give more than 0 %% and at most 100 %%");
}

static int duel_main(int argc, char **argv)
{
    struct duel_options options = {.pairs = DUEL_PAIRS,
                                   .bound_pct = COMPARE_BOUND_PCT,
                                   .run = {.rounds = -1, .window_ns = -1, .warmup_ns = -1, .argc = argc}};
    struct duel_outcome outcome = {0};
    struct err err = {0};
    char *url = NULL;
    int operands, status;

    options.run.argv = text_realloc(NULL, (size_t)argc + 1, sizeof *options.run.argv);
    memcpy(options.run.argv, argv, ((size_t)argc + 1) * sizeof *options.run.argv);
    switch (opts_parse(&cmd_duel, &options, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        free(options.run.argv);
        return 0;
    case OPTS_BAD:
        free(options.run.argv);
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (options.run.database != NULL) {
        /* Every user of the machine can read a command line. */
        url = text_dup(options.run.database);
        pq_hide_password((char *)options.run.database);
        options.run.database = url;
    }
    check(&options, operands, &err);
    if (err.kind == ERR_NONE) {
        options.base = argv[1];
        options.head = argv[2];
        (void)duel(&options, &outcome, &err);
    }
    if (outcome.text != NULL)
        (void)fputs(outcome.text, stdout);
    (void)fflush(stdout);
    if (outcome.csv != NULL)
        log_line("wrote      %s%s%s", outcome.csv, outcome.report != NULL ? ", " : "",
                 outcome.report != NULL ? outcome.report : "");
    status = err.kind != ERR_NONE ? opts_exit(&err) : outcome.failed;
    duel_outcome_free(&outcome);
    free(options.run.argv);
    free(url);
    interrupt_raise();
    return status;
}
