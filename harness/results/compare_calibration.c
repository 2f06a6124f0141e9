#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "results/compare_parts.h"
#include "results/fields.h"

/* A fixed job in memory is not a server: so much of a machine's change it may miss (standard deviation, as a log). */
#define JOB_SD 0.01
#define JOBS 3

static const double job_processes[JOBS] = {1, 4, 8};

/* Milliseconds of the jobs around one run, NaN where unknown. */
struct times {
    double before[JOBS];
    double after[JOBS];
};

/* Of a file that several runs of a day appended to: the last line up to `utc`, or the first one from it on. */
static void read_side(const struct compare_run *run, const char *side, const char *utc, bool before, double *ms)
{
    char *name = text_format("%.10s_calibration_%s.csv", run->name, side);
    char *folder = fsx_dirname(run->csv);
    char *path = fsx_join(folder, name);
    struct err ignored = {0};
    struct fields fields;
    struct field field[3];
    size_t count;

    for (int i = 0; i < JOBS; i++)
        ms[i] = (double)NAN;
    if (fsx_exists(path) && fields_open(path, &fields, &ignored) == 0) {
        while (fields_next(&fields, field, 3, &count, &ignored) == 1) {
            double processes, value;

            if (count != 3 || fields_number(&field[1], &processes) != 0 || fields_number(&field[2], &value) != 0)
                continue;
            for (int i = 0; i < JOBS; i++) {
                bool here = fabs(processes - job_processes[i]) < 0.5 &&
                            (before ? strcmp(field[0].data, utc) <= 0 : strcmp(field[0].data, utc) >= 0);

                if (here && (before || isnan(ms[i])))
                    ms[i] = value;
            }
        }
        fields_close(&fields);
    }
    free(path);
    free(folder);
    free(name);
}

static void read_times(const struct compare_run *run, struct times *times)
{
    read_side(run, "before", run->first_utc, true, times->before);
    read_side(run, "after", run->last_utc, false, times->after);
}

static void add_ratio(double head, double base, double *sum, double *squares, double *count)
{
    double ratio = infer_log(head) - infer_log(base);

    if (!isfinite(ratio))
        return;
    *sum += ratio;
    *squares += ratio * ratio;
    *count += 1;
}

bool compare_calibration(const struct compare *compare, double *log_time, struct infer_allowance *allowance)
{
    struct times base, head;
    double sum = 0, count = 0, moved = 0, moves = 0, unused = 0;

    read_times(compare->base, &base);
    read_times(compare->head, &head);
    for (int i = 0; i < JOBS; i++) {
        add_ratio(head.before[i], base.before[i], &sum, &unused, &count);
        add_ratio(head.after[i], base.after[i], &sum, &unused, &count);
        add_ratio(head.after[i], head.before[i], &unused, &moved, &moves);
        add_ratio(base.after[i], base.before[i], &unused, &moved, &moves);
    }
    if (count <= 0)
        return false;
    *log_time = sum / count;
    /* How far the machine moved within a sitting tells how well two moments stand for the whole of it. */
    *allowance = (struct infer_allowance){.sd = sqrt(JOB_SD * JOB_SD + (moves > 0 ? moved / moves : JOB_SD * JOB_SD)),
                                          .df = INFINITY};
    return true;
}
