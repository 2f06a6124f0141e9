/*
 * child - a process that gets exactly this and nothing by accident (the rule for servers, PostgreSQL, load tools,
 * builds and version commands alike):
 *
 *   the environment of its spec and no other variable; default signal dispositions and an empty mask; descriptors 0 to
 *   2 and those of its spec; the resource limits (and CPUs) of the login that started restbench; a session and process
 * group of its own without a terminal; umask 022; its folder; its CPUs, cgroup and user, all set before exec.
 *
 * Recipe:
 *   1. struct env env = {0}; env_basic(&env); env_set(...)
 *   2. struct child_spec spec = {.argv = ..., .env = &env, .out = {.kind = CHILD_LOG, .path = ...}, .err =
 * {CHILD_SAME}};
 *   3. struct child child = {0}; child_start(&spec, &child, &err)      spec and env may go away now
 *   4. child_wait(), child_state(), child_tail() while it lives
 *   5. child_stop(): SIGTERM to its process group, after the grace SIGKILL to the group and to all of its cgroup
 *   6. child_take() for captured output, then child_close(), always: it leaves no process and no thread
 * child_run() does all of it for a command that ends by itself.
 *
 * Start children from the main thread: a death_signal comes when the starting *thread* ends. struct child may not be
 * moved between child_start() and child_close(). It is not for use by two threads at once.
 * Status and output stay readable after child_stop(). A process that ended is reaped at child_stop() or child_close(),
 * so that its number stays its own (process group) until the group is gone.
 */
#ifndef MACHINE_CHILD_H
#define MACHINE_CHILD_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "machine/env.h"

struct cpus;
struct cgroup;
struct pump;

enum child_output_kind {
    CHILD_NULL = 0, /* /dev/null */
    CHILD_LOG,      /* the file `path`, replaced; first and last part when more than `limit` is written */
    CHILD_CAPTURE,  /* memory: the first `limit` bytes, the rest is read and dropped */
    CHILD_FD,       /* the descriptor `fd`, still the caller's */
    CHILD_SAME,     /* err only: where out goes */
};

#define CHILD_LIMIT ((size_t)1 << 20)

struct child_output {
    enum child_output_kind kind;
    const char *path;
    size_t limit; /* bytes; 0: CHILD_LIMIT */
    int fd;
};

/* A descriptor of ours that the child has as number `to` (3 or above). */
struct child_fd {
    int from;
    int to;
};

/* Who the child is; child_user_find() fills it. */
struct child_user {
    uid_t uid;
    gid_t gid;
    gid_t groups[64];
    size_t group_count;
    char name[64];
    char home[256];
};

struct child_spec {
    const char *const *argv; /* NULL-terminated; argv[0] without '/' is looked up in the child's PATH */
    const struct env *env;   /* NULL: an empty environment */
    const char *cwd;         /* NULL: "/" */
    int input;               /* descriptor for stdin; 0: /dev/null */
    struct child_output out;
    struct child_output err;
    const struct child_fd *fds;
    size_t fd_count;
    const struct cpus *cpus;       /* NULL: those that restbench was started with, not those it moved to */
    const struct cgroup *cgroup;   /* NULL, or without a group: none */
    bool cgroup_shared;            /* others live in that cgroup too: child_stop() leaves them alone */
    const struct child_user *user; /* NULL: ours */
    int death_signal;              /* sent to it when restbench dies; 0: none. SIGKILL for all but a database */
};

struct child_status {
    bool ended;
    int code;   /* exit status when it exited, -1 otherwise */
    int signal; /* that killed it, 0 when it exited */
};

struct child {
    pid_t pid; /* also its process group and session; 0: none */
    int pidfd;
    int64_t exec_ns; /* CLOCK_MONOTONIC just before exec */
    struct child_status status;
    bool killed;           /* child_stop() or a time limit had to use SIGKILL */
    struct cgroup *cgroup; /* borrowed copy, NULL when there is none or it is shared */
    struct pump *pump;
    char *name;     /* argv[0], for messages */
    json_t *record; /* what it got */
};

/* Returns when exec has succeeded, or with the step that failed ("cannot start ./server: exec: No such file"). */
int child_start(const struct child_spec *spec, struct child *child, struct err *err);

/* Waits until it has ended, at most `timeout_ns` (0: looks). True when it has; then `status` is filled. Returns false
 * early when child_cancel_on()'s flag is set. */
bool child_wait(struct child *child, int64_t timeout_ns);
/* All waits but that of child_stop() end (within 0.1 s) when this flag, set by a signal handler, is not 0. */
void child_cancel_on(const volatile sig_atomic_t *flag);
bool child_cancelled(void);
/* 'R', 'S', 'D', 'T' (stopped), 'Z' as in /proc; 0: unknown or gone. */
char child_state(const struct child *child);
/* "runs", "stopped by a signal (state T)", "exited 1", "killed by SIGSEGV"; borrowed, until the next call. */
const char *child_status_text(const struct child *child);

/* To the leader alone; gone is no error. */
void child_signal(const struct child *child, int signal);
/* Ends it (see above) and reaps it; no process of its group or cgroup is left, or there is an error. May be repeated.
 */
int child_stop(struct child *child, int64_t grace_ns, struct err *err);
/* child_stop() without grace when it still runs, and frees everything. Zeroed children are fine. */
void child_close(struct child *child);
/* Frees everything and lets it live on: for what outlives restbench. Its output must not need us (a file, no log). */
void child_detach(struct child *child);

/* The last lines of a log or of captured output ('o' or 'e'), escaped; added to `text`. */
void child_tail(struct child *child, char which, int lines, struct text *text);
/* Captured output ('o' or 'e'), NUL-terminated and the caller's; after it ended. `len`, `cut` may be NULL. */
char *child_take(struct child *child, char which, size_t *len, bool *cut);

struct child_result {
    struct child_status status;
    bool timed_out;
    char *out; /* captured, NUL-terminated; NULL unless spec.out.kind is CHILD_CAPTURE */
    char *err;
    int64_t wall_ns;
};

/*
 * Runs a command that must end within `timeout_ns`; its process group is killed then, and at its end. Returns 0 when
 * it exited with 0. Else -1 with kind ERR_FAILED and a line that names the command, how it ended and its last line of
 * stderr; `result` is filled all the same. -1 and kind ERR_CANNOT: it could not be started.
 */
int child_run(const struct child_spec *spec, int64_t timeout_ns, struct child_result *result, struct err *err);
void child_result_free(struct child_result *result);

/* A user by name, with its groups and home folder. */
int child_user_find(const char *name, struct child_user *user, struct err *err);

/* What the child gets, for the record: command, env, cpus, user, umask, limits; not where it works, which is of no use
 * elsewhere. child_start() leaves it in `record`. */
json_t *child_spec_to_json(const struct child_spec *spec);

#endif
