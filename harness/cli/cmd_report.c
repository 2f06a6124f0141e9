#include <stdio.h>

#include "base/opts.h"
#include "base/text.h"
#include "cli/commands.h"
#include "results/record.h"
#include "results/tables.h"

struct report_args {
    bool tables;
};

static const struct opt report_opts[] = {
    {0, "tables", NULL, OPT_FLAG, offsetof(struct report_args, tables), "only the tables, as markdown, to stdout"},
    {0},
};

static int report_main(int argc, char **argv);

const struct command cmd_report = {
    .name = "report",
    .summary = "writes what a CSV of measurements says, for people",
    .usage = "[OPTIONS] CSV...",
    .description = "Reads CSVs of the study's form, and the details and machine files beside each when there are any.",
    .opts = report_opts,
    .main = report_main,
};

static int report_one(const char *csv, struct err *err)
{
    struct record record;
    struct text text = {0};

    if (record_open(csv, &record, err) != 0)
        return -1;
    tables_write(&record, &text);
    (void)fwrite(text_string(&text), 1, text.len, stdout);
    text_free(&text);
    record_close(&record);
    return 0;
}

static int report_main(int argc, char **argv)
{
    struct report_args args = {0};
    struct err err = {0};
    int operands;

    switch (opts_parse(&cmd_report, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands == 0) {
        (void)err_set(&err, "report: give a CSV, such as data/2026-11-30_no-auth.csv");
        return opts_exit(&err);
    }
    for (int i = 1; i <= operands; i++) {
        if (i > 1)
            (void)putchar('\n');
        if (report_one(argv[i], &err) != 0)
            return opts_exit(&err);
    }
    return 0;
}
