#include "target/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/place.h"
#include "machine/port.h"
#include "machine/procfs.h"
#include "target/expand.h"

static const size_t log_limit = (size_t)4 << 20;
static const int64_t port_patience_ns = 3 * CLOCK_NS_PER_S;

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static bool accepts(int port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;

    if (fd >= 0)
        (void)close(fd);
    return connected;
}

/* True when a user without special rights can enter every folder of `path`. */
static bool is_reachable(const char *path)
{
    char *copy = text_dup(path);
    bool reachable = true;

    for (char *end = copy + strlen(copy); reachable && end > copy; end = strrchr(copy, '/')) {
        struct stat info;

        *end = '\0';
        if (copy[0] != '\0' && (stat(copy, &info) != 0 || (info.st_mode & S_IXOTH) == 0))
            reachable = false;
        if (strchr(copy, '/') == NULL)
            break;
    }
    free(copy);
    return reachable;
}

/* The same of a program: by its path, or as PATH finds it. One that is not there is reported when it is started. */
static bool is_program_reachable(const char *name, const struct row *row, const struct env *env)
{
    const char *path = env_get(env, "PATH");
    char *found = strchr(name, '/') == NULL ? fsx_find_program(name, path != NULL ? path : "")
                  : name[0] == '/'          ? text_dup(name)
                                            : fsx_join(row->build_dir, name);
    char *real = found != NULL ? realpath(found, NULL) : NULL;
    bool reachable = real == NULL || (is_reachable(found) && is_reachable(real));

    free(found);
    free(real);
    return reachable;
}

/* Root gives its rights away unless the recipe says otherwise, or nobody else could reach the build or the program. */
static int choose_user(const struct row *row, const char *program, const struct env *env, struct child_user *user,
                       bool *other, struct err *err)
{
    const char *name = row->recipe->run_as;

    *other = false;
    if (geteuid() != 0 || strcmp(name, "root") == 0)
        return 0;
    if (name[0] == '\0' && (!is_reachable(row->build_dir) || !is_program_reachable(program, row, env)))
        return 0;
    *other = true;
    return child_user_find(name[0] != '\0' ? name : "nobody", user, err);
}

static void add_object(struct env *env, const json_t *object)
{
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)object, name, value)
        env_set(env, name, json_string_value(value));
}

static void set_number(struct env *env, const char *name, long long value)
{
    char *text = text_format("%lld", value);

    env_set(env, name, text);
    free(text);
}

static void make_env(const struct server_spec *spec, int port, struct env *env)
{
    const struct row *row = spec->row;

    env_basic(env);
    env_set_hidden(env, "HOME", row->build_dir);
    env_add(env, &row->found);
    env_set(env, "HOST", "127.0.0.1");
    set_number(env, "PORT", port);
    if (spec->database_url != NULL) {
        env_set_hidden(env, "DATABASE_URL", spec->database_url);
        set_number(env, "DB_POOL", spec->pool);
    }
    set_number(env, "PROCESSES", row->variant->processes);
    if (spec->jwt_secret != NULL)
        env_set_hidden(env, "JWT_SECRET", spec->jwt_secret);
    add_object(env, row->variant->run.env);
    add_object(env, row->variant->env);
}

/* Adds ", log: PATH" and its last lines: whoever reads the error need not look for them. */
static int fail_with_log(struct server *server, struct err *err, const char *what)
{
    struct text tail = {0};

    child_tail(&server->child, 'o', 8, &tail);
    (void)err_fail(err, "%s: %s; log: %s%s%s", server->row->id, what, server->log_path, tail.len > 0 ? "\n" : "",
                   text_string(&tail));
    text_free(&tail);
    return -1;
}

size_t server_pids(const struct server *server, pid_t **pids)
{
    struct procfs_list list = {0};
    pid_t *members = NULL;
    size_t member_count = cgroup_pids(&server->place->cgroup, &members);
    size_t count = 0;

    *pids = NULL;
    if (server->child.pid > 0 && procfs_list_read("/proc", &list) == 0) {
        procfs_list_keep_tree(&list, server->child.pid, members, member_count);
        *pids = text_realloc(NULL, list.count + 1, sizeof **pids);
        for (size_t i = 0; i < list.count; i++)
            if (list.items[i].state != 'Z')
                (*pids)[count++] = list.items[i].pid;
        procfs_list_free(&list);
    }
    free(members);
    return count;
}

int server_listener(const struct server *server, struct listener_verdict *verdict)
{
    struct listener listener;
    struct err ignored = {0};
    pid_t *pids;
    size_t count;

    if (server->child.pid <= 0 || listener_find("/proc", server->port, &listener, &ignored) != 0)
        return -1;
    count = server_pids(server, &pids);
    listener_judge("/proc", &listener, pids, count, verdict);
    listener_free(&listener);
    free(pids);
    return 0;
}

/* Its port accepts: is it the one that we started who answers, and only on loopback? */
static int check_owner(struct server *server, struct err *err)
{
    struct listener_verdict verdict;
    char what[512];

    if (server_listener(server, &verdict) != 0)
        return 0;
    if (!verdict.ours)
        (void)snprintf(what, sizeof what, "port %d accepts, but it is not this server who listens there: %s",
                       server->port, verdict.foreign[0] != '\0' ? verdict.foreign : "nobody that can be found");
    else if (verdict.wildcard)
        (void)snprintf(what, sizeof what,
                       "it listens on a wildcard address, not on 127.0.0.1 (HOST) alone: others could reach it");
    else
        return 0;
    return fail_with_log(server, err, what);
}

static int wait_ready(struct server *server, struct err *err)
{
    double limit_s = server->row->recipe->start_timeout_s;
    int64_t deadline_ns = server->child.exec_ns + (int64_t)(limit_s * (double)CLOCK_NS_PER_S);
    int64_t pause_ns = CLOCK_NS_PER_MS;
    char what[256];

    for (;;) {
        if (accepts(server->port)) {
            server->startup_s = (double)(clock_mono_ns() - server->child.exec_ns) / (double)CLOCK_NS_PER_S;
            return check_owner(server, err);
        }
        if (child_wait(&server->child, pause_ns)) {
            (void)snprintf(what, sizeof what, "%s before it listened on port %d", child_status_text(&server->child),
                           server->port);
            return fail_with_log(server, err, what);
        }
        if (child_cancelled())
            return err_fail(err, "%s: interrupted while it started", server->row->id);
        if (clock_mono_ns() > deadline_ns) {
            (void)snprintf(what, sizeof what, "does not listen on port %d after %.0f s (it %s)", server->port, limit_s,
                           child_status_text(&server->child));
            return fail_with_log(server, err, what);
        }
        if (pause_ns < 20 * CLOCK_NS_PER_MS)
            pause_ns += pause_ns / 2;
    }
}

static int start_observed(struct server *server, struct err *err)
{
    const char *url = env_get(&server->row->found, server->row->recipe->observed);
    struct err wrong = {0};

    server->port = row_observed_port(url, &wrong);
    if (server->port < 0)
        return err_fail(err, "%s: %s=%s", server->row->id, server->row->recipe->observed, wrong.text);
    server->url = text_dup(url);
    server->startup_s = NAN;
    if (!accepts(server->port))
        return err_fail(err, "%s: nothing accepts connections at %s", server->row->id, url);
    return 0;
}

static int start_child(const struct server_spec *spec, struct server *server, struct err *err)
{
    struct child_user user;
    struct child_spec child = {.cwd = spec->row->build_dir,
                               .out = {.kind = CHILD_LOG, .path = spec->log_path, .limit = log_limit},
                               .err = {.kind = CHILD_SAME},
                               .death_signal = SIGKILL};
    struct env env = {0};
    char **argv;
    bool other_user;
    int result = -1;

    make_env(spec, server->port, &env);
    argv = expand_argv(spec->row->variant->run.argv, &env);
    if (choose_user(spec->row, argv[0], &env, &user, &other_user, err) != 0) {
        expand_free(argv);
        env_free(&env);
        return err_prefix(err, "%s: run_as", spec->row->id);
    }
    child.argv = (const char *const *)argv;
    child.env = &env;
    child.user = other_user ? &user : NULL;
    server->user = other_user ? text_dup(user.name) : NULL;
    if (place_start(spec->place, &child, &server->child, err) != 0) {
        err->kind = ERR_FAILED;
        (void)err_prefix(err, "%s", spec->row->id);
    } else {
        result = wait_ready(server, err);
        if (result == 0 && spec->place->pin == PLACE_PIN_AFTER_START)
            result = place_pin(spec->place, server->child.pid, err);
    }
    expand_free(argv);
    env_free(&env);
    return result;
}

int server_start(const struct server_spec *spec, struct server *server, struct err *err)
{
    *server = (struct server){.row = spec->row, .place = spec->place, .startup_s = NAN};
    server->log_path = text_dup(spec->log_path);
    if (row_is_observed(spec->row)) {
        if (start_observed(server, err) == 0)
            return 0;
    } else {
        server->port = spec->row->recipe->port > 0 ? (int)spec->row->recipe->port : port_choose();
        server->url = text_format("http://127.0.0.1:%d", server->port);
        if (server->port == 0)
            (void)err_fail(err, "%s: no free port on 127.0.0.1", spec->row->id);
        else if (listener_port_free("/proc", server->port, err) != 0)
            err->kind = ERR_FAILED;
        else if (start_child(spec, server, err) == 0)
            return 0;
    }
    (void)server_stop(server, NULL);
    return -1;
}

bool server_is_alive(struct server *server, char *how, size_t size)
{
    if (server->child.pid <= 0 || !child_wait(&server->child, 0))
        return true;
    (void)snprintf(how, size, "it %s; log: %s", child_status_text(&server->child), server->log_path);
    return false;
}

static int wait_port_free(const struct server *server, struct err *err)
{
    int64_t deadline_ns = clock_mono_ns() + port_patience_ns;
    struct err last = {0};

    while (listener_port_free("/proc", server->port, &last) != 0) {
        if (clock_mono_ns() > deadline_ns)
            return err_fail(err, "%s: after its end the port is not free: %s", server->row->id, last.text);
        err_clear(&last);
        clock_sleep_ns(20 * CLOCK_NS_PER_MS);
    }
    return 0;
}

int server_stop(struct server *server, struct err *err)
{
    int result = 0;

    if (server->child.pid > 0) {
        double grace_s = server->row->recipe->stop_timeout_s;

        result = place_stop(server->place, &server->child, (int64_t)(grace_s * (double)CLOCK_NS_PER_S), err);
        child_close(&server->child);
        if (result == 0)
            result = wait_port_free(server, err);
    }
    free(server->url);
    free(server->log_path);
    free(server->user);
    *server = (struct server){0};
    return result;
}
