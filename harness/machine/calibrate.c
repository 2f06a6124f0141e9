#include "machine/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/child.h"
#include "machine/reaper.h"

#define TABLE_WORDS 32768 /* 256 KiB */
#define STEPS_A_UNIT 400000
#define JOB_UNITS 280
#define JOB_SUM 0xe5f00070edbed8ULL
#define PROCESSES_MOST 8
#define REPEATS 3
/* A machine that needs longer for one job is not one to measure on. */
#define LIMIT_NS (120 * CLOCK_NS_PER_S)

static uint64_t table[TABLE_WORDS];

/* Optimised whatever the build's flags are: the job must take the same time in every build of restbench. */
__attribute__((noinline, optimize("O2"), no_sanitize("address", "undefined", "thread"))) uint64_t
calibrate_job(int units)
{
    uint64_t x = 88172645463325252ULL;
    uint64_t sum = 0;

    for (size_t i = 0; i < TABLE_WORDS; i++)
        table[i] = i * 0x9E3779B97F4A7C15ULL;
    for (long step = 0; step < (long)units * STEPS_A_UNIT; step++) {
        uint64_t *word;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        word = &table[x % TABLE_WORDS];
        sum = (sum << 5 | sum >> 59) ^ (*word += x);
    }
    return sum;
}

/* The other side of the fork: waits for the start, works, ends. What it tells is that its pipe ends closed. */
static void work(int start, const struct cpus *cpus, pid_t parent) __attribute__((noreturn));
static void work(int start, const struct cpus *cpus, pid_t parent)
{
    char byte;

    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent || syscall(SYS_sched_setaffinity, 0, cpus->bytes, cpus->mask) != 0)
        _exit(3);
    while (read(start, &byte, 1) < 0 && errno == EINTR)
        continue;
    _exit(calibrate_job(JOB_UNITS) == JOB_SUM ? 0 : 4);
}

/* Waits until every worker has closed its end of the pipe, which none writes to. */
static bool wait_for_all(int fd)
{
    int64_t end = clock_mono_ns() + LIMIT_NS;

    while (clock_mono_ns() < end && !child_cancelled()) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

        if (poll(&poll_fd, 1, 100) > 0)
            return true;
    }
    return false;
}

static double cpu_ms_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

/* *cpu_ms: of all processes together. */
static int run(int processes, const struct cpus *cpus, double *ms, double *cpu_ms, struct err *err)
{
    pid_t pids[PROCESSES_MOST];
    pid_t self = getpid();
    int start[2];
    int end[2];
    int count = 0;
    int result = 0;
    int64_t begin_ns;

    if (pipe2(start, O_CLOEXEC) != 0)
        return err_sys(err, "calibration: cannot make a pipe");
    if (pipe2(end, O_CLOEXEC) != 0) {
        (void)close(start[0]);
        (void)close(start[1]);
        return err_sys(err, "calibration: cannot make a pipe");
    }
    for (; count < processes; count++) {
        pids[count] = reaper_fork();
        if (pids[count] == 0) {
            (void)close(start[1]);
            (void)close(end[0]);
            work(start[0], cpus, self);
        }
        if (pids[count] < 0) {
            result = err_sys(err, "calibration: cannot start a process");
            break;
        }
    }
    (void)close(start[0]);
    (void)close(end[1]);
    begin_ns = clock_mono_ns();
    (void)close(start[1]);
    if (result == 0 && !wait_for_all(end[0]))
        result = err_fail(err, child_cancelled() ? "calibration: interrupted"
                                                 : "calibration: a job of a fraction of a second took two minutes");
    *ms = (double)(clock_mono_ns() - begin_ns) / CLOCK_NS_PER_MS;
    (void)close(end[0]);
    *cpu_ms = 0;
    for (int i = 0; i < count; i++) {
        struct rusage usage = {0};
        int status = 0;

        if (result != 0)
            (void)kill(pids[i], SIGKILL);
        while (wait4(pids[i], &status, 0, &usage) < 0 && errno == EINTR)
            continue;
        *cpu_ms += cpu_ms_of(&usage);
        reaper_disown(pids[i]);
        if (result == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
            result = err_fail(err, "calibration: %s",
                              WIFEXITED(status) && WEXITSTATUS(status) == 4
                                  ? "the job had another result than always: this machine computes wrong"
                                  : "a process ended before its work was done");
    }
    return result;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

int calibrate_all(const struct cpus *cpus, struct calibration *calibration, struct err *err)
{
    *calibration = (struct calibration){.processes = {1, 4, 8}};
    for (int job = 0; job < CALIBRATE_JOBS; job++) {
        double ms[REPEATS];
        double cpu_ms;

        for (int repeat = 0; repeat < REPEATS; repeat++)
            if (run(calibration->processes[job], cpus, &ms[repeat], &cpu_ms, err) != 0)
                return -1;
        qsort(ms, REPEATS, sizeof ms[0], by_value);
        calibration->ms[job] = ms[REPEATS / 2];
    }
    return 0;
}

double calibrate_probe(int cpu, double *waited_ms)
{
    struct cpus one = {0};
    struct err ignored = {0};
    double ms;
    double cpu_ms;
    int result;

    cpus_add(&one, cpu);
    result = run(1, &one, &ms, &cpu_ms, &ignored);
    cpus_free(&one);
    if (waited_ms != NULL)
        *waited_ms = result == 0 ? fmax(0, ms - cpu_ms) : NAN;
    return result == 0 ? ms : NAN;
}

char *calibrate_line(const char *utc, const struct calibration *calibration, int job)
{
    struct text line = {0};

    text_addf(&line, "%s,%d,", utc, calibration->processes[job]);
    text_add_double(&line, calibration->ms[job], 1);
    return text_take(&line);
}
