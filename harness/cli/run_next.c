#include "cli/run_next.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/log.h"
#include "base/text.h"
#include "results/machine_file.h"
#include "results/record.h"
#include "study/config.h"
#include "study/plan.h"
#include "study/progress.h"

/* As it must be typed here: from a checkout, or installed. */
static const char *program(void)
{
    return access("./restbench", X_OK) == 0 ? "./restbench" : "restbench";
}

/* A duel takes its builds from revisions: somewhere above must be a repository. */
static bool in_repository(void)
{
    char folder[4096];
    bool found = false;

    if (getcwd(folder, sizeof folder) == NULL)
        return false;
    while (!found && folder[0] == '/') {
        char *git = text_format("%s/.git", folder);

        found = fsx_exists(git);
        free(git);
        *strrchr(folder, '/') = '\0';
    }
    return found;
}

/* The study that lies beside this one: config/quick.json is a quick look at config/study.json. */
static char *whole_study(const char *config)
{
    char *folder = fsx_dirname(config);
    char *path = strcmp(fsx_basename(config), "study.json") != 0 ? fsx_join(folder, "study.json") : NULL;

    free(folder);
    if (path != NULL && !fsx_exists(path)) {
        free(path);
        path = NULL;
    }
    return path;
}

static void say_study(const struct run_options *options)
{
    char *path = options->config != NULL ? whole_study(options->config) : NULL;
    struct err ignored = {0};
    struct study study;

    if (path != NULL && config_load(path, &study, &ignored) == 0) {
        bool *tests = text_alloc(study.test_count + 1);
        struct plan plan;
        char eta[32];

        memset(tests, true, study.test_count);
        plan_make(&study, study.server_count, tests, &plan);
        progress_format_eta(plan_seconds(&study, &plan), eta, sizeof eta);
        log_line("next       %s run %s   (the whole study, %s with every server)", program(), path, eta);
        plan_free(&plan);
        free(tests);
        config_free(&study);
    }
    free(path);
}

/* A row that competes, else any that was measured. */
static const char *row_to_change(const struct machine_file *machine)
{
    const char *any = NULL;

    for (size_t i = 0; i < machine->row_count; i++) {
        const struct machine_row *row = &machine->rows[i];

        if (row->status == NULL || strcmp(row->status, "measured") != 0)
            continue;
        if (!row->reference)
            return row->id;
        any = row->id;
    }
    return any;
}

void run_next_say(const struct run_options *options, const char *csv)
{
    char *path = record_beside(csv, "_machine.json");
    struct machine_file machine;
    struct err ignored = {0};

    say_study(options);
    if (in_repository() && machine_file_load(path, &machine, &ignored) == 0) {
        const char *row = row_to_change(&machine);

        if (row != NULL)
            log_line("next       %s duel main HEAD --server %s   (was a change faster?)", program(), row);
        machine_file_free(&machine);
    }
    free(path);
}
