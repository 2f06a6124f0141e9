#include "machine/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/json.h"
#include "machine/cgroup.h"
#include "machine/child_exec.h"
#include "machine/login.h"
#include "machine/pump.h"
#include "machine/reaper.h"

#define FDS_MOST 32

static const char *step_name(enum child_step step)
{
    static const char *const names[] = {
        [STEP_EXEC_NEXT] = "exec",    [STEP_SESSION] = "its own session", [STEP_DESCRIPTORS] = "its descriptors",
        [STEP_CGROUP] = "its cgroup", [STEP_CPUS] = "its CPUs",           [STEP_LIMITS] = "its resource limits",
        [STEP_USER] = "its user",     [STEP_FOLDER] = "its folder",       [STEP_EXEC] = "exec",
    };

    return names[step];
}

/* Descriptors that are opened for one start and closed in the parent at its end. */
struct opened {
    int fds[8];
    int count;
};

static int open_null(struct opened *opened, int flags, struct err *err)
{
    int fd = open("/dev/null", flags | O_CLOEXEC);

    if (fd < 0)
        return err_sys(err, "/dev/null");
    opened->fds[opened->count++] = fd;
    return fd;
}

static int output_fd(const struct child_output *output, int which, int same, struct child *child, struct opened *opened,
                     struct err *err)
{
    int fd = -1;

    switch (output->kind) {
    case CHILD_NULL:
        return open_null(opened, O_WRONLY, err);
    case CHILD_FD:
        return output->fd;
    case CHILD_SAME:
        return same;
    case CHILD_LOG:
    case CHILD_CAPTURE:
        if (child->pump == NULL)
            child->pump = text_alloc(sizeof *child->pump);
        if (pump_add(child->pump, which, output->kind == CHILD_LOG ? output->path : NULL,
                     output->limit != 0 ? output->limit : CHILD_LIMIT, &fd, err) != 0)
            return -1;
        opened->fds[opened->count++] = fd;
        return fd;
    }
    return -1;
}

/* Fills from[] and to[] with stdin, stdout, stderr and the descriptors of the spec in ascending order. */
static int list_fds(const struct child_spec *spec, struct child *child, int *from, int *to, struct opened *opened,
                    struct err *err)
{
    size_t count = 3;

    from[0] = spec->input > 0 ? spec->input : open_null(opened, O_RDONLY, err);
    from[1] = from[0] >= 0 ? output_fd(&spec->out, 0, -1, child, opened, err) : -1;
    from[2] = from[1] >= 0 ? output_fd(&spec->err, 1, from[1], child, opened, err) : -1;
    if (from[2] < 0)
        return -1;
    for (int i = 0; i < 3; i++)
        to[i] = i;
    for (size_t i = 0; i < spec->fd_count; i++, count++) {
        size_t at = count;

        for (; at > 3 && to[at - 1] > spec->fds[i].to; at--) {
            to[at] = to[at - 1];
            from[at] = from[at - 1];
        }
        to[at] = spec->fds[i].to;
        from[at] = spec->fds[i].from;
    }
    return 0;
}

static char *find_program(const struct child_spec *spec, struct err *err)
{
    const char *path = spec->env != NULL ? env_get(spec->env, "PATH") : NULL;
    char *program;

    if (strchr(spec->argv[0], '/') != NULL)
        return text_dup(spec->argv[0]);
    program = fsx_find_program(spec->argv[0], path != NULL ? path : "/usr/local/bin:/usr/bin:/bin");
    if (program == NULL)
        (void)err_set(err, "%s: no such program in PATH", spec->argv[0]);
    return program;
}

/* Reads what the child reports until exec closes the pipe. */
static int read_report(int fd, const struct child_spec *spec, struct child *child, struct err *err)
{
    struct child_report message;
    ssize_t n;

    while ((n = read(fd, &message, sizeof message)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof message)
            return err_set(err, "cannot start %s: it reported nothing", child->name);
        if (message.step == STEP_EXEC_NEXT) {
            child->exec_ns = message.time_ns;
            continue;
        }
        errno = message.error;
        if (message.step == STEP_FOLDER || message.step == STEP_EXEC)
            return err_sys(err, "cannot start %s in %s: %s", child->name, spec->cwd != NULL ? spec->cwd : "/",
                           step_name(message.step));
        return err_sys(err, "cannot start %s: %s", child->name, step_name(message.step));
    }
    return child->exec_ns != 0 ? 0 : err_set(err, "cannot start %s: it died before exec", child->name);
}

/* Forks with all signals blocked, so that none of our handlers runs in the child. */
static int fork_child(struct child_plan *plan, struct child *child, struct err *err)
{
    sigset_t all;
    sigset_t old;
    pid_t pid;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    pid = reaper_fork();
    if (pid == 0)
        child_exec(plan);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (pid < 0)
        return err_sys(err, "cannot start %s: fork", child->name);
    child->pid = pid;
    child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (child->pidfd < 0)
        return err_sys(err, "cannot start %s: pidfd_open", child->name);
    return 0;
}

static int start(const struct child_spec *spec, struct child *child, struct opened *opened, struct err *err)
{
    static char *const no_environment[] = {NULL};
    int from[FDS_MOST];
    int to[FDS_MOST];
    int report[2];
    char *program;
    int result;
    struct child_plan plan = {.spec = spec, .parent = getpid(), .from = from, .to = to, .cgroup_procs = -1};

    if (spec->fd_count + 3 > FDS_MOST)
        return err_set(err, "cannot start %s: too many descriptors", child->name);
    if (list_fds(spec, child, from, to, opened, err) != 0)
        return -1;
    plan.fd_count = spec->fd_count + 3;
    plan.environment = spec->env != NULL && spec->env->items != NULL ? spec->env->items : no_environment;
    if (spec->cgroup != NULL && spec->cgroup->path != NULL) {
        plan.cgroup_procs = cgroup_open_procs(spec->cgroup);
        if (plan.cgroup_procs < 0)
            return err_sys(err, "%s: cannot start %s in this cgroup", spec->cgroup->path, child->name);
        opened->fds[opened->count++] = plan.cgroup_procs;
        if (!spec->cgroup_shared) {
            child->cgroup = text_alloc(sizeof *child->cgroup);
            child->cgroup->path = text_dup(spec->cgroup->path);
        }
    }
    if ((program = find_program(spec, err)) == NULL)
        return -1;
    plan.program = program;
    if (pipe2(report, O_CLOEXEC) != 0) {
        free(program);
        return err_sys(err, "cannot make a pipe");
    }
    plan.report = report[1];
    result = fork_child(&plan, child, err);
    (void)close(report[1]);
    if (result == 0)
        result = read_report(report[0], spec, child, err);
    (void)close(report[0]);
    free(program);
    return result;
}

int child_start(const struct child_spec *spec, struct child *child, struct err *err)
{
    struct opened opened = {0};
    int result;

    *child = (struct child){.pidfd = -1, .name = text_dup(spec->argv[0]), .record = child_spec_to_json(spec)};
    result = start(spec, child, &opened, err);
    for (int i = 0; i < opened.count; i++)
        (void)close(opened.fds[i]);
    if (result == 0 && child->pump != NULL)
        result = pump_start(child->pump, err);
    if (result != 0)
        child_close(child);
    return result;
}

int child_user_find(const char *name, struct child_user *user, struct err *err)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[16384];
    int count = (int)(sizeof user->groups / sizeof user->groups[0]);

    if (getpwnam_r(name, &entry, buffer, sizeof buffer, &found) != 0 || found == NULL)
        return err_set(err, "%s: no such user on this machine", name);
    *user = (struct child_user){.uid = found->pw_uid, .gid = found->pw_gid};
    if (getgrouplist(name, found->pw_gid, user->groups, &count) < 0)
        count = (int)(sizeof user->groups / sizeof user->groups[0]);
    user->group_count = (size_t)count;
    (void)strncpy(user->name, name, sizeof user->name - 1);
    (void)strncpy(user->home, found->pw_dir, sizeof user->home - 1);
    return 0;
}

json_t *child_spec_to_json(const struct child_spec *spec)
{
    json_t *object = json_object();
    json_t *command = json_array();
    char *cpus = spec->cpus != NULL ? cpus_format(spec->cpus) : NULL;

    for (size_t i = 0; spec->argv[i] != NULL; i++) {
        struct text word = {0};

        text_add_visible(&word, spec->argv[i], strlen(spec->argv[i]));
        (void)json_array_append_new(command, json_string(text_string(&word)));
        text_free(&word);
    }
    json_put(object, "command", command);
    json_put(object, "env", spec->env != NULL ? env_to_json(spec->env) : json_object());
    json_put(object, "cpus", cpus != NULL ? json_string(cpus) : json_null());
    json_put(object, "user", spec->user != NULL ? json_string(spec->user->name) : json_null());
    json_put(object, "umask", json_string("022"));
    json_put(object, "limits", login_limits_to_json());
    free(cpus);
    return object;
}
