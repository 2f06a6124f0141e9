#include "machine/child_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "machine/login.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

static void report(const struct child_plan *plan, enum child_step step)
{
    struct child_report message = {.step = step, .error = errno};
    struct timespec now;

    /* Not through base/clock: its seam may be a function that is not safe here. */
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    message.time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    (void)!write(plan->report, &message, sizeof message);
}

static void fail(const struct child_plan *plan, enum child_step step) __attribute__((noreturn));
static void fail(const struct child_plan *plan, enum child_step step)
{
    report(plan, step);
    _exit(127);
}

/*
 * The system call, because glibc's sigaction() refuses 32 and 33, which a make or a shell that starts its commands with
 * posix_spawn(3) leaves ignored. All zero is the kernel's form of SIG_DFL without flags on every architecture.
 */
static void default_signals(void)
{
    static const unsigned long standard[8];

    for (int signal = 1; signal < NSIG; signal++)
        (void)syscall(SYS_rt_sigaction, signal, standard, NULL, (size_t)(NSIG - 1) / 8);
}

/* Everything above stderr closes at exec, but for the descriptors of the spec that are put there afterwards. */
static int close_others_at_exec(void)
{
    if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return 0;
    for (int fd = 3, most = (int)sysconf(_SC_OPEN_MAX); fd < most; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (flags >= 0 && fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0)
            return -1;
    }
    return 0;
}

static int place_descriptors(struct child_plan *plan)
{
    int above = plan->to[plan->fd_count - 1] + 1;

    /* First out of the way of all targets: a source may have the number of another one's target. */
    for (size_t i = 0; i < plan->fd_count; i++)
        if ((plan->from[i] = fcntl(plan->from[i], F_DUPFD_CLOEXEC, above)) < 0)
            return -1;
    plan->report = fcntl(plan->report, F_DUPFD_CLOEXEC, above);
    if (plan->cgroup_procs >= 0)
        plan->cgroup_procs = fcntl(plan->cgroup_procs, F_DUPFD_CLOEXEC, above);
    if (close_others_at_exec() != 0)
        return -1;
    for (size_t i = 0; i < plan->fd_count; i++)
        if (dup2(plan->from[i], plan->to[i]) < 0)
            return -1;
    return 0;
}

/*
 * The system calls, because glibc's functions of these names change all threads of a process: they take locks and send
 * signals, which is nothing for the copy of a process with threads. On 32 bits the calls without 32 are of 16 bits.
 */
#ifdef SYS_setresuid32
#define CALL_SETGROUPS SYS_setgroups32
#define CALL_SETRESGID SYS_setresgid32
#define CALL_SETRESUID SYS_setresuid32
#else
#define CALL_SETGROUPS SYS_setgroups
#define CALL_SETRESGID SYS_setresgid
#define CALL_SETRESUID SYS_setresuid
#endif

static int change_user(const struct child_user *user)
{
    return syscall(CALL_SETGROUPS, user->group_count, user->groups) != 0 ||
                   syscall(CALL_SETRESGID, user->gid, user->gid, user->gid) != 0 ||
                   syscall(CALL_SETRESUID, user->uid, user->uid, user->uid) != 0
               ? -1
               : 0;
}

static int set_cpus(const struct cpus *cpus)
{
    const struct cpus *login = login_cpus();

    if (cpus != NULL)
        return (int)syscall(SYS_sched_setaffinity, 0, cpus->bytes, cpus->mask);
    /* Somebody may have taken CPUs from us meanwhile; then ours are the best there are. */
    (void)syscall(SYS_sched_setaffinity, 0, login->bytes, login->mask);
    return 0;
}

void child_exec(struct child_plan *plan)
{
    const struct child_spec *spec = plan->spec;
    sigset_t none;

    default_signals();
    /* A session of its own has no controlling terminal: the terminal's keys and stops do not reach the child. */
    if (setsid() < 0)
        fail(plan, STEP_SESSION);
    if (place_descriptors(plan) != 0)
        fail(plan, STEP_DESCRIPTORS);
    if (plan->cgroup_procs >= 0 && write(plan->cgroup_procs, "0", 1) != 1)
        fail(plan, STEP_CGROUP);
    if (set_cpus(spec->cpus) != 0)
        fail(plan, STEP_CPUS);
    if (login_restore() != 0)
        fail(plan, STEP_LIMITS);
    (void)umask(022);
    if (spec->user != NULL && change_user(spec->user) != 0)
        fail(plan, STEP_USER);
    if (chdir(spec->cwd != NULL ? spec->cwd : "/") != 0)
        fail(plan, STEP_FOLDER);
    if (spec->death_signal != 0) {
        /* After the change of user, which clears it; the parent may have died before. */
        (void)prctl(PR_SET_PDEATHSIG, spec->death_signal, 0, 0, 0);
        if (getppid() != plan->parent)
            _exit(127);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    report(plan, STEP_EXEC_NEXT);
    (void)execve(plan->program, (char *const *)spec->argv, plan->environment);
    fail(plan, STEP_EXEC);
}
