#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "load/histogram.h"

static struct histogram histogram;
static struct histogram other;

static double pct(double p)
{
    return histogram_percentile_ns(&histogram, p);
}

/* Every value lies in its bucket, and the bucket is at most 1 % wide from 1 us to 60 s. */
static void test_buckets(void **state)
{
    int64_t value = 0;

    (void)state;
    while (value < 60000000000) {
        uint32_t bucket = histogram_index(value);

        assert_true(bucket < HISTOGRAM_BUCKETS);
        assert_true(histogram_upper_ns(bucket) >= value);
        assert_true(bucket == 0 || histogram_upper_ns(bucket - 1) < value);
        if (value >= 1000)
            assert_true((double)(histogram_upper_ns(bucket) - value) <= 0.01 * (double)value);
        value += 1 + value / 777;
    }
    assert_int_equal(histogram_index(INT64_MAX), HISTOGRAM_BUCKETS - 1);
    assert_int_equal(histogram_index(-5), 0);
    for (uint32_t i = 1; i < HISTOGRAM_BUCKETS; i++)
        assert_int_equal(histogram_index(histogram_upper_ns(i - 1) + 1), i);
}

static void test_nothing(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    assert_true(isnan(pct(50)));
    assert_true(isnan(histogram_mean_ns(&histogram)));
    assert_true(isnan(histogram_stddev_ns(&histogram)));
}

static void test_one_sample(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    histogram_record(&histogram, 1234567);
    assert_true(pct(0.001) == 1234567 && pct(50) == 1234567 && pct(99.99) == 1234567 && pct(100) == 1234567);
    assert_true(histogram_mean_ns(&histogram) == 1234567);
    assert_true(histogram_stddev_ns(&histogram) == 0);
}

/* Nearest rank: of 1,001 samples the 99 % is the 991st and 99.9 % the 1,000th. */
static void test_nearest_rank(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    for (int i = 0; i < 1000; i++)
        histogram_record(&histogram, 100000);
    histogram_record(&histogram, 1500000000);
    assert_true(pct(99) < 101000);
    assert_true(pct(99.9) < 101000);
    assert_true(pct(99.99) == 1500000000);
    assert_int_equal(histogram.min_ns, 100000);
    assert_int_equal(histogram.max_ns, 1500000000);
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

/* Against the exact list. */
static void test_exact_list(void **state)
{
    enum { COUNT = 20000 };
    static int64_t values[COUNT];
    static const double pcts[] = {1, 10, 50, 75, 90, 95, 99, 99.9, 99.99, 100};
    uint64_t seed = 42;
    double before = 0;

    (void)state;
    histogram_clear(&histogram);
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        values[i] = (int64_t)(1000 * exp2((double)(seed >> 40) / 16777216.0 * 25));
        histogram_record(&histogram, values[i]);
    }
    qsort(values, COUNT, sizeof values[0], by_value);
    for (size_t i = 0; i < sizeof pcts / sizeof pcts[0]; i++) {
        int64_t exact = values[(int)ceil(pcts[i] / 100 * COUNT - 1e-6) - 1];
        double got = pct(pcts[i]);

        assert_true(got >= (double)exact && got <= 1.01 * (double)exact);
        assert_true(got >= before && got <= (double)histogram.max_ns && got >= (double)histogram.min_ns);
        before = got;
    }
}

static void test_merge(void **state)
{
    (void)state;
    histogram_clear(&histogram);
    histogram_clear(&other);
    histogram_merge(&histogram, &other);
    assert_int_equal(histogram.count, 0);
    histogram_record(&other, 5000);
    histogram_record(&other, 7000000);
    histogram_merge(&histogram, &other);
    histogram_merge(&histogram, &other);
    histogram_record(&histogram, 100);
    assert_int_equal(histogram.count, 5);
    assert_int_equal(histogram.sum_ns, 2 * 7005000 + 100);
    assert_int_equal(histogram.min_ns, 100);
    assert_int_equal(histogram.max_ns, 7000000);
    assert_int_equal(histogram.buckets[histogram_index(5000)], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),      cmocka_unit_test(test_nothing),    cmocka_unit_test(test_one_sample),
        cmocka_unit_test(test_nearest_rank), cmocka_unit_test(test_exact_list), cmocka_unit_test(test_merge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
