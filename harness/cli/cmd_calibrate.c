#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "machine/calibrate.h"
#include "machine/cgroup.h"
#include "machine/child.h"
#include "machine/facts.h"
#include "machine/sampler.h"

struct calibrate_args {
    bool json;
};

static const struct opt opts[] = {
    {0, "json", NULL, OPT_FLAG, offsetof(struct calibrate_args, json),
     "one JSON object with the machine's facts and what its CPUs did meanwhile"},
    {0},
};

static volatile sig_atomic_t stopped_by;

static void on_signal(int signal)
{
    stopped_by = signal;
}

static void add_pct(struct text *text, const char *what, double pct)
{
    text_addf(text, ", %s ", what);
    if (isnan(pct))
        text_add(text, "unknown");
    else
        text_addf(text, "%.1f %%", pct);
}

/* For a person: what the figures rest on. Each CPU by its own number. */
static void say_use(const struct machine_usage *usage)
{
    for (size_t i = 0; i < usage->cpu_count; i++) {
        const struct cpustat_use *use = &usage->cpus[i].use;
        struct text line = {0};

        text_addf(&line, "CPU %d", usage->cpus[i].cpu);
        add_pct(&line, "busy", cpustat_busy_pct(use, usage->window_s));
        add_pct(&line, "steal", cpustat_pct(use, CPUSTAT_STEAL));
        log_line("%s", text_string(&line));
        text_free(&line);
    }
}

static void print_json(const char *utc, const struct calibration *calibration, const struct machine_usage *usage,
                       const struct cpus *allowed)
{
    struct facts facts;
    struct cgroup_base cgroups;
    json_t *object = json_object();
    json_t *jobs = json_array();
    char *text;

    for (int job = 0; job < CALIBRATE_JOBS; job++) {
        json_t *one = json_object();

        json_put(one, "processes", json_integer(calibration->processes[job]));
        json_put(one, "ms", json_number(calibration->ms[job], 1));
        (void)json_array_append_new(jobs, one);
    }
    cgroup_find(&cgroups);
    facts_read("/proc", "/sys", allowed, cgroups.path != NULL ? NULL : cgroups.reason, &facts);
    cgroup_base_free(&cgroups);
    json_put(object, "format", json_integer(1));
    json_put(object, "utc", json_string(utc));
    json_put(object, "jobs", jobs);
    json_put(object, "machine", facts_to_json(&facts));
    json_put(object, "cpu", machine_usage_to_json(usage));
    json_put(object, "disturbance", disturbance_to_json(&usage->disturbance));
    text = json_pretty(object);
    (void)puts(text);
    free(text);
    json_decref(object);
    facts_free(&facts);
}

static int calibrate(const struct calibrate_args *args, struct err *err)
{
    struct cpus_split split = {0};
    struct sampler sampler;
    struct machine_usage usage;
    struct calibration calibration;
    char utc[CLOCK_UTC_SIZE];
    int result;

    if (cpus_allowed(&split.server, err) != 0)
        return -1;
    cpus_copy(&split.server, &split.generator);
    sampler_init(&sampler, &split);
    sampler_begin(&sampler);
    result = calibrate_all(&split.server, &calibration, err);
    sampler_end(&sampler, &usage);
    clock_format_utc(clock_wall_ns(), utc);
    if (result == 0 && args->json) {
        print_json(utc, &calibration, &usage, &split.server);
    } else if (result == 0) {
        (void)puts(CALIBRATE_HEADER);
        for (int job = 0; job < CALIBRATE_JOBS; job++) {
            char *line = calibrate_line(utc, &calibration, job);

            (void)puts(line);
            free(line);
        }
        (void)fflush(stdout);
        say_use(&usage);
    }
    machine_usage_free(&usage);
    sampler_free(&sampler);
    cpus_split_free(&split);
    return result;
}

static int run(int argc, char **argv)
{
    struct calibrate_args args = {0};
    struct sigaction action = {.sa_handler = on_signal};
    struct err err = {0};
    int operands;
    int result;

    switch (opts_parse(&cmd_calibrate, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    if (operands > 0) {
        (void)err_set(&err, "calibrate takes no operand, got \"%s\"", argv[1]);
        return opts_exit(&err);
    }
    child_cancel_on(&stopped_by);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    result = calibrate(&args, &err);
    if (stopped_by != 0) {
        (void)signal(stopped_by, SIG_DFL);
        (void)raise(stopped_by);
    }
    return result == 0 ? 0 : opts_exit(&err);
}

const struct command cmd_calibrate = {
    .name = "calibrate",
    .summary = "time a fixed job with 1, 4 and 8 processes",
    .usage = "[--json]",
    .description =
        "Runs the same deterministic job with 1, 4 and 8 processes at once on all allowed CPUs, each three\n"
        "times, and prints the median wall-clock milliseconds as CSV: utc,processes,ms. A run of a study does\n"
        "this before and after, and marks its cells when the figures moved by more than 5 %. What each CPU\n"
        "did meanwhile goes to standard error.",
    .opts = opts,
    .main = run,
};
