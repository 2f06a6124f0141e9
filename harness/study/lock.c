#include "study/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"

static char *lock_path(const char *state_dir)
{
    return text_format("%s/run/lock", state_dir);
}

static long read_pid(const char *path)
{
    char text[32];
    int64_t pid;

    if (fsx_read_small(path, text, sizeof text) <= 0)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    return text_parse_i64(text, &pid) == 0 ? (long)pid : 0;
}

int lock_state(const char *state_dir, struct lock *lock, struct err *err)
{
    char *path = lock_path(state_dir);
    char *dir = fsx_dirname(path);
    char *pid = text_format("%ld\n", (long)getpid());
    int result = -1;

    *lock = (struct lock){.state_fd = -1};
    if (fsx_mkdirs(dir, 0755, err) == 0) {
        lock->state_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (lock->state_fd < 0)
            (void)err_sys(err, "%s: cannot open the lock", path);
        else if (flock(lock->state_fd, LOCK_EX | LOCK_NB) != 0)
            (void)err_set(err, "%s: another run (pid %ld) uses this state folder; wait for it, or give --state DIR",
                          state_dir, read_pid(path));
        else if (ftruncate(lock->state_fd, 0) != 0 || pwrite(lock->state_fd, pid, strlen(pid), 0) < 0)
            (void)err_sys(err, "%s: cannot write", path);
        else
            result = 0;
    }
    if (result != 0)
        lock_free(lock);
    free(path);
    free(dir);
    free(pid);
    return result;
}

static socklen_t cpu_address(int cpu, struct sockaddr_un *address)
{
    int len;

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* A leading NUL makes the name abstract: no file, gone with its socket. */
    len = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "restbench-cpu-%d", cpu);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

/* The pid that listens at `address`; 0 when it cannot be told. */
static long ask_holder(const struct sockaddr_un *address, socklen_t len)
{
    struct ucred who = {0};
    socklen_t size = sizeof who;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return 0;
    if (connect(fd, (const struct sockaddr *)address, len) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        who.pid = 0;
    (void)close(fd);
    return who.pid;
}

static int lock_cpu(int cpu, struct lock *lock, struct err *err)
{
    struct sockaddr_un address;
    socklen_t len = cpu_address(cpu, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_sys(err, "CPU %d: cannot make its lock", cpu);
    if (bind(fd, (const struct sockaddr *)&address, len) != 0 || listen(fd, 1) != 0) {
        int in_use = errno == EADDRINUSE;

        if (in_use)
            (void)err_set(err, "CPU %d: another run (pid %ld) measures on it; wait for it, or give other --cpus", cpu,
                          ask_holder(&address, len));
        else
            (void)err_sys(err, "CPU %d: cannot make its lock", cpu);
        (void)close(fd);
        return -1;
    }
    lock->cpu_fds = text_realloc(lock->cpu_fds, lock->cpu_count + 1, sizeof *lock->cpu_fds);
    lock->cpu_fds[lock->cpu_count++] = fd;
    return 0;
}

int lock_cpus(const struct cpus *cpus, struct lock *lock, struct err *err)
{
    for (int cpu = cpus_next(cpus, -1); cpu >= 0; cpu = cpus_next(cpus, cpu))
        if (lock_cpu(cpu, lock, err) != 0)
            return -1;
    return 0;
}

void lock_free(struct lock *lock)
{
    for (size_t i = 0; i < lock->cpu_count; i++)
        (void)close(lock->cpu_fds[i]);
    free(lock->cpu_fds);
    if (lock->state_fd >= 0)
        (void)close(lock->state_fd);
    *lock = (struct lock){.state_fd = -1};
}

long lock_holder(const char *state_dir)
{
    char *path = lock_path(state_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    long pid = 0;

    if (fd >= 0) {
        if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            pid = read_pid(path);
        (void)close(fd);
    }
    free(path);
    return pid;
}
