#include "unit.h"

#include <string.h>

#include "base/json_exact.h"

static int compare(const char *expected, const char *actual, struct err *err)
{
    *err = (struct err){0};
    return json_exact_compare(expected, strlen(expected), actual, strlen(actual), err);
}

static void numbers_are_decimals(void **state)
{
    (void)state;
    assert_true(json_exact_number_equal("791.9", "791.90"));
    assert_true(json_exact_number_equal("791.9", "7.919e2"));
    assert_true(json_exact_number_equal("791.9", "7919E-1"));
    assert_true(json_exact_number_equal("0", "-0.00"));
    assert_true(json_exact_number_equal("1000", "1e3"));
    assert_true(json_exact_number_equal("0.001", "1e-3"));
    assert_false(json_exact_number_equal("0.1", "0.1000000000000000055511151231257827"));
    assert_false(json_exact_number_equal("9999999999.99", "9999999999.990000001"));
    assert_false(json_exact_number_equal("-0.01", "0.01"));
    assert_false(json_exact_number_equal("10", "1"));
    assert_false(json_exact_number_equal("1", "01"));
    assert_false(json_exact_number_equal("1", "+1"));
    assert_false(json_exact_number_equal("1", "1."));
    assert_false(json_exact_number_equal("1", "NaN"));
}

static void order_of_members_means_nothing(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(
        compare("{\"a\":1,\"b\":[true,null,\"x\"]}", " {\"b\" : [true, null, \"\\u0078\"], \"a\" : 1.0}", &err), 0);
    assert_int_equal(compare("[1,2]", "[2,1]", &err), -1);
    assert_string_equal(err.text, "[0]: expected 1, got 2");
}

static void the_first_difference_is_named(void **state)
{
    static const struct {
        const char *expected;
        const char *actual;
        const char *message;
    } cases[] = {
        {"[{\"a\":\"Roma 2\"}]", "[{\"a\":\"Roma\"}]", "[0].a: expected \"Roma 2\", got \"Roma\""},
        {"{\"a\":{\"b\":1.5}}", "{\"a\":{\"b\":\"1.5\"}}", "a.b: expected 1.5, got \"1.5\""},
        {"{\"a\":null}", "{}", "a: is missing"},
        {"{}", "{\"a\":null}", "a: is there, but was not expected"},
        {"{\"a\":null}", "{\"a\":\"\"}", "a: expected null, got \"\""},
        {"[1,2]", "[1]", "expected an array of 2, got an array of 1"},
        {"true", "false", "expected true, got false"},
        {"{}", "nope\n", "expected JSON, got \"nope\\x0a\""},
        {"{}", "{\"a\":1,\"a\":1}", "expected JSON, got \"{\"a\":1,\"a\":1}\""},
        {"[7]", "[07]", "expected JSON, got \"[07]\""},
        {"[7]", "[7] x", "expected JSON, got \"[7] x\""},
        {"[\"#7\"]", "[7]", "[0]: expected \"#7\", got 7"},
    };
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(compare(cases[i].expected, cases[i].actual, &err), -1);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(err.kind, ERR_FAILED);
    }
    assert_int_equal(compare("{", "{}", &err), -1);
    assert_int_equal(err.kind, ERR_CANNOT);
}

static void a_second_may_have_a_fraction(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(compare("[\"2024-02-29T23:59:59.999999\"]", "[\"2024-02-29T23:59:59.999999000\"]", &err), 0);
    assert_int_equal(compare("[\"2024-03-10T02:30:00\"]", "[\"2024-03-10T02:30:00.000\"]", &err), 0);
    assert_int_equal(compare("[\"2024-03-10T02:30:00\"]", "[\"2024-03-10T02:30:00.001\"]", &err), -1);
    assert_int_equal(compare("[\"2024-03-10T02:30:00\"]", "[\"2024-03-10T03:30:00\"]", &err), -1);
    assert_int_equal(compare("[\"2024-03-10T02:30:00\"]", "[\"2024-03-10T02:30:00Z\"]", &err), -1);
    assert_int_equal(compare("[\"2024-03-10T02:30:00\"]", "[\"2024-03-10 02:30:00\"]", &err), -1);
    assert_int_equal(compare("[\"x.10\"]", "[\"x.1\"]", &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_decimals),
        cmocka_unit_test(order_of_members_means_nothing),
        cmocka_unit_test(the_first_difference_is_named),
        cmocka_unit_test(a_second_may_have_a_fraction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
