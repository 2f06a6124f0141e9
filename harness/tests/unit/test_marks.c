/* The table of marks against what is written about it, and the marks that no server can be asked to cause. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "machine/vitals.h"
#include "results/marks.h"
#include "study/drift.h"
#include "study/judge.h"

static char *read_file(const char *path)
{
    struct err err = {0};
    char *content = NULL;
    size_t len;

    return fsx_read(path, 4 << 20, &content, &len, &err) == 0 ? content : NULL;
}

static void the_schema_knows_every_mark(void **state)
{
    char *schema = read_file("harness/schema/details.schema.json");
    json_t *root = json_loads(schema != NULL ? schema : "", 0, NULL);
    const json_t *items = json_object_get(json_object_get(json_object_get(root, "$defs"), "cell"), "properties");
    const json_t *names;

    (void)state;
    items = json_object_get(json_object_get(items, "marks"), "items");
    names = json_object_get(json_object_get(json_object_get(items, "properties"), "name"), "enum");
    assert_int_equal(json_array_size(names), MARK_COUNT);
    for (int i = 0; i < MARK_COUNT; i++) {
        assert_string_equal(json_string_value(json_array_get(names, (size_t)i)), mark_kinds[i].name);
        assert_int_equal(mark_find(mark_kinds[i].name), i);
    }
    json_decref(root);
    free(schema);
}

/* The table of the README: every mark in a line, by its sentence, and whether it forbids bold. */
static void the_readme_agrees(void **state)
{
    char *content = read_file("README.md");
    char *end;

    (void)state;
    assert_non_null(content);
    for (int i = 0; i < MARK_COUNT; i++) {
        char begins[256];
        char *line;

        (void)snprintf(begins, sizeof begins, "| `%s` | %s", mark_kinds[i].name, mark_kinds[i].sentence);
        line = strstr(content, begins);
        if (line == NULL)
            fail_msg("README.md has no line that begins with: %s", begins);
        else if ((end = strchr(line, '\n')) != NULL)
            assert_true((strncmp(end - 7, "| yes |", 7) == 0) == mark_kinds[i].forbids_bold);
    }
    free(content);
}

static int64_t now_ns;
static int64_t stepped_ns;

static int64_t mono_ns(void)
{
    return now_ns;
}

static int64_t wall_ns(void)
{
    return 1800000000 * CLOCK_NS_PER_S + now_ns + stepped_ns;
}

static const struct clock_source stepping = {mono_ns, mono_ns, wall_ns};

static bool is_marked_after(int64_t step_ns)
{
    struct cpus none = {0};
    struct vitals before;
    struct vitals after;
    struct disturbance disturbance;
    struct judge_evidence evidence = {.listener_foreign = false};
    struct judge_verdict verdict;
    json_t *marks;
    json_t *mark;
    size_t i;
    bool found = false;

    clock_use(&stepping);
    now_ns = CLOCK_NS_PER_S;
    stepped_ns = 0;
    vitals_read("/proc", "/sys", &before);
    now_ns += 15 * CLOCK_NS_PER_S;
    stepped_ns = step_ns;
    vitals_read("/proc", "/sys", &after);
    clock_use(NULL);
    vitals_between("/proc", "/sys", &none, &before, &after, &disturbance);
    evidence.window_s = 15;
    evidence.suspended_s = disturbance.suspended_s;
    evidence.clock_step_s = disturbance.clock_step_s;
    judge_verdict(&evidence, &verdict);
    marks = judge_marks(&evidence, &verdict);
    json_array_foreach (marks, i, mark)
        found = found || strcmp(json_get_string(mark, "name"), "clock") == 0;
    json_decref(marks);
    return found;
}

static void a_wall_clock_that_steps(void **state)
{
    (void)state;
    assert_false(is_marked_after(0));
    assert_false(is_marked_after(CLOCK_NS_PER_MS));
    assert_true(is_marked_after(3600 * CLOCK_NS_PER_S));
    assert_true(is_marked_after(-CLOCK_NS_PER_S));
}

static void a_machine_that_slows_down(void **state)
{
    struct drift drift = {0};

    (void)state;
    for (int i = 0; i < DRIFT_LEAST; i++) {
        assert_true(isnan(drift_of(&drift, 200, 200)));
        drift_add(&drift, 200);
    }
    drift_add(&drift, NAN);
    assert_int_equal(drift.count, DRIFT_LEAST);
    assert_true(fabs(drift_of(&drift, 200, 260)) < 1e-9);
    assert_true(fabs(drift_of(&drift, 230, 260) - 15) < 1e-9);
    assert_true(isnan(drift_of(&drift, NAN, 260)));
    /* What the sides can have taken from the job: not more than it waited, not more than they worked. */
    assert_true(drift_own_ms(220, 230) == 220);
    assert_true(drift_own_ms(220, 40) == 40);
    assert_true(drift_own_ms(0, 300) == 0);
    assert_true(drift_own_ms(NAN, 300) == 0 && drift_own_ms(220, NAN) == 0);
    drift_free(&drift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_knows_every_mark),
        cmocka_unit_test(the_readme_agrees),
        cmocka_unit_test(a_wall_clock_that_steps),
        cmocka_unit_test(a_machine_that_slows_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
