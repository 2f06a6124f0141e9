/* Each folder of harness/tests/cases/contract holds a contract.json and the message that it must give ("ok": none). */
#include "unit.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "target/contract.h"

static const char cases_dir[] = "harness/tests/cases/contract";

static bool is_right(const char *name)
{
    char *path = text_format("%s/%s/contract.json", cases_dir, name);
    char *expected_path = text_format("%s/%s/expected", cases_dir, name);
    struct contract contract;
    struct err err = {0};
    char *line;
    char *wanted;
    char *seen;
    size_t len;
    bool right;

    assert_int_equal(fsx_read(expected_path, 65536, &line, &len, &err), 0);
    line[strcspn(line, "\n")] = '\0';
    wanted = strcmp(line, "ok") == 0 ? text_dup(line) : text_format("%s:%s", path, line);
    if (contract_load(path, &contract, &err) == 0) {
        seen = text_dup("ok");
        contract_free(&contract);
    } else {
        seen = text_dup(err.text);
        assert_int_equal(err.kind, ERR_CANNOT);
    }
    right = strcmp(seen, wanted) == 0;
    if (!right)
        print_error("%s\n  expected: %s\n  seen:     %s\n", name, wanted, seen);
    free(seen);
    free(wanted);
    free(line);
    free(expected_path);
    free(path);
    return right;
}

static void faults_are_told_with_their_place(void **state)
{
    DIR *folder = opendir(cases_dir);
    struct dirent *entry;
    int seen = 0;
    int wrong = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        seen++;
        wrong += !is_right(entry->d_name);
    }
    (void)closedir(folder);
    assert_true(seen > 10);
    assert_int_equal(wrong, 0);
}

/* The committed contract loads, and in JWT mode has cases that it otherwise has not. */
static void the_study_s_contract_loads(void **state)
{
    struct contract contract;
    struct contract_env open = {.base_url = "http://127.0.0.1:1"};
    struct contract_env closed = {.base_url = "http://127.0.0.1:1", .secret = "secret"};
    struct err err = {0};

    (void)state;
    assert_int_equal(contract_load("config/contract.json", &contract, &err), 0);
    assert_true(contract_count(&contract, &open) > 70);
    assert_true(contract_count(&contract, &closed) > contract_count(&contract, &open) + 20);
    contract_free(&contract);
}

static void collect(void *user, const struct contract_result *result)
{
    struct text *text = user;

    text_addf(text, "%s:%s;", result->name, result->skipped != NULL ? result->skipped : result->ok ? "ok" : "failed");
}

/* Nobody listens on port 1: two cases wait for an answer, the others are not tried. */
static void a_dead_server_is_not_asked_for_ever(void **state)
{
    struct contract_step request = {.kind = STEP_REQUEST, .request = {.method = "GET", .path = "/"}, .times = 1};
    struct contract_step statement = {.kind = STEP_EXECUTE, .sql = "SELECT 1"};
    struct contract_case cases[] = {
        {.name = "a", .steps = &request, .step_count = 1},  {.name = "b", .uses_database = true, .steps = &statement},
        {.name = "c", .steps = &request, .step_count = 1},  {.name = "d", .steps = &request, .step_count = 1},
        {.name = "j", .jwt_only = true, .steps = &request},
    };
    const char *none[] = {NULL};
    struct contract contract = {.timeout_ns = 5000000000,
                                .prepare = none,
                                .restore = none,
                                .finish = none,
                                .state = "",
                                .fingerprint = "",
                                .cases = cases,
                                .case_count = sizeof cases / sizeof cases[0]};
    struct contract_env env = {.base_url = "http://127.0.0.1:1"};
    struct text seen = {0};
    struct err err = {0};
    size_t failed;

    (void)state;
    assert_int_equal(contract_run(&contract, &env, collect, &seen, &failed, &err), 0);
    assert_string_equal(text_string(&seen), "a:failed;b:no database;c:failed;d:failed;");
    assert_int_equal(failed, 3);
    text_free(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_told_with_their_place),
        cmocka_unit_test(the_study_s_contract_loads),
        cmocka_unit_test(a_dead_server_is_not_asked_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
