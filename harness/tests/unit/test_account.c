#include "unit.h"

#include <math.h>
#include <string.h>

#include "machine/account.h"

#define TICK 0.01

/* A process with user and kernel ticks of its own and of children that it waited for. */
#define P(number, above, begun, own_user, own_kernel, got_user, got_kernel)                                            \
    {                                                                                                                  \
        .stat = {.pid = (number),                                                                                      \
                 .parent = (above),                                                                                    \
                 .start_ticks = (begun),                                                                               \
                 .user_ticks = (own_user),                                                                             \
                 .kernel_ticks = (own_kernel),                                                                         \
                 .waited_user_ticks = (got_user),                                                                      \
                 .waited_kernel_ticks = (got_kernel),                                                                  \
                 .name = "p"},                                                                                         \
        .involuntary = -1,                                                                                             \
    }
#define READING(...)                                                                                                   \
    {                                                                                                                  \
        .processes = (struct account_process[]){__VA_ARGS__},                                                          \
        .count = sizeof((struct account_process[]){__VA_ARGS__}) / sizeof(struct account_process),                     \
    }

static struct account_usage between(struct account_reading before, struct account_reading after)
{
    struct account_usage usage;

    account_between(&before, &after, TICK, &usage);
    return usage;
}

static void live_and_new_processes(void **state)
{
    struct account_reading before = READING(P(10, 1, 5, 100, 50, 0, 0), P(11, 10, 6, 30, 3, 0, 0));
    struct account_reading after =
        READING(P(10, 1, 5, 110, 52, 0, 0), P(11, 10, 6, 31, 3, 0, 0), P(12, 10, 7, 4, 2, 1, 0));
    struct account_usage usage = between(before, after);

    (void)state;
    assert_float_equal(usage.user_s, 0.16, 1e-9);
    assert_float_equal(usage.kernel_s, 0.04, 1e-9);
    assert_true(usage.adds_up);
    assert_float_equal(usage.resolution_s, TICK, 1e-9);
}

static void a_waited_child_brings_only_the_window(void **state)
{
    /* 11 had 300 + 30 ticks before the window and 10 + 1 in it; another came and went within: 5 + 0. */
    struct account_reading before = READING(P(10, 1, 5, 100, 50, 7, 0), P(11, 10, 6, 300, 30, 0, 0));
    struct account_reading after = READING(P(10, 1, 5, 100, 50, 7 + 310 + 5, 31));
    struct account_usage usage = between(before, after);

    (void)state;
    assert_float_equal(usage.user_s, 0.15, 1e-9);
    assert_float_equal(usage.kernel_s, 0.01, 1e-9);
    assert_true(usage.adds_up);
}

static void generations_that_end_together(void **state)
{
    struct account_reading before =
        READING(P(10, 1, 5, 0, 0, 0, 0), P(11, 10, 6, 100, 0, 20, 0), P(12, 11, 7, 50, 0, 0, 0));
    struct account_reading after = READING(P(10, 1, 5, 0, 0, 100 + 20 + 50 + 9, 0));
    struct account_usage usage = between(before, after);

    (void)state;
    assert_float_equal(usage.total_s, 0.09, 1e-9);
    assert_true(usage.adds_up);
}

static void a_child_that_nobody_waited_for_is_said(void **state)
{
    struct account_reading before = READING(P(10, 1, 5, 100, 50, 0, 0), P(11, 10, 6, 300, 30, 0, 0));
    struct account_reading after = READING(P(10, 1, 5, 120, 50, 0, 0));
    struct account_usage usage = between(before, after);

    (void)state;
    /* Never negative: 20 ticks of the parent are known, the child's are not. */
    assert_float_equal(usage.total_s, 0.20, 1e-9);
    assert_false(usage.adds_up);
    assert_string_equal(usage.note, "process 11 (p) ended and its parent did not wait for it");
}

static void the_root_itself_ended(void **state)
{
    struct account_reading before = READING(P(10, 1, 5, 100, 50, 0, 0), P(11, 10, 6, 30, 3, 0, 0));
    struct account_reading after = READING(P(11, 1, 6, 31, 3, 0, 0));
    struct account_reading none = {0};
    struct account_usage usage = between(before, after);

    (void)state;
    assert_float_equal(usage.total_s, 0.01, 1e-9);
    assert_false(usage.adds_up);
    usage = between(before, none);
    assert_true(isnan(usage.total_s));
    usage = between(none, none);
    assert_true(isnan(usage.total_s));
}

static void a_number_given_again_is_another_process(void **state)
{
    struct account_reading before = READING(P(10, 1, 5, 0, 0, 0, 0), P(11, 10, 6, 300, 30, 0, 0));
    struct account_reading after = READING(P(10, 1, 5, 0, 0, 301, 30), P(11, 10, 999, 2, 1, 0, 0));
    struct account_usage usage = between(before, after);

    (void)state;
    assert_float_equal(usage.user_s, 0.03, 1e-9);
    assert_float_equal(usage.kernel_s, 0.01, 1e-9);
    assert_true(usage.adds_up);
    /* The same, and the first one was not waited for. */
    after.processes[0].stat.waited_user_ticks = after.processes[0].stat.waited_kernel_ticks = 0;
    usage = between(before, after);
    assert_float_equal(usage.total_s, 0.03, 1e-9);
    assert_false(usage.adds_up);
}

static void a_parent_that_ignores_its_children(void **state)
{
    struct account_reading before = READING(P(10, 1, 5, 0, 0, 0, 0));
    struct account_reading after = READING(P(10, 1, 5, 3, 0, 0, 0));
    struct account_usage usage;

    (void)state;
    after.processes[0].ignores_sigchld = true;
    (void)strcpy(after.processes[0].stat.name, "a\nb");
    usage = between(before, after);
    assert_false(usage.adds_up);
    assert_string_equal(usage.note, "process 10 (a\\x0ab) ignores SIGCHLD: the time of its children reaches nobody");
}

static void below_a_tick_the_threads_clocks_tell(void **state)
{
    struct account_reading before = READING(P(10, 1, 5, 0, 0, 0, 0), P(11, 10, 6, 0, 0, 0, 0));
    struct account_reading after = READING(P(10, 1, 5, 0, 0, 0, 0), P(11, 10, 6, 0, 0, 0, 0));
    struct account_usage usage;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        before.processes[i].run_known = after.processes[i].run_known = true;
        before.processes[i].run_ns = 1000000;
        after.processes[i].run_ns = 1000000 + 2500000 * (i + 1);
        before.processes[i].involuntary = 3;
        after.processes[i].involuntary = 8;
    }
    usage = between(before, after);
    assert_float_equal(usage.total_s, 0.0075, 1e-9);
    assert_float_equal(usage.resolution_s, 1e-6, 1e-12);
    assert_true(isnan(usage.user_s));
    assert_true(usage.involuntary == 10);
    /* The split is the ticks' where there are any. */
    after.processes[0].stat.user_ticks = 3;
    after.processes[0].stat.kernel_ticks = 1;
    usage = between(before, after);
    assert_float_equal(usage.user_s, 0.0075 * 3 / 4, 1e-9);
    assert_float_equal(usage.kernel_s, 0.0075 / 4, 1e-9);
    /* A thread that ended took its clock with it: back to ticks. */
    after.processes[0].thread_hash = 1;
    usage = between(before, after);
    assert_float_equal(usage.total_s, 0.04, 1e-9);
    assert_float_equal(usage.resolution_s, TICK, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_and_new_processes),
        cmocka_unit_test(a_waited_child_brings_only_the_window),
        cmocka_unit_test(generations_that_end_together),
        cmocka_unit_test(a_child_that_nobody_waited_for_is_said),
        cmocka_unit_test(the_root_itself_ended),
        cmocka_unit_test(a_number_given_again_is_another_process),
        cmocka_unit_test(a_parent_that_ignores_its_children),
        cmocka_unit_test(below_a_tick_the_threads_clocks_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
