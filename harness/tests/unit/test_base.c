#include "unit.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/opts.h"
#include "base/text.h"

static void plain_decimals_only(void **state)
{
    static const char *const bad[] = {"",    "nan",   "NAN(1)", "inf", "0x1p4", "1e5", " 12",   "12 ",
                                      "+12", "12abc", "1,234",  "1.",  ".5",    "--1", "1.2.3", "-"};
    double value = 7;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(text_parse_double(bad[i], &value), -1);
        assert_true(value == 7);
    }
    assert_int_equal(text_parse_double("-12.250", &value), 0);
    assert_true(value == -12.25);
    assert_int_equal(text_parse_double("123456789012345678901234.5", &value), 0);
    assert_true(value == 123456789012345678901234.5);
    assert_int_equal(text_parse_double("0.1", &value), 0);
    assert_true(value == 0.1);
}

static void integers_are_bounded(void **state)
{
    uint64_t u;
    int64_t i;

    (void)state;
    assert_int_equal(text_parse_u64("18446744073709551615", &u), 0);
    assert_true(u == UINT64_MAX);
    assert_int_equal(text_parse_u64("18446744073709551616", &u), -1);
    assert_int_equal(text_parse_i64("-9223372036854775807", &i), 0);
    assert_int_equal(text_parse_i64("9223372036854775808", &i), -1);
    assert_int_equal(text_parse_i64("1.0", &i), -1);
}

static void durations_as_in_go(void **state)
{
    static const char *const bad[] = {"2", "", "s", "-1s", "1.5", "1m30", "1 s", "1e3s", "5sec"};
    struct text text = {0};
    int64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_parse_duration(bad[i], &ns), -1);
    assert_int_equal(text_parse_duration("1m30s", &ns), 0);
    assert_true(ns == 90000000000);
    assert_int_equal(text_parse_duration("1.5s", &ns), 0);
    assert_true(ns == 1500000000);
    assert_int_equal(text_parse_duration("500ms", &ns), 0);
    text_add_duration(&text, ns);
    text_add_char(&text, ' ');
    text_add_duration(&text, 90000000000);
    assert_string_equal(text.data, "500ms 1m30s");
    text_free(&text);
}

/* The test must not pass because the locale was missing: the Makefile's runner makes one with localedef. */
static void numbers_ignore_the_locale(void **state)
{
    struct text text = {0};
    json_t *number = json_number(1.5, 3);
    char *line;
    double value;

    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        fail_msg("the locale de_DE.UTF-8 is missing (LOCPATH)");
    assert_string_equal(localeconv()->decimal_point, ",");
    text_add_double(&text, -0.25, 2);
    text_add_char(&text, ' ');
    text_add_double(&text, 1234.5, 1);
    text_add_char(&text, ' ');
    text_add_double(&text, 3.0, 0);
    assert_string_equal(text.data, "-0.25 1234.5 3");
    assert_int_equal(text_parse_double("123456789.123456789123", &value), 0);
    assert_true(value > 123456789.1 && value < 123456789.2);
    line = json_line(number);
    assert_string_equal(line, "1.5");
    (void)setlocale(LC_ALL, "C");
    free(line);
    json_decref(number);
    text_free(&text);
}

static void utf8_is_checked(void **state)
{
    (void)state;
    assert_true(text_is_title("Go 1.27 \xc2\xb7 net/http"));
    assert_false(text_is_title("two\nlines"));
    assert_false(text_is_title("\xff\xfe"));
    assert_false(text_is_title("a\xe2\x80\xae"
                               "b"));
    assert_false(text_is_title(""));
    assert_false(text_is_utf8("\xc0\x80", 2));
    assert_false(text_is_utf8("\xed\xa0\x80", 3));
    assert_int_equal(text_width("a\xc2\xb7\xe6\xbc\xa2"), 4);
}

static void a_value_has_a_line_and_a_column(void **state)
{
    static const char text[] = "{\n  \"a\": [1, {\"b\\u0041\": 2}],\n  \"c\": {\"d\": \"x]\\\"\", \"e\": null}\n}\n";
    struct json_doc doc;
    struct err err = {0};
    int line;
    int column;

    (void)state;
    assert_int_equal(json_doc_parse("f.json", text, strlen(text), &doc, &err), 0);
    assert_int_equal(json_doc_locate(&doc, "a[1].bA", &line, &column), 0);
    assert_int_equal(line, 2);
    assert_int_equal(column, 24);
    assert_int_equal(json_doc_locate(&doc, "c.e", &line, &column), 0);
    assert_int_equal(line, 3);
    assert_int_equal(column, 27);
    assert_int_equal(json_doc_locate(&doc, "c!d", &line, &column), 0);
    assert_int_equal(column, 9);
    assert_int_equal(json_doc_locate(&doc, "c.missing", &line, &column), -1);
    json_doc_free(&doc);
}

static void duplicate_keys_and_rubbish_are_refused(void **state)
{
    static const char *const bad[] = {"{\"a\":1,\n\"a\":2}",
                                      "{} x",
                                      "\xef\xbb\xbf{}",
                                      "{\"a\":NaN}",
                                      "{/* c */}",
                                      "{\"a\":1e999}",
                                      "",
                                      "{\"a\":99999999999999999999}",
                                      "{\"a\": \"a\\u00\xd2\x9d[31m\"}"};
    struct json_doc doc;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};

        assert_int_equal(json_doc_parse("f.json", bad[i], strlen(bad[i]), &doc, &err), -1);
        assert_true(text_is_utf8(err.text, strlen(err.text)) && strchr(err.text, '\n') == NULL);
        assert_int_equal(strncmp(err.text, "f.json:", 7), 0);
        assert_int_equal(err.kind, ERR_CANNOT);
    }
}

struct args {
    bool verbose;
    const char *method;
    struct opt_list headers;
    int64_t connections;
    int64_t timeout_ns;
};

static const struct opt rows[] = {
    {'v', "verbose", NULL, OPT_FLAG, offsetof(struct args, verbose), "say more"},
    {'m', NULL, "METHOD", OPT_STRING, offsetof(struct args, method), "method"},
    {'H', "header", "H", OPT_LIST, offsetof(struct args, headers), "header"},
    {'c', "connections", "N", OPT_COUNT, offsetof(struct args, connections), "connections"},
    {'t', "timeout", "D", OPT_DURATION, offsetof(struct args, timeout_ns), "timeout"},
    {0},
};
static const struct command command = {.name = "x", .opts = rows};

static void options_in_every_form(void **state)
{
    char *argv[] = {"x", "-vc50", "one", "--timeout=2s", "-H", "a: b", "-Hc: d", "--", "-two", NULL};
    struct args args = {0};
    struct err err = {0};
    int operands = 0;

    (void)state;
    assert_int_equal(opts_parse(&command, &args, 9, argv, &operands, &err), OPTS_OK);
    assert_true(args.verbose);
    assert_int_equal(args.connections, 50);
    assert_int_equal(args.timeout_ns, 2000000000);
    assert_int_equal(args.headers.count, 2);
    assert_string_equal(args.headers.items[1], "c: d");
    assert_int_equal(operands, 2);
    assert_string_equal(argv[2], "-two");
    free(args.headers.items);
}

static void options_mistyped(void **state)
{
    static const char *const bad[] = {"-t2", "--conections=5", "-z", "-c-1", "--verbose=1", "-c"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *argv[] = {"x", (char *)bad[i], NULL};
        struct args args = {0};
        struct err err = {0};
        int operands = 0;

        assert_int_equal(opts_parse(&command, &args, 2, argv, &operands, &err), OPTS_BAD);
        assert_int_equal(err.kind, ERR_CANNOT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_decimals_only),
        cmocka_unit_test(integers_are_bounded),
        cmocka_unit_test(durations_as_in_go),
        cmocka_unit_test(numbers_ignore_the_locale),
        cmocka_unit_test(utf8_is_checked),
        cmocka_unit_test(a_value_has_a_line_and_a_column),
        cmocka_unit_test(duplicate_keys_and_rubbish_are_refused),
        cmocka_unit_test(options_in_every_form),
        cmocka_unit_test(options_mistyped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
