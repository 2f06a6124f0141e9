#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/opts.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/report_files.h"
#include "results/published.h"
#include "results/record.h"
#include "results/report_json.h"
#include "results/report_term.h"
#include "results/tables.h"

struct report_args {
    bool tables;
    bool term;
    bool json;
    const char *out;
    const char *against;
    const char *reference;
};

static const struct opt report_opts[] = {
    {0, "tables", NULL, OPT_FLAG, offsetof(struct report_args, tables), "only the tables, as markdown, to stdout"},
    {0, "term", NULL, OPT_FLAG, offsetof(struct report_args, term),
     "tables for a terminal, to stdout; colours on a terminal only, none\n"
     "where NO_COLOR is set"},
    {0, "json", NULL, OPT_FLAG, offsetof(struct report_args, json), "all that a report shows, as JSON, to stdout"},
    {0, "against", "published", OPT_STRING, offsetof(struct report_args, against),
     "set the medians beside the study's: ratios, ranks, and which of its\n"
     "conclusions hold here"},
    {0, "reference", "TITLE", OPT_STRING, offsetof(struct report_args, reference),
     "the row that ratios are to (the first that both have)"},
    {0, "out", "DIR", OPT_STRING, offsetof(struct report_args, out), "where the files go (reports)"},
    {0},
};

static int report_main(int argc, char **argv);

const struct command cmd_report = {
    .name = "report",
    .summary = "writes what a CSV of measurements says, for people",
    .usage = "[OPTIONS] CSV...",
    .description =
        "Reads CSVs of the study's form, and the details and machine files beside each when there are any. Several\n"
        "CSVs make one report, named after the first. Without an option that prints to stdout it writes DIR/NAME.md\n"
        "with charts beside it (gnuplot) and DIR/NAME.html, one file that needs no network.",
    .opts = report_opts,
    .main = report_main,
};

static void warn(const struct record *record)
{
    if (record->cells.duplicates > 0)
        log_line("%s: %u lines repeat a cell; restbench verify names them", record->csv, record->cells.duplicates);
    if (record->evidence.fault[0] != '\0')
        log_line("%s; what was finished is reported", record->evidence.fault);
}

static int print_json(const struct record *records, json_t *const *published, size_t count, struct err *err)
{
    json_t *runs = json_array();
    json_t *whole;
    char *pretty;

    for (size_t i = 0; i < count; i++) {
        struct latency *latencies = NULL;

        if (records[i].details != NULL && latency_read(records[i].details, &records[i].cells, &latencies, err) != 0) {
            json_decref(runs);
            return -1;
        }
        (void)json_array_append_new(runs, report_json_run(&records[i], latencies, published[i]));
        latency_free_all(latencies, &records[i].cells);
    }
    whole = report_json_whole(runs);
    pretty = json_pretty(whole);
    (void)puts(pretty);
    free(pretty);
    json_decref(whole);
    return 0;
}

static void print_text(const struct report_args *args, const struct record *records, json_t *const *published,
                       size_t count)
{
    struct report_term_options options = report_term_detect();
    struct text text = {0};

    for (size_t i = 0; i < count; i++) {
        if (count > 1)
            text_addf(&text, "%s%s%s\n\n", i > 0 ? "\n" : "", args->tables ? "## " : "", records[i].name);
        if (args->tables)
            tables_write(&records[i], &text);
        else
            report_term_write(&records[i], &options, &text);
        if (published[i] != NULL)
            published_write(published[i], &text);
    }
    (void)fwrite(text_string(&text), 1, text.len, stdout);
    text_free(&text);
}

static int print(const struct report_args *args, const struct record *records, json_t *const *published, size_t count,
                 struct err *err)
{
    if (args->json)
        return print_json(records, published, count, err);
    if (args->tables || args->term) {
        print_text(args, records, published, count);
        return fflush(stdout) == 0 ? 0 : err_sys(err, "stdout");
    }
    return report_files_write(records, published, count, args->out != NULL ? args->out : "reports", err);
}

static int report(const struct report_args *args, const struct record *records, size_t count, struct err *err)
{
    json_t **published = text_alloc(count * sizeof *published);
    int result = 0;

    for (size_t i = 0; result == 0 && args->against != NULL && i < count; i++)
        result = published_compare(&records[i], args->reference, &published[i], err);
    if (result == 0)
        result = print(args, records, published, count, err);
    for (size_t i = 0; i < count; i++)
        json_decref(published[i]);
    free(published);
    return result;
}

static int report_main(int argc, char **argv)
{
    struct report_args args = {0};
    struct record *records;
    struct err err = {0};
    size_t opened = 0;
    int operands;
    int result = 0;

    switch (opts_parse(&cmd_report, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands == 0)
        (void)err_set(&err, "report: give a CSV, such as data/2026-11-30_no-auth.csv");
    if (args.tables + args.term + args.json > 1)
        (void)err_set(&err, "report: --tables, --term and --json exclude each other");
    if (args.against != NULL && strcmp(args.against, "published") != 0)
        (void)err_set(&err, "--against %s: only \"published\" is known; for two runs see restbench compare",
                      args.against);
    if (args.reference != NULL && args.against == NULL)
        (void)err_set(&err, "--reference is for --against published");
    if (err.kind != ERR_NONE)
        return opts_exit(&err);
    records = text_alloc((size_t)operands * sizeof *records);
    for (int i = 1; result == 0 && i <= operands; i++) {
        if (operands > 1 && record_is_calibration(argv[i])) /* data/... .csv names them too */
            continue;
        result = record_open(argv[i], &records[opened], &err);
        if (result == 0)
            warn(&records[opened++]);
    }
    if (result == 0 && opened == 0)
        result = err_set(&err, "report: only calibration files were given");
    if (result == 0)
        result = report(&args, records, opened, &err);
    for (size_t i = 0; i < opened; i++)
        record_close(&records[i]);
    free(records);
    return result == 0 ? 0 : opts_exit(&err);
}
