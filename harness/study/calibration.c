#include "study/calibration.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/calibrate.h"
#include "results/marks.h"

/* DATE is that of the run's start: the first ten characters of its name. */
static char *file_path(const struct run *run, const char *when)
{
    const char *name = fsx_basename(run->store.base);

    return text_format("%s/%.10s_calibration_%s.csv", run->data_dir, name, when);
}

static int append(const char *path, const char *utc, const struct calibration *calibration, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int result = 0;

    if (fd < 0)
        return err_sys(err, "%s: cannot append", path);
    if (lseek(fd, 0, SEEK_END) == 0)
        result = fsx_append_line(fd, path, CALIBRATE_HEADER, err);
    for (int job = 0; job < CALIBRATE_JOBS && result == 0; job++) {
        char *line = calibrate_line(utc, calibration, job);

        result = fsx_append_line(fd, path, line, err);
        free(line);
    }
    (void)close(fd);
    return result;
}

static json_t *to_json(const struct calibration *calibration, const char *utc)
{
    json_t *object = json_object();
    json_t *jobs = json_array();

    for (int job = 0; job < CALIBRATE_JOBS; job++) {
        json_t *one = json_object();

        json_put(one, "processes", json_integer(calibration->processes[job]));
        json_put(one, "ms", json_number(calibration->ms[job], 1));
        (void)json_array_append_new(jobs, one);
    }
    json_put(object, "utc", json_string(utc));
    json_put(object, "jobs", jobs);
    return object;
}

/* The largest move of any job, in percent of its time before. */
static double drift_pct(const json_t *before, const json_t *after)
{
    double largest = NAN;
    size_t i;
    json_t *job;

    json_array_foreach (json_object_get(before, "jobs"), i, job) {
        double was = json_get_number(job, "ms");
        double is = json_get_number(json_array_get(json_object_get(after, "jobs"), i), "ms");
        double moved = 100 * (is - was) / was;

        if (!isnan(moved) && (isnan(largest) || fabs(moved) > fabs(largest)))
            largest = moved;
    }
    return largest;
}

static void judge_drift(struct run *run, json_t *calibration)
{
    double moved =
        drift_pct(json_array_get(json_object_get(calibration, "before"), 0), json_object_get(calibration, "after"));

    json_put(calibration, "drift_pct", json_number(moved, 1));
    if (!mark_exceeded(MARK_DRIFT, fabs(moved)))
        return;
    run->marks++;
    log_line("mark       the whole run: drift %+.1f %%: %s", moved, mark_kinds[MARK_DRIFT].sentence);
}

int calibration_run(struct run *run, bool after, struct err *err)
{
    struct calibration calibration;
    char utc[CLOCK_UTC_SIZE];
    char *path = file_path(run, after ? "after" : "before");
    json_t *all = json_object_get(run->machine, "calibration");
    int result = calibrate_all(&run->parts.allowed, &calibration, err);

    if (all == NULL) {
        all = json_object();
        json_put(all, "before", json_array());
        json_put(run->machine, "calibration", all);
    }
    if (result == 0) {
        clock_format_utc(clock_wall_ns(), utc);
        result = append(path, utc, &calibration, err);
    }
    if (result == 0 && after) {
        json_put(all, "after", to_json(&calibration, utc));
        judge_drift(run, all);
    } else if (result == 0) {
        /* One for each time that the run was started: a resumed run has several. */
        (void)json_array_append_new(json_object_get(all, "before"), to_json(&calibration, utc));
    }
    free(path);
    return result;
}
