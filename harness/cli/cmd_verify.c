#include <stdio.h>
#include <stdlib.h>

#include "base/fsx.h"
#include "base/opts.h"
#include "base/text.h"
#include "cli/commands.h"
#include "results/bundle.h"
#include "results/record.h"
#include "results/verify.h"

static int verify_main(int argc, char **argv);

const struct command cmd_verify = {
    .name = "verify",
    .summary = "says what the files of a run contradict",
    .usage = "CSV|BUNDLE...",
    .description =
        "Checks columns, ranges, sums, the order of time and that no cell stands there twice; with the files\n"
        "beside the CSV also the distributions, the generator's identities, that both hold the same figures,\n"
        "and the configuration's hash. A lone CSV is checked for what it can show by itself; of a bundle\n"
        "(.tar.gz) also the hash of every member.\n"
        "Every fault is a line: file, line, reason. Exit status: 0 none, 1 some, 2 a file cannot be read.",
    .main = verify_main,
};

static int verify_one(const char *csv, uint64_t *faults, struct err *err)
{
    struct verify verify = {0};
    int result = verify_run(csv, &verify, err);

    *faults += verify.faults;
    if (result == 0) {
        (void)fputs(text_string(&verify.text), stdout);
        if (verify.faults > VERIFY_SHOWN)
            printf("%s: and %llu more\n", csv, (unsigned long long)(verify.faults - VERIFY_SHOWN));
        printf("%s: %llu %s%s%s%s, %llu fault%s\n", csv, (unsigned long long)verify.cells,
               record_is_calibration(csv) ? "calibrations" : "cells", verify.details ? ", details" : "",
               verify.machine ? ", machine" : "",
               verify.details || verify.machine || record_is_calibration(csv) ? "" : " (a lone CSV)",
               (unsigned long long)verify.faults, verify.faults == 1 ? "" : "s");
    }
    verify_free(&verify);
    return result;
}

/* A bundle: its hashes first, then the CSV in it. */
static int verify_bundle(const char *path, uint64_t *faults, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char *into = text_format("%s/restbench-verify-XXXXXX", tmp != NULL && *tmp == '/' ? tmp : "/tmp");
    struct bundle bundle = {0};
    struct err ignored = {0};
    int result;

    if (mkdtemp(into) == NULL) {
        result = err_sys(err, "%s: cannot make a folder to unpack %s", into, path);
        free(into);
        return result;
    }
    result = bundle_open(path, into, &bundle, err);
    if (result == 0) {
        printf("%s: every hash is right\n", path);
        result = verify_one(bundle.csv, faults, err);
    }
    bundle_free(&bundle);
    (void)fsx_remove_tree(into, &ignored);
    free(into);
    return result;
}

static int verify_main(int argc, char **argv)
{
    struct err err = {0};
    uint64_t faults = 0;
    int unreadable = 0;
    int operands;

    switch (opts_parse(&cmd_verify, NULL, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands == 0) {
        (void)err_set(&err, "verify: give a CSV, such as data/2026-11-30_no-auth.csv");
        return opts_exit(&err);
    }
    for (int i = 1; i <= operands; i++) {
        if ((bundle_is(argv[i]) ? verify_bundle : verify_one)(argv[i], &faults, &err) != 0) {
            int status = opts_exit(&err);

            unreadable = status > unreadable ? status : unreadable;
            err_clear(&err);
        }
    }
    return unreadable != 0 ? unreadable : faults > 0;
}
