#include <stdio.h>

#include "base/log.h"
#include "base/opts.h"
#include "cli/commands.h"
#include "results/export.h"

struct export_args {
    const char *hgrm;
};

static const struct opt export_opts[] = {
    {0, "hgrm", "DIR", OPT_STRING, offsetof(struct export_args, hgrm),
     "write latency distributions instead, one file for each row, test\n"
     "and number of connections, as HdrHistogram's plotter reads them"},
    {0},
};

static int export_main(int argc, char **argv);

const struct command cmd_export = {
    .name = "export",
    .summary = "writes runs as tidy CSV, one figure a line",
    .usage = "[OPTIONS] CSV...",
    .description =
        "For R or pandas, to stdout: run, utc, server, round, test, connections, figure, value. Figures are\n"
        "the CSV's columns, CPU per request, and more percentiles, shares and memory where the details file\n"
        "stands beside the CSV. An unknown figure has an empty value.",
    .opts = export_opts,
    .main = export_main,
};

static int export_one(const struct export_args *args, const char *csv, bool first, struct err *err)
{
    size_t files = 0;

    if (args->hgrm == NULL)
        return export_tidy(csv, first, stdout, err);
    if (export_hgrm(csv, args->hgrm, &files, err) != 0)
        return -1;
    log_line("wrote      %zu distributions of %s into %s", files, csv, args->hgrm);
    return 0;
}

static int export_main(int argc, char **argv)
{
    struct export_args args = {0};
    struct err err = {0};
    int operands;

    switch (opts_parse(&cmd_export, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands == 0) {
        (void)err_set(&err, "export: give a CSV, such as data/2026-11-30_no-auth.csv");
        return opts_exit(&err);
    }
    for (int i = 1; i <= operands; i++)
        if (export_one(&args, argv[i], i == 1, &err) != 0)
            return opts_exit(&err);
    if (fflush(stdout) != 0) {
        (void)err_sys(&err, "stdout");
        return opts_exit(&err);
    }
    return 0;
}
