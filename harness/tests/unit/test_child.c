#include "unit.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "machine/cgroup.h"
#include "machine/child.h"
#include "machine/cpus.h"
#include "machine/login.h"

#define LONG_NS (60 * CLOCK_NS_PER_S)
#define SH(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})

static const struct child_output captured = {.kind = CHILD_CAPTURE};

/* Runs a command with captured output; asserts that it could be started. */
static struct child_result run(const char *const *argv, const struct env *env)
{
    struct child_spec spec = {.argv = argv, .env = env, .out = captured, .err = captured};
    struct child_result result;
    struct err err = {0};

    (void)child_run(&spec, LONG_NS, &result, &err);
    assert_int_not_equal(err.kind, ERR_CANNOT);
    return result;
}

static void only_the_listed_environment(void **state)
{
    struct env env = {0};
    struct child_result result;
    json_t *record;

    (void)state;
    assert_int_equal(setenv("PGHOST", "elsewhere", 1), 0);
    assert_int_equal(setenv("TZ", "Europe/Rome", 1), 0);
    assert_int_equal(setenv("http_proxy", "http://proxy.example", 1), 0);
    env_set(&env, "B", "old");
    env_set(&env, "A", "1 2=3");
    env_set(&env, "B", "new");
    env_set(&env, "GONE", "x");
    env_unset(&env, "GONE");
    env_set_hidden(&env, "PGPASSWORD", "secret");
    result = run((const char *const[]){"env", NULL}, &env);
    assert_string_equal(result.out, "B=new\nA=1 2=3\nPGPASSWORD=secret\n");
    record = env_to_json(&env);
    assert_string_equal(json_get_string(record, "A"), "1 2=3");
    assert_true(json_is_true(json_object_get(record, "PGPASSWORD")));
    json_decref(record);
    child_result_free(&result);
    env_build(&env);
    assert_string_equal(env_get(&env, "http_proxy"), "http://proxy.example");
    assert_null(env_get(&env, "PGHOST"));
    env_free(&env);
    result = run((const char *const[]){"env", NULL}, NULL);
    assert_string_equal(result.out, "");
    child_result_free(&result);
}

static void default_signals_and_no_mask(void **state)
{
    struct child_result result;
    sigset_t blocked;
    sigset_t old;

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGRTMIN + 3, SIG_IGN);
    (void)syscall(SYS_rt_sigaction, 32, (const unsigned long[8]){(unsigned long)SIG_IGN}, NULL, (size_t)8);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &blocked, &old);
    result = run((const char *const[]){"cat", "/proc/self/status", NULL}, NULL);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGRTMIN + 3, SIG_DFL);
    assert_non_null(strstr(result.out, "SigBlk:\t0000000000000000\n"));
    assert_non_null(strstr(result.out, "SigIgn:\t0000000000000000\n"));
    child_result_free(&result);
}

#define MANY 20

static void three_descriptors_and_those_given(void **state)
{
    int stray[4];
    char path[] = "/tmp/restbench-test-XXXXXX";
    int file = mkstemp(path);
    struct child_fd fds[MANY];
    struct text script = {0};
    struct text expected = {0};
    int next;
    struct child_spec spec = {.argv = SH("ls /proc/$$/fd; cat <&7"), .out = captured, .err = captured};
    struct child_result result;
    struct err err = {0};

    (void)state;
    for (int i = 0; i < 4; i++)
        stray[i] = open("/dev/null", O_WRONLY); /* not close-on-exec, as a library may open one */
    result = run(SH("ls /proc/$$/fd"), NULL);
    assert_string_equal(result.out, "0\n1\n2\n");
    child_result_free(&result);

    assert_int_equal(write(file, "given\n", 6), 6);
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    /* Targets that are sources of others, also as the number of the file itself. */
    spec.fds = (const struct child_fd[]){{.from = stray[0], .to = file}, {.from = file, .to = 7}};
    spec.fd_count = 2;
    assert_int_equal(child_run(&spec, LONG_NS, &result, &err), 0);
    assert_non_null(strstr(result.out, "7\ngiven\n"));
    child_result_free(&result);

    /* Targets all over the place where copies of the sources would lie if they were made at the next free numbers. */
    next = dup(1);
    (void)close(next);
    for (int i = 0; i < MANY; i++) {
        fds[i] = (struct child_fd){.from = i % 2 == 0 ? file : stray[0], .to = next + 3 * i};
        text_addf(&script, "readlink /proc/$$/fd/%d;", next + 3 * i);
        if (i % 2 == 0)
            text_addf(&expected, "%s\n", path);
        else
            text_add(&expected, "/dev/null\n");
    }
    spec.argv = SH(text_string(&script));
    spec.fds = fds;
    spec.fd_count = MANY;
    assert_int_equal(child_run(&spec, LONG_NS, &result, &err), 0);
    assert_string_equal(result.out, text_string(&expected));
    child_result_free(&result);
    text_free(&script);
    text_free(&expected);
    for (int i = 0; i < 4; i++)
        (void)close(stray[i]);
    (void)close(file);
    (void)unlink(path);
}

static void limits_of_the_login(void **state)
{
    struct rlimit login = login_limit(RLIMIT_NOFILE);
    struct rlimit changed = {.rlim_cur = login.rlim_cur / 2, .rlim_max = login.rlim_max};
    struct child_result result;
    char expected[64];

    (void)state;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &changed), 0);
    result = run(SH("ulimit -n; umask"), NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &login), 0);
    (void)snprintf(expected, sizeof expected, "%llu\n0022\n", (unsigned long long)login.rlim_cur);
    assert_string_equal(result.out, expected);
    child_result_free(&result);
}

static void own_session_without_terminal(void **state)
{
    struct child_result result = run(SH("read line; echo \"read $?\"; cat /proc/$$/stat; : </dev/tty"), NULL);
    int pid;
    int parent;
    int group;
    int session;
    int terminal;

    (void)state;
    assert_int_equal(sscanf(result.out, "read 1\n%d (sh) %*c %d %d %d %d", &pid, &parent, &group, &session, &terminal),
                     5);
    assert_int_equal(parent, getpid());
    assert_int_equal(group, pid);
    assert_int_equal(session, pid);
    assert_int_equal(terminal, 0);
    assert_non_null(strstr(result.err, "/dev/tty"));
    assert_int_not_equal(result.status.code, 0);
    child_result_free(&result);
}

static void failures_say_the_step(void **state)
{
    struct child_spec spec = {.argv = (const char *const[]){"./nothing", NULL}, .cwd = "/tmp"};
    struct child child = {0};
    struct cpus none = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(child_start(&spec, &child, &err), -1);
    assert_string_equal(err.text, "cannot start ./nothing in /tmp: exec: No such file or directory");
    err_clear(&err);
    spec.cwd = "/no/such";
    assert_int_equal(child_start(&spec, &child, &err), -1);
    assert_string_equal(err.text, "cannot start ./nothing in /no/such: its folder: No such file or directory");
    err_clear(&err);
    spec.argv = (const char *const[]){"no-such-program", NULL};
    assert_int_equal(child_start(&spec, &child, &err), -1);
    assert_string_equal(err.text, "no-such-program: no such program in PATH");
    err_clear(&err);
    spec = (struct child_spec){.argv = SH("true"), .cpus = &none};
    cpus_add(&none, CPUS_MOST - 1);
    assert_int_equal(child_start(&spec, &child, &err), -1);
    assert_string_equal(err.text, "cannot start /bin/sh: its CPUs: Invalid argument");
    assert_int_equal(child.pid, 0);
    cpus_free(&none);
}

static void pinned_before_exec(void **state)
{
    struct cpus allowed = {0};
    struct cpus one = {0};
    struct child_spec spec = {.argv = SH("grep Cpus_allowed_list /proc/$$/status"), .out = captured, .cpus = &one};
    struct child_result result;
    struct err err = {0};
    char expected[64];
    char *list;

    (void)state;
    assert_int_equal(cpus_allowed(&allowed, &err), 0);
    cpus_add(&one, cpus_next(&allowed, cpus_next(&allowed, -1)) >= 0 ? cpus_next(&allowed, cpus_next(&allowed, -1))
                                                                     : cpus_next(&allowed, -1));
    assert_int_equal(child_run(&spec, LONG_NS, &result, &err), 0);
    (void)snprintf(expected, sizeof expected, "Cpus_allowed_list:\t%d\n", cpus_next(&one, -1));
    assert_string_equal(result.out, expected);
    child_result_free(&result);
    /* We may have moved; a child that asks for nothing gets what the login had. */
    assert_int_equal(cpus_apply(&one, &err), 0);
    spec.cpus = NULL;
    assert_int_equal(child_run(&spec, LONG_NS, &result, &err), 0);
    assert_int_equal(cpus_apply(&allowed, &err), 0);
    list = cpus_format(&allowed);
    (void)snprintf(expected, sizeof expected, "Cpus_allowed_list:\t%s\n", list);
    assert_string_equal(result.out, expected);
    free(list);
    child_result_free(&result);
    cpus_free(&allowed);
    cpus_free(&one);
}

static void other_user(void **state)
{
    struct child_user user;
    struct child_spec spec = {.argv = SH("id -un; id -gn; grep Groups /proc/$$/status"), .out = captured};
    struct child_result result;
    struct err err = {0};
    gid_t groups[64];
    int had;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(child_user_find("nobody", &user, &err), 0);
    spec.user = &user;
    /* Groups of ours that the child must not keep. */
    had = getgroups(64, groups);
    assert_int_equal(setgroups(2, (const gid_t[]){0, 4}), 0);
    assert_int_equal(child_run(&spec, LONG_NS, &result, &err), 0);
    assert_int_equal(setgroups((size_t)had, groups), 0);
    assert_memory_equal(result.out, "nobody\nnogroup\n", 15);
    assert_null(strstr(result.out, "\t0"));
    assert_null(strstr(result.out, " 4"));
    child_result_free(&result);
    assert_int_equal(child_user_find("no-such-user", &user, &err), -1);
}

static void status_in_words(void **state)
{
    struct child_spec spec = {
        .argv = SH("echo first; echo 'the reason' >&2; exit 3"), .out = captured, .err = captured};
    struct child_result result;
    struct err err = {0};

    (void)state;
    assert_int_equal(child_run(&spec, LONG_NS, &result, &err), -1);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_string_equal(err.text, "/bin/sh: exited 3: the reason");
    assert_string_equal(result.out, "first\n");
    child_result_free(&result);
    err_clear(&err);
    spec.argv = SH("kill -SEGV $$");
    assert_int_equal(child_run(&spec, LONG_NS, &result, &err), -1);
    assert_string_equal(err.text, "/bin/sh: killed by SIGSEGV");
    child_result_free(&result);
    err_clear(&err);
    spec.argv = SH("echo waits; sleep 600 & sleep 600");
    assert_int_equal(child_run(&spec, 300 * CLOCK_NS_PER_MS, &result, &err), -1);
    assert_string_equal(err.text, "/bin/sh: did not end within 300ms and was killed; its last line: waits");
    assert_true(result.timed_out);
    child_result_free(&result);
}

static void never_blocks_and_keeps_both_ends(void **state)
{
    char folder[] = "/tmp/restbench-test-XXXXXX";
    char path[64];
    struct child_spec spec = {.argv =
                                  SH("echo BEGIN; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo END; echo e >&2"),
                              .err = {.kind = CHILD_SAME}};
    struct child child = {0};
    struct text tail = {0};
    struct err err = {0};
    char *log;
    size_t len;
    bool cut;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/log", folder);
    spec.out = (struct child_output){.kind = CHILD_LOG, .path = path, .limit = 8192};
    assert_int_equal(child_start(&spec, &child, &err), 0);
    assert_true(child_wait(&child, LONG_NS));
    assert_int_equal(child_stop(&child, 0, &err), 0);
    child_tail(&child, 'o', 2, &tail);
    assert_string_equal(text_string(&tail), "END\ne");
    child_close(&child);
    assert_int_equal(fsx_read(path, 1 << 20, &log, &len, &err), 0);
    assert_memory_equal(log, "BEGIN\nxxx", 9);
    assert_non_null(strstr(log, "xxx\nEND\ne\n"));
    assert_non_null(strstr(log, "\n[2991821 bytes left out here]\n"));
    assert_true(len < 8192 + 100);
    free(log);
    text_free(&tail);

    spec.out = (struct child_output){.kind = CHILD_CAPTURE, .limit = 10};
    assert_int_equal(child_start(&spec, &child, &err), 0);
    assert_true(child_wait(&child, LONG_NS));
    log = child_take(&child, 'o', &len, &cut);
    assert_string_equal(log, "BEGIN\nxxxx");
    assert_true(cut);
    free(log);
    child_close(&child);
    assert_int_equal(fsx_remove_tree(folder, &err), 0);
}

static void a_daemon_that_holds_stdout_is_not_waited_for(void **state)
{
    struct child_spec spec = {.argv = SH("setsid sleep 5 & echo done"), .out = captured};
    struct child_result result;
    struct err err = {0};

    (void)state;
    assert_int_equal(child_run(&spec, LONG_NS, &result, &err), 0);
    assert_string_equal(result.out, "done\n");
    assert_true(result.wall_ns < 5 * CLOCK_NS_PER_S);
    child_result_free(&result);
}

static void stops_gently_then_by_force(void **state)
{
    struct child_spec spec = {.argv = SH("trap 'exit 7' TERM; echo up; while :; do sleep 0.05; done"), .out = captured};
    struct child child = {0};
    struct err err = {0};
    struct text tail = {0};

    (void)state;
    assert_int_equal(child_start(&spec, &child, &err), 0);
    assert_false(child_wait(&child, 0));
    assert_string_equal(child_status_text(&child), "runs");
    while (tail.len == 0)
        child_tail(&child, 'o', 1, &tail);
    text_free(&tail);
    assert_int_equal(child_stop(&child, LONG_NS, &err), 0);
    assert_string_equal(child_status_text(&child), "exited 7");
    assert_false(child.killed);
    child_close(&child);

    spec.argv = SH("trap '' TERM; echo up; while :; do sleep 0.05; done");
    assert_int_equal(child_start(&spec, &child, &err), 0);
    while (tail.len == 0)
        child_tail(&child, 'o', 1, &tail);
    text_free(&tail);
    assert_int_equal(child_stop(&child, 200 * CLOCK_NS_PER_MS, &err), 0);
    assert_string_equal(child_status_text(&child), "killed by SIGKILL");
    assert_true(child.killed);
    child_close(&child);

    spec.argv = SH("kill -STOP $$; exit 4");
    assert_int_equal(child_start(&spec, &child, &err), 0);
    while (child_state(&child) != 'T')
        clock_sleep_ns(CLOCK_NS_PER_MS);
    assert_string_equal(child_status_text(&child), "stopped by a signal (state T)");
    assert_int_equal(child_stop(&child, LONG_NS, &err), 0);
    assert_string_equal(child_status_text(&child), "killed by SIGTERM");
    child_close(&child);
}

/* What this program does when it is run on a terminal that stops background writers: says how its children ended. */
static int on_a_terminal(void)
{
    static const char *const scripts[] = {
        "stty sane </dev/tty; echo set; exit 5",
        "read line; echo \"read $?\" >&2; exit 6",
        "cat; exit 7",
    };

    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        struct child_spec spec = {.argv = SH(scripts[i]), .out = captured, .err = captured};
        struct child child = {0};
        struct err err = {0};

        if (child_start(&spec, &child, &err) != 0)
            return 1;
        (void)child_wait(&child, LONG_NS);
        printf("%s\n", child_status_text(&child));
        child_close(&child);
    }
    return 0;
}

static void the_terminal_is_out_of_reach(void **state)
{
    char command[4096];
    char self[2048] = {0};
    struct env env = {0};
    struct child_spec spec = {.argv = (const char *const[]){"script", "-qec", command, "/dev/null", NULL},
                              .env = &env,
                              .out = captured,
                              .err = captured};
    struct child_result result;
    struct err err = {0};

    (void)state;
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    env_basic(&env);
    (void)snprintf(command, sizeof command,
                   "stty tostop -echo; before=$(stty -g); '%s' --on-a-terminal; "
                   "[ \"$(stty -g)\" = \"$before\" ] && echo unchanged",
                   self);
    if (child_run(&spec, 4 * LONG_NS, &result, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(result.out, "exited 5\r\nexited 6\r\nexited 7\r\nunchanged\r\n");
    child_result_free(&result);
    env_free(&env);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_listed_environment),
        cmocka_unit_test(default_signals_and_no_mask),
        cmocka_unit_test(three_descriptors_and_those_given),
        cmocka_unit_test(limits_of_the_login),
        cmocka_unit_test(own_session_without_terminal),
        cmocka_unit_test(failures_say_the_step),
        cmocka_unit_test(pinned_before_exec),
        cmocka_unit_test(other_user),
        cmocka_unit_test(status_in_words),
        cmocka_unit_test(never_blocks_and_keeps_both_ends),
        cmocka_unit_test(a_daemon_that_holds_stdout_is_not_waited_for),
        cmocka_unit_test(stops_gently_then_by_force),
        cmocka_unit_test(the_terminal_is_out_of_reach),
    };

    if (argc == 2 && strcmp(argv[1], "--on-a-terminal") == 0)
        return on_a_terminal();

    return cmocka_run_group_tests(tests, NULL, NULL);
}
