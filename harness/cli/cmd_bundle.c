/* restbench bundle - one archive with everything that is needed to check and to repeat a run. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fsx.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/commands.h"
#include "results/bundle.h"

struct bundle_args {
    const char *out;
    const char *servers_dir;
    const char *state;
};

static const struct opt bundle_opts[] = {
    {'o', "out", "FILE", OPT_STRING, offsetof(struct bundle_args, out),
     "the archive (default: NAME.tar.gz beside the CSV)"},
    {0, "servers-dir", "DIR", OPT_STRING, offsetof(struct bundle_args, servers_dir), "folder of the servers' folders"},
    {0, "state", "DIR", OPT_STRING, offsetof(struct bundle_args, state), "where builds are kept"},
    {0},
};

static int bundle_main(int argc, char **argv);

const struct command cmd_bundle = {
    .name = "bundle",
    .summary = "one archive with everything that is needed to check and to repeat a run",
    .usage = "[OPTIONS] CSV",
    .description =
        "Puts the CSV, its details and machine.json, the tables, the configuration with the files that it names, the\n"
        "sources of the servers, and the hashes of their binaries into NAME.tar.gz. What it lacks is said.\n"
        "restbench verify NAME.tar.gz checks it; restbench run --from NAME.tar.gz repeats the run.",
    .opts = bundle_opts,
    .main = bundle_main,
};

static int bundle_one(const char *csv, const struct bundle_args *args, struct err *err)
{
    char *state = home_state(args->state, err), *path;
    struct bundle_options options = {
        .csv = csv, .out = args->out, .servers_dir = args->servers_dir, .state_dir = state};
    char hex[FSX_SHA256_SIZE];
    json_t *notes, *note;
    size_t i;
    int result = state != NULL ? bundle_write(&options, &path, &notes, err) : -1;

    free(state);
    if (result != 0)
        return -1;
    json_array_foreach (notes, i, note)
        log_line("note       %s", json_string_value(note));
    result = fsx_sha256_file(path, hex, err);
    if (result == 0)
        printf("%s  %s\n", hex, path);
    json_decref(notes);
    free(path);
    return result;
}

static int bundle_main(int argc, char **argv)
{
    struct bundle_args args = {0};
    struct err err = {0};
    int operands;

    switch (opts_parse(&cmd_bundle, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands != 1)
        (void)err_set(&err, "bundle: give one CSV, such as data/2026-11-30_no-auth.csv");
    else
        (void)bundle_one(argv[1], &args, &err);
    return err.kind != ERR_NONE ? opts_exit(&err) : 0;
}
