#include "unit.h"

#include <math.h>

#include "target/ceiling.h"

static void reports_of_version_15(void **state)
{
    static const char text[] = "pgbench (15.18 (Debian 15.18-0+deb12u1))\n"
                               "transaction type: select_1.sql\nscaling factor: 1\nquery mode: prepared\n"
                               "number of clients: 16\nnumber of threads: 1\nmaximum number of tries: 1\n"
                               "duration: 2 s\nnumber of transactions actually processed: 16893\n"
                               "number of failed transactions: 3 (0.018%)\nlatency average = 1.589 ms\n"
                               "initial connection time = 327.601 ms\n"
                               "tps = 10067.526547 (without initial connection time)\n";
    struct ceiling_result result;

    (void)state;
    assert_int_equal(ceiling_parse(text, &result), 0);
    assert_true(result.transactions == 16893);
    assert_true(result.transactions_per_s == 10067.526547);
    assert_true(result.latency_mean_ms == 1.589);
    assert_true(result.failed == 3);
}

static void reports_of_version_13(void **state)
{
    static const char text[] = "transaction type: select_1.sql\nnumber of transactions actually processed: 400\n"
                               "latency average = 2.500 ms\ntps = 190.500000 (including connections establishing)\n"
                               "tps = 200.250000 (excluding connections establishing)\n";
    struct ceiling_result result;

    (void)state;
    assert_int_equal(ceiling_parse(text, &result), 0);
    assert_true(result.transactions_per_s == 200.25);
    assert_true(isnan(result.failed));
}

static void half_a_report_is_none(void **state)
{
    struct ceiling_result result;

    (void)state;
    assert_int_equal(ceiling_parse("", &result), -1);
    assert_int_equal(ceiling_parse("number of transactions actually processed: 400\n", &result), -1);
    assert_int_equal(ceiling_parse("tps = nan\nnumber of transactions actually processed: 400\n", &result), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_of_version_15),
        cmocka_unit_test(reports_of_version_13),
        cmocka_unit_test(half_a_report_is_none),
    };

    return cmocka_run_group_tests_name("ceiling", tests, NULL, NULL);
}
