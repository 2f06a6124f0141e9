#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "machine/calibrate.h"
#include "machine/cpus.h"
#include "machine/facts.h"
#include "machine/vitals.h"

static struct cpus set(const char *list)
{
    struct cpus cpus = {0};
    struct err err = {0};

    if (cpus_parse(list, &cpus, &err) != 0)
        fail_msg("%s", err.text);
    return cpus;
}

static void assert_set(const struct cpus *cpus, const char *expected)
{
    char *list = cpus_format(cpus);

    assert_string_equal(list, expected);
    free(list);
}

static void lists_are_read_and_written(void **state)
{
    static const char *const good[][2] = {
        {"0", "0"}, {"0-2,5", "0-2,5"}, {"9-11", "9-11"}, {"5,3,4", "3-5"}, {"1023-1025,4000", "1023-1025,4000"},
    };
    static const char *const bad[] = {"",  ",",  "1,",  "-1",  "3-1",   "1-",
                                      "a", "1 ", "1;2", "0x1", "65536", "99999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct cpus cpus = set(good[i][0]);

        assert_set(&cpus, good[i][1]);
        cpus_free(&cpus);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct cpus cpus = {0};
        struct err err = {0};

        assert_int_equal(cpus_parse(bad[i], &cpus, &err), -1);
        assert_null(cpus.mask);
    }
}

static void sets_of_different_sizes(void **state)
{
    struct cpus small = set("1");
    struct cpus large = set("1,2000");
    struct cpus empty = {0};

    (void)state;
    assert_true(cpus_contains(&large, &small));
    assert_false(cpus_contains(&small, &large));
    assert_true(cpus_contains(&small, &empty));
    assert_true(cpus_overlap(&small, &large));
    assert_false(cpus_overlap(&small, &empty));
    cpus_remove(&large, 2000);
    assert_true(cpus_equal(&small, &large));
    assert_int_equal(cpus_count(&large), 1);
    assert_int_equal(cpus_next(&large, 1), -1);
    assert_false(cpus_has(&large, 100000));
    cpus_free(&small);
    cpus_free(&large);
}

static void auto_takes_the_last_quarter(void **state)
{
    static const char *const cases[][3] = {
        {"0-1", "0", "1"},
        {"9-11", "9-10", "11"},
        {"0-7", "0-5", "6-7"},
        {"2,5,7,100", "2,5,7", "100"},
        {"0-1199", "0-899", "900-1199"},
        {"0-4", "0-3", "4"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cpus allowed = set(cases[i][0]);
        struct cpus_split split;
        struct err err = {0};

        assert_int_equal(cpus_split(&allowed, "auto", &split, &err), 0);
        assert_true(split.pinned);
        assert_set(&split.server, cases[i][1]);
        assert_set(&split.generator, cases[i][2]);
        cpus_split_free(&split);
        cpus_free(&allowed);
    }
}

static void one_cpu_runs_unpinned_and_says_so(void **state)
{
    struct cpus allowed = set("1");
    struct cpus_split split;
    struct err err = {0};

    (void)state;
    assert_int_equal(cpus_split(&allowed, "auto", &split, &err), 0);
    assert_false(split.pinned);
    assert_set(&split.server, "1");
    assert_set(&split.generator, "1");
    assert_non_null(strstr(split.note, "runs unpinned"));
    cpus_split_free(&split);
    cpus_free(&allowed);
}

static void wishes_are_checked_against_the_allowed_set(void **state)
{
    static const struct {
        const char *wish;
        const char *text;
    } bad[] = {
        {"0/1", "--cpus: the server's CPUs 0 are not all among the allowed ones, which are 9-11"},
        {"9/12", "--cpus: the generator's CPUs 12 are not all among the allowed ones, which are 9-11"},
        {"9-10/10", "--cpus 9-10/10: both sides name the same CPU; give each its own, or none to pin nobody"},
        {"9", "--cpus 9: give auto, none, or SERVER/GENERATOR such as 0-2/3, out of 9-11"},
        {"9/10/11", "--cpus 9/10/11: give auto, none, or SERVER/GENERATOR such as 0-2/3, out of 9-11"},
        {"/9", "--cpus, the server's side: \"\" is no list of CPUs; write it as 0-2,5"},
        {"9/x", "--cpus, the generator's side: \"x\" is no list of CPUs; write it as 0-2,5"},
    };
    struct cpus allowed = set("9-11");
    struct cpus_split split;
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err_clear(&err);
        assert_int_equal(cpus_split(&allowed, bad[i].wish, &split, &err), -1);
        assert_string_equal(err.text, bad[i].text);
        assert_null(split.server.mask);
    }
    err_clear(&err);
    assert_int_equal(cpus_split(&allowed, "9,11/10", &split, &err), 0);
    assert_set(&split.server, "9,11");
    assert_set(&split.generator, "10");
    cpus_split_free(&split);
    cpus_free(&allowed);
}

static void put(const char *folder, const char *name, const char *content)
{
    char *path = fsx_join(folder, name);
    char *parent = fsx_dirname(path);
    struct err err = {0};

    assert_int_equal(fsx_mkdirs(parent, 0755, &err), 0);
    assert_int_equal(fsx_write_new(path, content, strlen(content), 0644, &err), 0);
    free(parent);
    free(path);
}

static void a_machine_in_a_folder(void **state)
{
    char sys[] = "/tmp/restbench-test-XXXXXX";
    struct cpus server = set("0,1");
    struct cpus generator = set("2,3");
    struct cpus shared = {0};
    struct facts facts;
    struct vitals before;
    struct vitals after;
    struct disturbance disturbance;
    char governor[64];
    json_t *json;
    struct err err = {0};

    (void)state;
    assert_non_null(mkdtemp(sys));
    put(sys, "devices/system/cpu/cpu0/topology/thread_siblings_list", "0,2\n");
    assert_false(cpus_shared_cores(sys, &server, &generator, &shared));
    cpus_free(&shared);
    put(sys, "devices/system/cpu/cpu1/topology/thread_siblings_list", "1\n");
    assert_true(cpus_shared_cores(sys, &server, &generator, &shared));
    assert_set(&shared, "0");
    cpus_free(&shared);

    put(sys, "devices/system/cpu/online", "0,2-3\n");
    put(sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put(sys, "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n");
    put(sys, "devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
    put(sys, "devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "7\n");
    put(sys, "devices/system/cpu/intel_pstate/no_turbo", "1\n");
    put(sys, "devices/system/cpu/smt/active", "1\n");
    put(sys, "class/dmi/id/sys_vendor", "QEMU\n");
    put(sys, "stat", "");
    put(sys, "vmstat", "nr_free_pages 5\npswpin 10\npswpout 3\n");
    put(sys, "pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
    put(sys, "loadavg", "1.25 0.5 0.1 1/100 5\n");
    put(sys, "meminfo", "MemTotal:       16777216 kB\nMemFree: 5 kB\n");
    put(sys, "cpuinfo",
        "processor\t: 0\nmodel name\t: Test \033 CPU\nflags\t\t: fpu vme hypervisor\ncpu MHz\t\t: 1.0\n");
    vitals_governor(sys, &server, governor, sizeof governor);
    assert_string_equal(governor, "powersave");
    put(sys, "devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    vitals_governor(sys, &server, governor, sizeof governor);
    assert_string_equal(governor, "mixed");

    vitals_read(sys, sys, &before);
    after = before;
    after.mono_ns += 2000000000;
    after.boot_ns += 5000000000;
    after.wall_ns += 4000000000;
    after.psi_cpu_us += 500000;
    after.swap_out_pages -= 1;
    after.throttles += 2;
    vitals_between(sys, sys, &server, &before, &after, &disturbance);
    assert_float_equal(disturbance.psi_cpu_pct, 25, 1e-9);
    assert_true(isnan(disturbance.psi_memory_pct));
    assert_true(disturbance.swap_in_mib == 0);
    assert_true(isnan(disturbance.swap_out_mib));
    assert_true(disturbance.throttles == 2);
    assert_float_equal(disturbance.suspended_s, 3, 1e-9);
    assert_float_equal(disturbance.clock_step_s, -1, 1e-9);
    assert_float_equal(disturbance.frequency_mhz, 2500, 1e-9);
    assert_float_equal(disturbance.load_1m, 1.25, 1e-9);
    json = disturbance_to_json(&disturbance);
    assert_true(json_is_null(json_object_get(json, "psi_memory_pct")));
    assert_string_equal(json_get_string(json, "governor"), "mixed");
    json_decref(json);

    facts_read(sys, sys, &server, "no hierarchy", &facts);
    assert_int_equal(facts.cpus, 3);
    assert_string_equal(facts.cpu_model, "Test \\x1b CPU");
    assert_string_equal(facts.virtualization, "kvm");
    assert_string_equal(facts.cgroup, "none");
    assert_true(facts.memory_mib == 16384);
    assert_int_equal(facts.smt, 1);
    assert_int_equal(facts.turbo, 0);
    assert_int_equal(strlen(facts.id), 16);
    facts_free(&facts);
    cpus_free(&server);
    cpus_free(&generator);
    assert_int_equal(fsx_remove_tree(sys, &err), 0);
    /* Nothing readable at all: unknown. */
    server = set("0");
    facts_read(sys, sys, &server, NULL, &facts);
    assert_string_equal(facts.virtualization, "");
    assert_true(isnan(facts.memory_mib));
    json = facts_to_json(&facts);
    assert_true(json_is_null(json_object_get(json, "smt")));
    assert_true(json_is_null(json_object_get(json, "cpus")));
    json_decref(json);
    facts_free(&facts);
    cpus_free(&server);
}

static void the_job_is_always_the_same(void **state)
{
    struct calibration calibration = {.processes = {1, 4, 8}, .ms = {278.44, 822, 1698.35}};
    struct cpus allowed = {0};
    struct err err = {0};
    double waited_ms;
    double ms;
    char *line = calibrate_line("2026-11-30T12:34:56Z", &calibration, 0);

    (void)state;
    assert_string_equal(line, "2026-11-30T12:34:56Z,1,278.4");
    free(line);
    assert_true(calibrate_job(3) == calibrate_job(3));
    assert_true(calibrate_job(3) != calibrate_job(4));
    assert_int_equal(cpus_allowed(&allowed, &err), 0);
    ms = calibrate_probe(cpus_next(&allowed, -1), &waited_ms);
    assert_true(ms > 0 && waited_ms >= 0 && waited_ms < ms);
    assert_true(isnan(calibrate_probe(CPUS_MOST - 1, NULL)));
    cpus_free(&allowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_and_written),
        cmocka_unit_test(sets_of_different_sizes),
        cmocka_unit_test(auto_takes_the_last_quarter),
        cmocka_unit_test(one_cpu_runs_unpinned_and_says_so),
        cmocka_unit_test(wishes_are_checked_against_the_allowed_set),
        cmocka_unit_test(a_machine_in_a_folder),
        cmocka_unit_test(the_job_is_always_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
