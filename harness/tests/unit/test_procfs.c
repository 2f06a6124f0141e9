#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"
#include "machine/cgroup.h"
#include "machine/cpustat.h"
#include "machine/listener.h"
#include "machine/procfs.h"
#include "machine/vitals.h"

#define CASES "harness/tests/cases/proc/"

static char *case_file(const char *name)
{
    char *path = fsx_join(CASES, name);
    char *content;
    size_t len;
    struct err err = {0};

    if (fsx_read(path, 1 << 20, &content, &len, &err) != 0)
        fail_msg("%s", err.text);
    free(path);
    return content;
}

static void names_do_not_shift_the_fields(void **state)
{
    static const char *const names[] = {
        "plain", "a) R 1 1 1 (", ":-) 1 2 3", ")))", "               ", "x\ny", "\xff\xfe", "", "(", ") S 9 9 9 9 9",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct procfs_stat stat;
        char *line = text_format("7802 (%s) R 7745 7746 14132 34817 -1 4194304 2854 6540 0 0 3 1 33 22 20 0 19 0 "
                                 "166328 16965632 3350 18446744073709551615 1 1 0 0 0\n",
                                 names[i]);

        assert_int_equal(procfs_parse_stat(line, &stat), 0);
        assert_int_equal(stat.pid, 7802);
        assert_string_equal(stat.name, names[i]);
        assert_int_equal(stat.state, 'R');
        assert_int_equal(stat.parent, 7745);
        assert_int_equal(stat.group, 7746);
        assert_int_equal(stat.session, 14132);
        assert_int_equal(stat.terminal, 34817);
        assert_int_equal(stat.user_ticks, 3);
        assert_int_equal(stat.kernel_ticks, 1);
        assert_int_equal(stat.waited_user_ticks, 33);
        assert_int_equal(stat.waited_kernel_ticks, 22);
        assert_int_equal(stat.threads, 19);
        assert_int_equal(stat.start_ticks, 166328);
        free(line);
    }
}

static void short_or_odd_stat_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "1",
        "1 (a",
        "1 (a)",
        "1 (a) R 1 2 3",
        "1 (a) R 1 1 1 0 -1 4194304 1 1 0 0 3 1 3 2 20 0 1 0",
        "1 (a) R 1 x 1 0 -1 4194304 1 1 0 0 3 1 3 2 20 0 1 0 5 1",
        "0 (a) R 1 1 1 0 -1 4194304 1 1 0 0 3 1 3 2 20 0 1 0 5 1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct procfs_stat stat;

        assert_int_equal(procfs_parse_stat(bad[i], &stat), -1);
    }
}

static void status_with_huge_pages(void **state)
{
    char *content = case_file("status_hugetlb");
    struct procfs_status status;
    char *list;

    (void)state;
    assert_int_equal(procfs_parse_status(content, &status), 0);
    assert_int_equal(status.peak_kib, 33800);
    assert_int_equal(status.rss_kib, 23788);
    assert_int_equal(status.hugetlb_kib, 4096);
    assert_int_equal(status.threads, 1);
    list = cpus_format(&status.cpus);
    assert_string_equal(list, "0-1");
    assert_false(status.ignores_sigchld);
    free(list);
    free(content);
    procfs_status_free(&status);
    /* A kernel thread has no memory, an old kernel no HugetlbPages: unknown, not 0. */
    assert_int_equal(procfs_parse_status("Name:\tx\\nVmRSS:\t5\nThreads:\t3\nSigIgn:\t0000000000010000\n", &status), 0);
    assert_int_equal(status.rss_kib, -1);
    assert_int_equal(status.hugetlb_kib, -1);
    assert_true(status.ignores_sigchld);
    assert_int_equal(procfs_parse_status("", &status), -1);
}

static void accountable_mappings(void **state)
{
    char *content = case_file("smaps");
    struct procfs_maps maps;

    (void)state;
    procfs_parse_smaps(content, &maps);
    assert_true(maps.complete);
    assert_int_equal(maps.hugetlb_kib, 4096);
    assert_int_equal(maps.accountable_kib, 104128);
    assert_int_equal(maps.pss_kib, 11848);
    assert_int_equal(maps.rss_kib, 11852);
    /* Cut in the middle of a mapping, or no flags at all (a kernel without them): not complete. */
    content[strlen(content) / 2] = '\0';
    procfs_parse_smaps(content, &maps);
    assert_false(maps.complete);
    procfs_parse_smaps("", &maps);
    assert_false(maps.complete);
    free(content);
}

static void cpus_with_gaps(void **state)
{
    char *before_text = case_file("stat_gaps_before");
    char *after_text = case_file("stat_gaps_after");
    struct cpustat before;
    struct cpustat after;
    struct cpustat_use use;

    (void)state;
    cpustat_parse(before_text, 0.01, &before);
    cpustat_parse(after_text, 0.01, &after);
    assert_int_equal(before.count, 3);
    assert_int_equal(before.cpus[1].cpu, 2);
    assert_null(cpustat_find(&before, 1));
    assert_true(isnan(cpustat_find(&before, 2)->seconds[CPUSTAT_STEAL]));
    assert_true(isnan(cpustat_find(&before, 3)->seconds[CPUSTAT_STEAL]));
    assert_false(isnan(cpustat_find(&before, 3)->seconds[CPUSTAT_SOFTIRQ]));

    /* 12 fields; guest is part of user; iowait ran backwards, so the total is unknown and what was busy is not. */
    cpustat_between(cpustat_find(&before, 0), cpustat_find(&after, 0), &use);
    assert_float_equal(use.busy_s, 1.13, 1e-6);
    assert_true(fabs(cpustat_busy_pct(&use, 2) - 56.5) < 1e-6); /* false for NaN, which assert_float_equal() takes */
    assert_true(isnan(use.seconds[CPUSTAT_IOWAIT]));
    assert_true(isnan(use.total_s));
    assert_float_equal(use.seconds[CPUSTAT_STEAL], 0.10, 1e-6);
    /* 4 fields: what this kernel does not count is unknown, its sums are right. */
    cpustat_between(cpustat_find(&before, 2), cpustat_find(&after, 2), &use);
    assert_float_equal(use.busy_s, 0.11, 1e-6);
    assert_float_equal(use.total_s, 0.20, 1e-6);
    assert_float_equal(cpustat_pct(&use, CPUSTAT_USER), 50, 1e-6);
    assert_true(isnan(cpustat_pct(&use, CPUSTAT_STEAL)));
    /* Busy is what was not idle, whatever the ticks saw; nothing counted is nothing known. */
    assert_float_equal(cpustat_busy_pct(&use, 0.20), 55, 1e-6);
    assert_float_equal(cpustat_busy_pct(&use, 0.30), 70, 1e-6);
    assert_float_equal(cpustat_busy_pct(&use, 0.08), 0, 1e-6);
    assert_true(isnan(cpustat_busy_pct(&(struct cpustat_use){0}, 1)));
    /* user ran backwards: unknown, not 1.8e17. */
    cpustat_between(cpustat_find(&before, 3), cpustat_find(&after, 3), &use);
    assert_true(isnan(use.busy_s));
    assert_true(isnan(use.seconds[CPUSTAT_USER]));
    /* came in the window. */
    cpustat_between(cpustat_find(&before, 4), cpustat_find(&after, 4), &use);
    assert_int_equal(use.cpu, 4);
    assert_true(isnan(use.busy_s));
    cpustat_free(&before);
    cpustat_free(&after);
    free(before_text);
    free(after_text);
}

static void pressure_and_schedstat(void **state)
{
    struct procfs_schedstat schedstat;

    (void)state;
    assert_true(vitals_parse_pressure("some avg10=51.61 avg60=37.53 avg300=21.92 total=164961617\n"
                                      "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n") == 164961617);
    assert_true(isnan(vitals_parse_pressure("")));
    assert_true(isnan(vitals_parse_pressure("some avg10=1\nfull total=5\n")));
    assert_int_equal(procfs_parse_schedstat("123456789 22 7\n", &schedstat), 0);
    assert_int_equal(schedstat.run_ns, 123456789);
    assert_int_equal(schedstat.wait_ns, 22);
    assert_int_equal(procfs_parse_schedstat("", &schedstat), -1);
}

static void trees_with_lost_parents(void **state)
{
    /* 10 is the root; 11 its child, 12 a grandchild; 13 lost its parent but is in the session; 14 in the group only;
     * 15 in the cgroup, 16 its child; 20 and 21 are strangers. */
    static const struct procfs_stat all[] = {
        {.pid = 16, .parent = 15, .session = 16}, {.pid = 12, .parent = 11, .session = 99},
        {.pid = 10, .parent = 1, .session = 10},  {.pid = 11, .parent = 10, .session = 11},
        {.pid = 13, .parent = 1, .session = 10},  {.pid = 14, .parent = 1, .session = 50, .group = 10},
        {.pid = 15, .parent = 1, .session = 15},  {.pid = 20, .parent = 1, .session = 20},
        {.pid = 21, .parent = 20, .session = 20},
    };
    struct procfs_list list = {.count = sizeof all / sizeof all[0]};
    pid_t members[] = {15};

    (void)state;
    list.items = text_alloc(sizeof all);
    memcpy(list.items, all, sizeof all);
    procfs_list_keep_tree(&list, 10, members, 1);
    assert_int_equal(list.count, 7);
    assert_null(procfs_list_find(&list, 20));
    assert_null(procfs_list_find(&list, 21));
    assert_non_null(procfs_list_find(&list, 16));
    procfs_list_free(&list);
}

static void lines_of_the_socket_tables(void **state)
{
    struct listener_line line;
    char *table = case_file("tcp6_only_dual_stack");

    (void)state;
    assert_int_equal(listener_parse_line("   1: 0100007F:A7CD 0200007F:0050 0A 00000000:00000000 00:00000000 00000000"
                                         "   101        0 20071 1 00000000d418a248 100 0 0 10 0",
                                         false, &line),
                     0);
    assert_int_equal(line.port, 0xA7CD);
    assert_int_equal(line.peer_port, 80);
    assert_int_equal(line.state, 10);
    assert_int_equal(line.inode, 20071);
    assert_memory_equal(line.address, "\x7f\0\0\1", 4);
    assert_int_equal(listener_parse_line(table, true, &line), -1);
    assert_int_equal(listener_parse_line(strchr(table, '\n') + 1, false, &line), -1);
    free(table);
}

/* A proc of our own: net tables, and one process that holds the sockets. */
static void a_listener_in_tcp6_alone(void **state)
{
    char folder[] = "/tmp/restbench-test-XXXXXX";
    char *net;
    char *fds;
    char *path;
    char *table = case_file("tcp6_only_dual_stack");
    struct listener listener;
    struct listener_verdict verdict;
    struct err err = {0};
    pid_t ours = 4321;

    (void)state;
    assert_non_null(mkdtemp(folder));
    net = fsx_join(folder, "net");
    fds = fsx_join(folder, "4321/fd");
    assert_int_equal(listener_find(folder, 0xE489, &listener, &err), -1);
    assert_non_null(strstr(err.text, "nobody can tell"));
    err_clear(&err);
    assert_int_equal(fsx_mkdirs(net, 0755, &err), 0);
    assert_int_equal(fsx_mkdirs(fds, 0755, &err), 0);
    path = fsx_join(net, "tcp6");
    assert_int_equal(fsx_write_new(path, table, strlen(table), 0644, &err), 0);
    free(path);
    path = fsx_join(fds, "3");
    assert_int_equal(symlink("socket:[187535]", path), 0);
    free(path);
    path = fsx_join(fds, "4");
    assert_int_equal(symlink("socket:[187540]", path), 0);

    assert_int_equal(listener_find(folder, 0xE489, &listener, &err), 0);
    assert_int_equal(listener.count, 1);
    assert_string_equal(listener.sockets[0].address, "::");
    listener_judge(folder, &listener, &ours, 1, &verdict);
    assert_true(verdict.ours);
    assert_true(verdict.wildcard);
    assert_int_equal(verdict.foreign_connections, 0);
    assert_int_equal(verdict.unowned_connections, 0);
    ours = 1;
    listener_judge(folder, &listener, &ours, 1, &verdict);
    assert_true(verdict.found);
    assert_false(verdict.ours);
    assert_int_equal(verdict.foreign_connections, 1);
    assert_string_equal(verdict.foreign, "process 4321 (gone) on [::]:58505");
    listener_free(&listener);

    /* [::1] alone: 127.0.0.1 does not get there. */
    assert_int_equal(listener_port_free(folder, 0xE48A, &err), 0);
    assert_int_equal(listener_port_free(folder, 0xE489, &err), -1);
    assert_string_equal(err.text,
                        "port 58505 is taken by process 4321 (gone) on [::]:58505; stop it or choose another port");
    err_clear(&err);
    free(path);
    free(net);
    free(fds);
    free(table);
    assert_int_equal(fsx_remove_tree(folder, &err), 0);
}

static void where_the_cgroup_hierarchy_is(void **state)
{
    static const char hybrid[] = "30 25 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
                                 "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                                 "40 30 0:36 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup rw\n";
    static const char container[] = "40 30 0:36 /docker/abc /sys/fs/my\\040cgroup rw - cgroup2 cgroup rw\n";
    char *base = cgroup_parse_base(hybrid, "9:name=systemd:/x\n0::/\n");
    struct cgroup_cpu cpu;

    (void)state;
    assert_string_equal(base, "/sys/fs/cgroup/unified");
    free(base);
    base = cgroup_parse_base(hybrid, "0::/user.slice/session-2.scope\n");
    assert_string_equal(base, "/sys/fs/cgroup/unified/user.slice/session-2.scope");
    free(base);
    base = cgroup_parse_base(container, "0::/docker/abc/sub\n");
    assert_string_equal(base, "/sys/fs/my cgroup/sub");
    free(base);
    assert_null(cgroup_parse_base("31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "4:cpu:/\n"));

    cgroup_parse_cpu("usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnr_periods 0\n", &cpu);
    assert_true(cpu.total_s == 1.5 && cpu.user_s == 1.0 && cpu.kernel_s == 0.5);
    cgroup_parse_cpu("usage_usec 7\n", &cpu);
    assert_true(isnan(cpu.user_s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_do_not_shift_the_fields),
        cmocka_unit_test(short_or_odd_stat_is_refused),
        cmocka_unit_test(status_with_huge_pages),
        cmocka_unit_test(accountable_mappings),
        cmocka_unit_test(cpus_with_gaps),
        cmocka_unit_test(pressure_and_schedstat),
        cmocka_unit_test(trees_with_lost_parents),
        cmocka_unit_test(lines_of_the_socket_tables),
        cmocka_unit_test(a_listener_in_tcp6_alone),
        cmocka_unit_test(where_the_cgroup_hierarchy_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
