#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "study/judge.h"

/* A quiet cell: ten seconds on one shared CPU, nobody saturated. */
static struct judge_evidence quiet(void)
{
    static const double steady[10] = {100, 101, 99, 100, 100, 102, 98, 100, 100, 100};

    return (struct judge_evidence){.window_s = 10,
                                   .generator_pct = 40,
                                   .shared_pct = 60,
                                   .server_cpu_s = 3,
                                   .database_cpu_s = 2,
                                   .shared_cpus = 1,
                                   .uses_database = true,
                                   .processes = 1,
                                   .samples_active = 100,
                                   .responses_2xx = 1000,
                                   .per_connection_min = 18,
                                   .per_connection_mean = 20,
                                   .per_second = steady,
                                   .per_second_count = 10,
                                   .steal_pct_max = 0.1,
                                   .cpu_resolution_s = 0.01};
}

static enum judge_limit limit_of(const struct judge_evidence *evidence)
{
    struct judge_verdict verdict;

    judge_verdict(evidence, &verdict);
    return verdict.limit;
}

static void the_order_of_the_rules(void **state)
{
    struct judge_evidence evidence = quiet();

    (void)state;
    assert_int_equal(limit_of(&evidence), LIMIT_LATENCY);
    evidence.shared_pct = 95;
    assert_int_equal(limit_of(&evidence), LIMIT_SERVER);
    evidence.others_pct = 45;
    assert_int_equal(limit_of(&evidence), LIMIT_LATENCY);
    evidence.others_pct = 20;
    evidence.database_cpu_s = 5;
    assert_int_equal(limit_of(&evidence), LIMIT_DATABASE);
    evidence.uses_database = false;
    assert_int_equal(limit_of(&evidence), LIMIT_SERVER);
    evidence = quiet();
    evidence.samples_commit = 30;
    evidence.samples_lock = 25;
    assert_int_equal(limit_of(&evidence), LIMIT_DATABASE);
    evidence.generator_pct = 85;
    assert_int_equal(limit_of(&evidence), LIMIT_GENERATOR);
}

static void a_single_thread_with_its_cpu_full(void **state)
{
    struct judge_evidence evidence = quiet();

    (void)state;
    evidence.shared_cpus = 6;
    evidence.server_cpu_s = 9.5;
    assert_int_equal(limit_of(&evidence), LIMIT_LATENCY);
    evidence.single_threaded = true;
    assert_int_equal(limit_of(&evidence), LIMIT_SERVER);
    evidence.processes = 6;
    assert_int_equal(limit_of(&evidence), LIMIT_LATENCY);
}

static void unknown_decides_nothing(void **state)
{
    struct judge_evidence evidence = quiet();
    struct judge_verdict verdict;
    json_t *marks;

    (void)state;
    evidence.generator_pct = NAN;
    evidence.shared_pct = NAN;
    evidence.server_cpu_s = NAN;
    evidence.database_cpu_s = NAN;
    evidence.samples_active = NAN;
    evidence.steal_pct_max = NAN;
    evidence.cpu_difference_s = NAN;
    evidence.errors = NAN;
    evidence.per_connection_mean = NAN;
    judge_verdict(&evidence, &verdict);
    assert_int_equal(verdict.limit, LIMIT_LATENCY);
    assert_string_equal(verdict.text, "latency (server unknown, database unknown)");
    marks = judge_marks(&evidence, &verdict);
    assert_int_equal(json_array_size(marks), 0);
    json_decref(marks);
}

static void check_mark(struct judge_evidence *evidence, const char *name)
{
    struct judge_verdict verdict;
    json_t *marks;

    judge_verdict(evidence, &verdict);
    marks = judge_marks(evidence, &verdict);
    if (name == NULL) {
        assert_int_equal(json_array_size(marks), 0);
    } else {
        assert_int_equal(json_array_size(marks), 1);
        assert_string_equal(json_get_string(json_array_get(marks, 0), "name"), name);
    }
    json_decref(marks);
    *evidence = quiet();
}

static void each_mark_alone(void **state)
{
    static const double halved[10] = {100, 100, 100, 100, 100, 50, 50, 50, 50, 50};
    struct judge_evidence evidence = quiet();

    (void)state;
    check_mark(&evidence, NULL);
    evidence.generator_pct = 90;
    check_mark(&evidence, "generator-bound");
    evidence.steal_pct_max = 2.1;
    check_mark(&evidence, "steal");
    evidence.errors = 2;
    check_mark(&evidence, "errors");
    evidence.errors = 1;
    check_mark(&evidence, NULL);
    evidence.per_connection_min = 1;
    check_mark(&evidence, "starved");
    evidence.per_second = halved;
    check_mark(&evidence, "slope");
    evidence.mismatches = 1;
    check_mark(&evidence, "mismatch");
    evidence.unconfirmed = "rows are missing";
    check_mark(&evidence, "unconfirmed");
    evidence.cpu_difference_s = 0.3;
    check_mark(&evidence, "accounting");
    evidence.cpu_difference_s = -0.1;
    check_mark(&evidence, NULL);
    evidence.accounting_broken = true;
    check_mark(&evidence, "accounting");
    evidence.wrong_threads = 1;
    check_mark(&evidence, "affinity");
    evidence.listener_foreign = true;
    check_mark(&evidence, "listener");
    evidence.not_durable = "fsync was off: inserts were not durable";
    check_mark(&evidence, "settings");
    evidence.suspended_s = 3;
    check_mark(&evidence, "suspended");
    evidence.clock_step_s = -60;
    check_mark(&evidence, "clock");
    evidence.dead_rows = 1;
    check_mark(&evidence, "dead-rows");
    evidence.drift_pct = -6;
    check_mark(&evidence, "drift");
    evidence.others_pct = 50;
    check_mark(&evidence, "others");
    evidence.others_generator_pct = 50;
    check_mark(&evidence, "others");
    evidence.pool = 16;
    evidence.connections_max = 16;
    check_mark(&evidence, NULL);
    evidence.pool = 16;
    evidence.connections_max = 17;
    check_mark(&evidence, "pool");
}

static void who_takes_most_of_the_cpus_that_all_share(void **state)
{
    struct judge_evidence evidence = quiet();

    (void)state;
    evidence.shared_pct = 95;
    evidence.generator_cpu_s = evidence.server_cpu_s + 0.1;
    assert_int_equal(limit_of(&evidence), LIMIT_SERVER);
    evidence.all_share = true;
    assert_int_equal(limit_of(&evidence), LIMIT_GENERATOR);
    check_mark(&evidence, "generator-bound");
    evidence.all_share = true;
    evidence.shared_pct = 95;
    evidence.generator_cpu_s = evidence.server_cpu_s - 0.1;
    assert_int_equal(limit_of(&evidence), LIMIT_SERVER);
    evidence.shared_pct = 80;
    assert_int_equal(limit_of(&evidence), LIMIT_LATENCY);
    evidence.shared_pct = 95;
    evidence.generator_cpu_s = evidence.server_cpu_s + 0.1;
    evidence.others_pct = 45;
    assert_int_equal(limit_of(&evidence), LIMIT_LATENCY);
    evidence.others_pct = 0;
    evidence.database_cpu_s = NAN;
    assert_int_equal(limit_of(&evidence), LIMIT_GENERATOR);
    evidence.server_cpu_s = NAN;
    assert_int_not_equal(limit_of(&evidence), LIMIT_GENERATOR);
}

static void slope_of_a_line(void **state)
{
    static const double rising[5] = {90, 95, 100, 105, 110};

    (void)state;
    assert_true(fabs(judge_slope_pct(rising, 5) - 20) < 1e-9);
    assert_true(isnan(judge_slope_pct(rising, 3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_the_rules),
        cmocka_unit_test(a_single_thread_with_its_cpu_full),
        cmocka_unit_test(unknown_decides_nothing),
        cmocka_unit_test(each_mark_alone),
        cmocka_unit_test(who_takes_most_of_the_cpus_that_all_share),
        cmocka_unit_test(slope_of_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
