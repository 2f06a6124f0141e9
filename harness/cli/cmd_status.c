/* restbench status - what runs now, how far, and what --resume would go on with. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/home.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "study/lock.h"
#include "study/progress.h"
#include "study/store.h"

struct status_args {
    const char *state;
    const char *data;
    bool json;
};

static const struct opt status_opts[] = {
    {0, "state", "DIR", OPT_STRING, offsetof(struct status_args, state), "the state folder of the run"},
    {0, "data", "DIR", OPT_STRING, offsetof(struct status_args, data),
     "where unfinished runs are looked for (default: data)"},
    {0, "json", NULL, OPT_FLAG, offsetof(struct status_args, json), "machine-readable"},
    {0},
};

/* What the run `pid` says of itself; NULL: nothing yet (status.json may be that of a run that was killed). */
static json_t *read_progress(const char *state_dir, long pid)
{
    char *path = text_format("%s/run/status.json", state_dir);
    json_t *progress = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);

    free(path);
    if (progress != NULL && json_get_number(progress, "pid") != (double)pid) {
        json_decref(progress);
        progress = NULL;
    }
    return progress;
}

/* The time left, less what has gone by since it was estimated; NAN: unknown. */
static double time_left_s(const json_t *progress)
{
    int64_t utc_s = clock_parse_utc_s(json_get_string(progress, "utc"));
    double left_s = json_get_number(progress, "eta_s");
    double age_s;

    if (utc_s < 0)
        return left_s;
    age_s = (double)clock_wall_ns() / (double)CLOCK_NS_PER_S - (double)utc_s;
    return age_s > 0 && left_s > age_s ? left_s - age_s : age_s > 0 && left_s >= 0 ? 0 : left_s;
}

static void count_cell(const json_t *cell, void *context)
{
    (void)cell;
    (*(size_t *)context)++;
}

/* The unfinished run that --resume would go on with, unless it is the one that runs; NULL: none. */
static json_t *describe_unfinished(const char *data_dir, const json_t *progress)
{
    json_t *machine = NULL;
    char *base = store_unfinished(data_dir, &machine);
    const char *running = json_get_string(progress, "run");
    json_t *run = json_object_get(machine, "run");
    json_t *object = NULL;

    if (base != NULL && (running == NULL || strcmp(fsx_basename(base), fsx_basename(running)) != 0)) {
        struct store store = {.details_path = text_format("%s_details.jsonl", base)};
        struct err ignored = {0};
        size_t cells = 0;
        bool counted = store_each_cell(&store, count_cell, &cells, &ignored) == 0;

        object = json_object();
        json_put(object, "run", json_string(base));
        json_put(object, "started_utc", json_incref(json_object_get(run, "started_utc")));
        json_put(object, "config", json_incref(json_object_get(run, "config")));
        json_put(object, "cells_done", counted ? json_integer((json_int_t)cells) : json_null());
        free(store.details_path);
    }
    json_decref(machine);
    free(base);
    return object;
}

static void print_json(long pid, const json_t *progress, const json_t *unfinished)
{
    static const char *const taken[] = {"run", "cells_done", "cells", "now", "last", "utc"};
    json_t *status = json_object();
    char *text;

    json_put(status, "format", json_integer(1));
    json_put(status, "running", json_boolean(pid != 0));
    json_put(status, "pid", pid != 0 ? json_integer(pid) : json_null());
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        json_t *value = json_object_get(progress, taken[i]);

        json_put(status, taken[i], value != NULL ? json_incref(value) : json_null());
    }
    json_put(status, "eta_s", progress != NULL ? json_number(time_left_s(progress), 0) : json_null());
    json_put(status, "unfinished", unfinished != NULL ? json_deep_copy(unfinished) : json_null());
    text = json_pretty(status);
    printf("%s\n", text);
    free(text);
    json_decref(status);
}

static void print_text(const char *state_dir, long pid, const json_t *progress, const json_t *unfinished)
{
    char eta[32];

    if (pid == 0) {
        printf("nothing    runs in %s\n", state_dir);
    } else if (progress == NULL) {
        printf("running    pid %ld, before its first cell: builds, database, calibration\n", pid);
    } else {
        const char *last = json_get_string(progress, "last");
        double left_s = time_left_s(progress);

        printf("running    %s (pid %ld)\n", json_get_string(progress, "run"), pid);
        printf("cells      %.0f of %.0f\n", json_get_number(progress, "cells_done"),
               json_get_number(progress, "cells"));
        printf("now        %s\n", json_get_string(progress, "now"));
        if (last != NULL && last[0] != '\0')
            printf("last       %s\n", last);
        progress_format_eta(left_s, eta, sizeof eta);
        printf("ETA        %s\n", isnan(left_s) ? "unknown" : eta);
    }
    if (unfinished != NULL) {
        const char *config = json_get_string(unfinished, "config");
        double cells = json_get_number(unfinished, "cells_done");

        printf("unfinished %s, begun %s: ", json_get_string(unfinished, "run"),
               json_get_string(unfinished, "started_utc"));
        if (isnan(cells))
            printf("its cells cannot be counted\n");
        else
            printf("%.0f cells are there\n", cells);
        printf("           restbench run %s --resume goes on with it\n", config != NULL ? config : "");
    }
}

static int main_status(int argc, char **argv)
{
    struct status_args args = {0};
    struct err err = {0};
    json_t *progress;
    json_t *unfinished;
    char *state_dir;
    int operands;
    long pid;

    switch (opts_parse(&cmd_status, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands > 0) {
        (void)err_set(&err, "status %s: takes no operand", argv[1]);
        return opts_exit(&err);
    }
    state_dir = home_state(args.state, &err);
    if (state_dir == NULL)
        return opts_exit(&err);
    pid = lock_holder(state_dir);
    progress = pid != 0 ? read_progress(state_dir, pid) : NULL;
    unfinished = describe_unfinished(args.data != NULL ? args.data : "data", progress);
    if (args.json)
        print_json(pid, progress, unfinished);
    else
        print_text(state_dir, pid, progress, unfinished);
    json_decref(progress);
    json_decref(unfinished);
    free(state_dir);
    return 0;
}

const struct command cmd_status = {
    .name = "status",
    .summary = "what runs now, how far it is, and what --resume would go on with",
    .usage = "[OPTIONS]",
    .description = "Says what the run of this state folder does, how many cells are done, and when it will be ready;\n"
                   "from any terminal. Where nothing runs it says so, and names an unfinished run of the data folder.",
    .opts = status_opts,
    .main = main_status,
};
