#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load/deadline.h"

enum { COUNT = 500 };

static struct deadline_heap heap;
static struct deadline items[COUNT];

static void begin(void)
{
    deadline_heap_init(&heap, COUNT);
    for (int i = 0; i < COUNT; i++)
        items[i] = (struct deadline){DEADLINE_NEVER, 0, 0};
}

static void test_moves(void **state)
{
    (void)state;
    begin();
    assert_int_equal(deadline_next_ns(&heap), DEADLINE_NEVER);
    assert_null(deadline_pop(&heap, INT64_MAX - 1));
    deadline_set(&heap, &items[0], 100);
    deadline_set(&heap, &items[1], 200);
    assert_int_equal(deadline_next_ns(&heap), 100);
    /* To later: seen only when the old time comes, never before its own. */
    deadline_set(&heap, &items[0], 300);
    assert_null(deadline_pop(&heap, 150));
    assert_ptr_equal(deadline_pop(&heap, 200), &items[1]);
    assert_null(deadline_pop(&heap, 299));
    /* To earlier: at once. */
    deadline_set(&heap, &items[0], 250);
    assert_int_equal(deadline_next_ns(&heap), 250);
    assert_ptr_equal(deadline_pop(&heap, 250), &items[0]);
    assert_int_equal(items[0].due_ns, DEADLINE_NEVER);
    /* Taken back. */
    deadline_set(&heap, &items[2], 400);
    deadline_set(&heap, &items[2], DEADLINE_NEVER);
    assert_null(deadline_pop(&heap, 1000));
    deadline_heap_free(&heap);
}

/* Against a plain list: random moves, and time that goes on. */
static void test_against_a_list(void **state)
{
    uint64_t seed = 7;
    int64_t now = 0;

    (void)state;
    begin();
    for (int step = 0; step < 200000; step++) {
        struct deadline *item = &items[(seed >> 33) % COUNT];
        int64_t earliest = DEADLINE_NEVER;
        struct deadline *due;

        seed = seed * 6364136223846793005U + 1442695040888963407U;
        deadline_set(&heap, item, (seed >> 60) == 0 ? DEADLINE_NEVER : now + 1 + (int64_t)((seed >> 20) % 1000));
        if (step % 16 != 0)
            continue;
        now += 3;
        while ((due = deadline_pop(&heap, now)) != NULL)
            assert_true(due >= items && due < items + COUNT);
        for (int i = 0; i < COUNT; i++) {
            assert_true(items[i].due_ns > now);
            if (items[i].due_ns < earliest)
                earliest = items[i].due_ns;
        }
        assert_true(deadline_next_ns(&heap) <= earliest);
    }
    deadline_heap_free(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_against_a_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
