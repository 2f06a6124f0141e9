#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "machine/env.h"
#include "machine/leftover.h"

#define BLOCK(text) text, sizeof(text) - 1

static void who_carries_the_mark(void **state)
{
    int pid = 0;
    unsigned long long start = 0;

    (void)state;
    assert_true(leftover_parse(BLOCK("PATH=/bin\0RESTBENCH_RUN=123-456\0A=b"), &pid, &start));
    assert_int_equal(pid, 123);
    assert_int_equal(start, 456);
    assert_true(leftover_parse(BLOCK("RESTBENCH_RUN=1-2"), &pid, &start));
    /* Nobody else is ended, whatever the environment holds. */
    assert_false(leftover_parse(BLOCK(""), &pid, &start));
    assert_false(leftover_parse(BLOCK("A=RESTBENCH_RUN=123-456"), &pid, &start));
    assert_false(leftover_parse(BLOCK("RESTBENCH_RUNS=123-456"), &pid, &start));
    assert_false(leftover_parse(BLOCK("RESTBENCH_RUN=123"), &pid, &start));
    assert_false(leftover_parse(BLOCK("RESTBENCH_RUN=-1-5"), &pid, &start));
    assert_false(leftover_parse(BLOCK("RESTBENCH_RUN=0-5"), &pid, &start));
    assert_false(leftover_parse(BLOCK("RESTBENCH_RUN=12x-5"), &pid, &start));
    assert_false(leftover_parse(BLOCK("RESTBENCH_RUN=99999999999-5"), &pid, &start));
    assert_false(leftover_parse(BLOCK("RESTBENCH_RUN"), &pid, &start));
}

static void our_own_mark_lives(void **state)
{
    struct env env = {0};
    char block[128];
    int pid;
    unsigned long long start;

    (void)state;
    leftover_mark(&env);
    assert_int_equal(env.count, 1);
    memcpy(block, env.items[0], strlen(env.items[0]) + 1);
    assert_true(leftover_parse(block, strlen(block), &pid, &start));
    assert_int_equal(pid, getpid());
    assert_true(leftover_lives(pid, start));
    /* The same pid with another start is somebody else. */
    assert_false(leftover_lives(pid, start + 1));
    env_free(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_carries_the_mark),
        cmocka_unit_test(our_own_mark_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
