#include "study/run_ceiling.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/log.h"
#include "results/record.h"
#include "study/alone.h"
#include "study/interrupt.h"
#include "study/manifest.h"
#include "study/parties.h"
#include "study/progress.h"

double run_ceiling_seconds(const struct setup *setup, const struct run_options *options)
{
    const struct study *study = &setup->study;
    bool wanted = options->ceiling != NULL ? strcmp(options->ceiling, "yes") == 0 : study->ceiling;
    double seconds = 0;

    for (size_t i = 0; wanted && study->has_database && i < study->test_count; i++)
        if (setup->tests[i] && study->tests[i].uses_database)
            seconds += study->warmup_seconds + study->phases[0].seconds;
    return seconds;
}

static int measure(struct run *run, const char *path, struct err *err)
{
    struct alone alone = {
        .study = &run->setup.study,
        .machine = &run->parts,
        .place = &run->database_place,
        .work_dir = run->work_dir,
        .tests = run->setup.tests,
        .warmup_seconds = run->setup.study.warmup_seconds,
        .seconds = run->setup.study.phases[0].seconds,
    };
    int result = alone_open(&alone, err);
    char eta[32];

    if (result == 0)
        result = parties_revive_database(run, err);
    if (result == 0) {
        progress_format_eta((double)alone_count(&alone) * (alone.warmup_seconds + alone.seconds), eta, sizeof eta);
        log_line("ceiling    PostgreSQL without a server, by pgbench: %zu test%s, about %s", alone_count(&alone),
                 alone_count(&alone) == 1 ? "" : "s", eta);
        progress_now(&run->progress, "PostgreSQL without a server");
        alone.database = run->database;
        result = alone_measure(&alone, path, err);
    }
    alone_close(&alone);
    return result;
}

int run_ceiling(struct run *run, struct err *err)
{
    struct err cause = {0};
    char *path;
    int result = 0;

    if (run_ceiling_seconds(&run->setup, run->options) <= 0)
        return 0;
    path = record_beside(run->store.csv_path, "_ceiling.json");
    if (!fsx_exists(path) && measure(run, path, &cause) != 0) {
        if (interrupt_signal() != 0) {
            result = err_fail(err, "interrupted");
        } else {
            log_line("ceiling    not measured: %s", cause.text);
            manifest_note(run, "what the database alone can do was not measured: %s", cause.text);
        }
    }
    free(path);
    return result;
}
