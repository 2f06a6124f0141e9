/* Names chosen by expressions: anchored by the engine, any case, UTF-8, and never a hang. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"

static int matches(const char *expression, const char *name)
{
    struct err err = {0};
    struct pattern *pattern = pattern_open("--servers", expression, &err);
    int result;

    assert_non_null(pattern);
    result = pattern_matches(pattern, name, &err);
    pattern_close(pattern);
    return result;
}

static void a_whole_name_must_match(void **state)
{
    (void)state;
    assert_int_equal(matches("go-nethttp|c-reference", "go-nethttp"), 1);
    assert_int_equal(matches("go-nethttp|c-reference", "go-nethttp-old"), 0);
    assert_int_equal(matches("go-nethttp|c-reference", "my-c-reference"), 0);
    /* The leftmost alternative is a beginning of the name; the other one is the name. */
    assert_int_equal(matches("go|go-nethttp", "go-nethttp"), 1);
    assert_int_equal(matches("GO-NETHTTP", "go-nethttp"), 1);
    assert_int_equal(matches("go.nethttp$|^x", "go-nethttp"), 1);
    assert_int_equal(matches(".*\xc2\xb7.*", "Go 1.27 \xc2\xb7 net/http"), 1);
    assert_int_equal(matches("Go 1.27 . net/http", "Go 1.27 \xc2\xb7 net/http"), 1);
}

static void too_much_backtracking_is_one_line(void **state)
{
    struct err err = {0};
    struct pattern *pattern = pattern_open("--servers", "(a+)+$", &err);

    (void)state;
    assert_int_equal(pattern_matches(pattern, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", &err), -1);
    assert_int_equal(err.kind, ERR_CANNOT);
    assert_non_null(strstr(err.text, "takes too long"));
    pattern_close(pattern);
}

static void a_broken_expression_has_its_offset(void **state)
{
    static const char *const bad[] = {"[", "a(b", "*x", ""};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};

        assert_null(pattern_open("--tests", bad[i], &err));
        assert_non_null(strstr(err.text, bad[i][0] != '\0' ? "at offset" : "is empty"));
    }
}

static void nothing_matched_names_the_nearest(void **state)
{
    static const char *const names[] = {"go-nethttp", "rust-axum"};
    struct err err = {0};

    (void)state;
    assert_int_equal(pattern_matched_none("--servers", "row", "rsut-axum", names, 2, &err), -1);
    assert_non_null(strstr(err.text, "nearest: rust-axum; there are: go-nethttp, rust-axum"));
}

static void a_version_is_found(void **state)
{
    static const char text[] = "go version go1.26.8 linux/amd64\n";
    struct err err = {0};
    struct pattern *pattern = pattern_open_search("pattern", "go(\\d+\\.\\d+(?:\\.\\d+)?)", &err);
    char *version = pattern_find(pattern, text, strlen(text));

    (void)state;
    assert_string_equal(version, "1.26.8");
    free(version);
    assert_null(pattern_find(pattern, "none", 4));
    pattern_close(pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_name_must_match),
        cmocka_unit_test(too_much_backtracking_is_one_line),
        cmocka_unit_test(a_broken_expression_has_its_offset),
        cmocka_unit_test(nothing_matched_names_the_nearest),
        cmocka_unit_test(a_version_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
