#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "machine/listener.h"
#include "program.h"

/* Listens where it is told, says the port, and answers nobody. */
#define LISTEN                                                                                                         \
    "import socket,sys,os,signal\n"                                                                                    \
    "def listen(family,address,port,only6=0):\n"                                                                       \
    "  s=socket.socket(family); s.setsockopt(1,15,1)\n"                                                                \
    "  if family==socket.AF_INET6: s.setsockopt(41,26,only6)\n"                                                        \
    "  s.bind((address,port)); s.listen(); return s\n"                                                                 \
    "def ready(s):\n"                                                                                                  \
    "  print(s.getsockname()[1]); print('ready'); sys.stdin.readline()\n"

static int port_of(struct program *program)
{
    struct text lines = {0};
    int port;

    child_tail(&program->child, 'o', 2, &lines);
    port = atoi(text_string(&lines));
    text_free(&lines);
    assert_in_range(port, 1, 65535);
    return port;
}

static struct listener_verdict judge(int port, const pid_t *pids, size_t count)
{
    struct listener listener;
    struct listener_verdict verdict;
    struct err err = {0};

    assert_int_equal(listener_find("/proc", port, &listener, &err), 0);
    listener_judge("/proc", &listener, pids, count, &verdict);
    listener_free(&listener);
    return verdict;
}

static void on_loopback(void **state)
{
    struct program program;
    struct listener_verdict verdict;
    struct err err = {0};
    pid_t pid;
    int port;
    char expected[64];

    (void)state;
    program_start(&program, NULL, LISTEN "ready(listen(socket.AF_INET,'127.0.0.1',0))");
    port = port_of(&program);
    pid = program.child.pid;
    verdict = judge(port, &pid, 1);
    assert_true(verdict.ours);
    assert_false(verdict.wildcard);
    assert_int_equal(listener_port_free("/proc", port, &err), -1);
    (void)snprintf(expected, sizeof expected, "port %d is taken by process %d (", port, (int)pid);
    assert_memory_equal(err.text, expected, strlen(expected));
    assert_non_null(strstr(err.text, " -I -u -c "));
    program_end(&program);
    err_clear(&err);
    assert_int_equal(listener_port_free("/proc", port, &err), 0);
    verdict = judge(port, &pid, 1);
    assert_false(verdict.found);
    assert_false(verdict.ours);
}

static void dual_stack_stands_in_tcp6_alone(void **state)
{
    struct program program;
    struct listener_verdict verdict;
    pid_t pid;

    (void)state;
    program_start(&program, NULL, LISTEN "ready(listen(socket.AF_INET6,'::',0))");
    pid = program.child.pid;
    verdict = judge(port_of(&program), &pid, 1);
    assert_true(verdict.ours);
    assert_true(verdict.wildcard);
    program_end(&program);
}

static void ipv6_that_127_0_0_1_does_not_reach(void **state)
{
    static const char *const scripts[] = {
        LISTEN "ready(listen(socket.AF_INET6,'::1',0))",
        LISTEN "ready(listen(socket.AF_INET6,'::',0,1))",
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct program program;
        struct err err = {0};

        program_start(&program, NULL, scripts[i]);
        assert_false(judge(port_of(&program), NULL, 0).found);
        assert_int_equal(listener_port_free("/proc", port_of(&program), &err), 0);
        program_end(&program);
    }
}

/* A machine without IPv6 has no such table; one without either cannot be told about. */
static void a_machine_without_ipv6(void **state)
{
    static const char table[] =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid inode\n"
        "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 77\n";
    char proc[] = "/tmp/restbench-test-proc-XXXXXX";
    struct listener listener;
    struct err err = {0};
    char *folder;
    char *path;

    (void)state;
    assert_non_null(mkdtemp(proc));
    assert_int_equal(listener_find(proc, 8080, &listener, &err), -1);
    assert_non_null(strstr(err.text, "cannot be read"));
    err_clear(&err);
    folder = fsx_join(proc, "net");
    path = fsx_join(folder, "tcp");
    assert_int_equal(fsx_mkdirs(folder, 0700, &err), 0);
    assert_int_equal(fsx_write_atomic(path, table, strlen(table), 0600, &err), 0);
    assert_int_equal(listener_find(proc, 8080, &listener, &err), 0);
    assert_int_equal(listener.count, 1);
    listener_free(&listener);
    assert_int_equal(listener_find(proc, 8081, &listener, &err), 0);
    assert_int_equal(listener.count, 0);
    listener_free(&listener);
    assert_int_equal(fsx_remove_tree(proc, &err), 0);
    free(path);
    free(folder);
}

static void an_inherited_descriptor_has_an_owner(void **state)
{
    struct program program;
    struct listener_verdict verdict;
    pid_t pids[2];
    struct text lines = {0};

    (void)state;
    program_start(&program, NULL,
                  LISTEN "s=listen(socket.AF_INET,'127.0.0.1',0)\n"
                         "p=os.fork()\n"
                         "if p==0: signal.pause()\n"
                         "port=s.getsockname()[1]; s.close()\n"
                         "print(p); print(port); print('ready'); sys.stdin.readline()");
    child_tail(&program.child, 'o', 3, &lines);
    pids[0] = program.child.pid;
    pids[1] = atoi(text_string(&lines));
    text_free(&lines);
    verdict = judge(port_of(&program), pids, 1);
    assert_true(verdict.found);
    assert_false(verdict.ours);
    verdict = judge(port_of(&program), pids, 2);
    assert_true(verdict.ours);
    program_end(&program);
}

static void a_second_owner_is_named(void **state)
{
    struct program ours;
    struct program squatter;
    struct listener_verdict verdict;
    char script[1024];
    char expected[64];
    json_t *json;
    pid_t pid;
    int port;

    (void)state;
    program_start(&ours, NULL, LISTEN "ready(listen(socket.AF_INET,'127.0.0.1',0))");
    port = port_of(&ours);
    pid = ours.child.pid;
    (void)snprintf(script, sizeof script,
                   LISTEN "t=listen(socket.AF_INET,'0.0.0.0',%d)\n"
                          "s=socket.create_connection(('127.0.0.1',%d))\n"
                          "ready(t)",
                   port, port);
    program_start(&squatter, NULL, script);
    verdict = judge(port, &pid, 1);
    assert_true(verdict.found);
    assert_false(verdict.ours);
    assert_int_equal(verdict.foreign_sockets, 1);
    (void)snprintf(expected, sizeof expected, "process %d (", (int)squatter.child.pid);
    assert_memory_equal(verdict.foreign, expected, strlen(expected));
    assert_non_null(strstr(verdict.foreign, ") on 0.0.0.0:"));
    json = listener_verdict_to_json(&verdict);
    assert_true(json_is_false(json_object_get(json, "ours")));
    assert_int_equal(json_array_size(json_object_get(json, "foreign")), 1);
    json_decref(json);
    program_end(&squatter);
    assert_true(judge(port, &pid, 1).ours);
    program_end(&ours);
}

static void where_connections_end(void **state)
{
    struct program program;
    pid_t pid;
    pid_t other = 1;
    int port;

    (void)state;
    program_start(&program, NULL,
                  LISTEN "s=listen(socket.AF_INET6,'::',0); p=s.getsockname()[1]\n"
                         "c=socket.create_connection(('127.0.0.1',p)); a=s.accept()[0]\n"
                         "d=socket.create_connection(('127.0.0.1',p))\n"
                         "ready(s)");
    port = port_of(&program);
    pid = program.child.pid;
    assert_int_equal(judge(port, &pid, 1).foreign_connections, 0);
    /* The second one waits to be accepted and belongs to nobody. */
    assert_int_equal(judge(port, &pid, 1).unowned_connections, 1);
    assert_int_equal(judge(port, &other, 1).foreign_connections, 1);
    program_end(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_loopback),
        cmocka_unit_test(dual_stack_stands_in_tcp6_alone),
        cmocka_unit_test(a_machine_without_ipv6),
        cmocka_unit_test(ipv6_that_127_0_0_1_does_not_reach),
        cmocka_unit_test(an_inherited_descriptor_has_an_owner),
        cmocka_unit_test(a_second_owner_is_named),
        cmocka_unit_test(where_connections_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
