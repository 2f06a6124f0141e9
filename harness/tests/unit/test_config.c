/* Each folder of harness/tests/cases/config holds a study.json and the message that it must give ("ok": none). */
#include "unit.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "study/config.h"
#include "study/plan.h"

static const char cases_dir[] = "harness/tests/cases/config";

/* "DIR/" in an expected line stands for the case's folder, which messages name. */
static char *with_dir(const char *line, const char *dir)
{
    const char *mark = strstr(line, "DIR/");

    if (mark == NULL)
        return text_dup(line);
    return text_format("%.*s%s/%s", (int)(mark - line), line, dir, mark + 4);
}

static bool is_wrong(const char *name)
{
    char *dir = fsx_join(cases_dir, name);
    char *path = fsx_join(dir, "study.json");
    char *expected_path = fsx_join(dir, "expected");
    struct err err = {0};
    struct study study;
    char *line;
    char *expected;
    char *seen;
    bool wrong;
    size_t len;

    assert_int_equal(fsx_read(expected_path, 65536, &line, &len, &err), 0);
    line[strcspn(line, "\n")] = '\0';
    if (config_load(path, &study, &err) == 0) {
        seen = text_dup("ok");
        config_free(&study);
    } else {
        seen = text_dup(err.text);
        assert_int_equal(err.kind, ERR_CANNOT);
    }
    expected = strcmp(line, "ok") == 0 ? text_dup(line) : text_format("%s:%s", path, line);
    {
        char *whole = with_dir(expected, dir);

        if (strcmp(seen, whole) != 0)
            print_error("%s\n  expected: %s\n  seen:     %s\n", name, whole, seen);
        wrong = strcmp(seen, whole) != 0;
        free(whole);
    }
    free(dir);
    free(path);
    free(expected_path);
    free(line);
    free(expected);
    free(seen);
    return wrong;
}

static void every_fault_has_its_line(void **state)
{
    struct dirent **entries = NULL;
    int wrong = 0;
    int count = scandir(cases_dir, &entries, NULL, alphasort);

    (void)state;
    assert_true(count > 20);
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.')
            wrong += is_wrong(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    assert_int_equal(wrong, 0);
}

static void committed_studies_are_valid(void **state)
{
    static const char *const files[] = {"config/study.json", "config/quick.json"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct err err = {0};
        struct study study;

        if (config_load(files[i], &study, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(study.test_count, 4);
        assert_int_equal(study.phase_count, 2);
        config_free(&study);
    }
}

/* 3 rounds x 2 rows x 2 tests x 2 phases, forward, reverse, forward. */
static void rounds_alternate(void **state)
{
    struct study_test tests[2] = {{.writes = false}, {.writes = true}};
    struct study_phase phases[2] = {{.seconds = 15}, {.seconds = 15}};
    struct study study = {.rounds = 3,
                          .alternating = true,
                          .tests = tests,
                          .test_count = 2,
                          .phases = phases,
                          .phase_count = 2,
                          .warmup_seconds = 5};
    static const bool both[2] = {true, true};
    static const bool second[2] = {false, true};
    struct plan plan;

    (void)state;
    plan_make(&study, 2, both, &plan);
    assert_int_equal(plan.count, 24);
    assert_int_equal(plan.cells[0].row, 0);
    assert_int_equal(plan.cells[4].row, 1);
    assert_int_equal(plan.cells[8].row, 1);
    assert_int_equal(plan.cells[12].row, 0);
    assert_int_equal(plan.cells[16].row, 0);
    assert_true(plan_starts_server(&plan, 8));
    assert_false(plan_starts_server(&plan, 9));
    assert_true(plan_starts_test(&plan, 10));
    assert_false(plan_starts_test(&plan, 11));
    assert_true(plan_seconds(&study, &plan) > 24 * 15 + 12 * 5);
    plan_free(&plan);
    plan_make(&study, 2, second, &plan);
    assert_int_equal(plan.count, 12);
    assert_int_equal(plan.cells[0].test, 1);
    plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_has_its_line),
        cmocka_unit_test(committed_studies_are_valid),
        cmocka_unit_test(rounds_alternate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
