#include "unit.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"
#include "results/markdown.h"
#include "results/tables.h"

#define HEADER                                                                                                         \
    "utc,server,round,test,connections,requests_per_s,latency_p50_ms,latency_p99_ms,responses_2xx,errors,"             \
    "cpu_server_s,cpu_postgres_s,working_set_mb,private_mb,startup_s,cpu_server_user_s,cpu_server_kernel_s\n"
#define LINE(server, round, connections, rate, p99, ok, errors, postgres, memory, user)                                \
    "2026-11-30T12:00:00Z," server "," round ",t," connections "," rate ",0.5," p99 "," ok "," errors ",1.0," postgres \
    "," memory ",7.0,0.25," user ",0.100000\n"

static char folder[] = "/tmp/restbench-tables-XXXXXX";

static char *tables_of(const char *csv)
{
    struct record record;
    struct text text = {0};
    struct err err = {0};

    if (record_open(csv, &record, &err) != 0)
        fail_msg("%s", err.text);
    tables_write(&record, &text);
    record_close(&record);
    return text_take(&text);
}

static char *tables_of_text(const char *csv, const char *machine)
{
    char *path = fsx_join(folder, "x.csv");
    char *beside = fsx_join(folder, "x_machine.json");
    struct err err = {0};
    char *tables;

    assert_int_equal(fsx_write_atomic(path, csv, strlen(csv), 0644, &err), 0);
    if (machine != NULL)
        assert_int_equal(fsx_write_atomic(beside, machine, strlen(machine), 0644, &err), 0);
    tables = tables_of(path);
    (void)unlink(beside);
    free(path);
    free(beside);
    return tables;
}

static void expect(const char *tables, const char *part)
{
    if (strstr(tables, part) == NULL)
        fail_msg("expected: %s\nin:\n%s", part, tables);
}

static void golden(void **state)
{
    static const char *const names[] = {"harness/tests/cases/golden/2026-11-05_no-auth",
                                        "harness/tests/cases/golden/2026-11-06_jwt"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *csv = text_format("%s.csv", names[i]);
        char *md = text_format("%s.md", names[i]);
        char *tables = tables_of(csv);
        struct err err = {0};
        char *wanted;
        size_t len;

        assert_int_equal(fsx_read(md, 1 << 20, &wanted, &len, &err), 0);
        assert_string_equal(tables, wanted);
        free(csv);
        free(md);
        free(tables);
        free(wanted);
    }
}

static void golden_with_decimal_comma(void **state)
{
    /* A machine where this locale is missing must not make the test pass: it would prove nothing. */
    assert_non_null(setlocale(LC_ALL, "de_DE.UTF-8"));
    assert_string_equal(localeconv()->decimal_point, ",");
    golden(state);
    (void)setlocale(LC_ALL, "C");
}

static void ties_are_all_bold(void **state)
{
    char *tables = tables_of_text(HEADER LINE("A", "1", "50", "1000.4", "1.04", "1000", "0", "0.1", "9.6", "0.2")
                                      LINE("B", "1", "50", "999.6", "2.05", "1000", "0", "0.1", "10.4", "0.2")
                                          LINE("C", "1", "50", "998", "3", "1000", "0", "-0.1", "11", "0.3"),
                                  NULL);

    (void)state;
    expect(tables, "### t \u2014 requests/s, median of 1 round (p99 latency in ms)\n");
    expect(tables, "| A | **1,000** (1.0) |\n| B | **1,000** (2.0) |\n| C | 998 (3.0) |\n");
    expect(tables, "| A | **200 + 100**; 100 |\n| B | **200 + 100**; 100 |\n| C | 300 + 100; n/a |\n");
    expect(tables, "| A | **10** | **7** |\n| B | **10** | **7** |\n| C | 11 | **7** |\n");
    expect(tables, "all rounds: none\n");
    free(tables);
}

static void unknown_is_not_available_and_never_best(void **state)
{
    char *tables = tables_of_text(HEADER LINE("A", "1", "50", "", "", "", "", "", "", "")
                                      LINE("B", "1", "50", "5", "", "10", "3", "0.1", "1", "0.2")
                                          LINE("B", "1", "200", "7", "9", "100000", "1", "", "1", ""),
                                  NULL);

    (void)state;
    expect(tables, "| server | 50 connections | 200 connections |\n");
    expect(tables, "| A | n/a | n/a |\n| B | 5 (n/a) [A] | **7** (9.0) |\n");
    expect(tables, "| A | n/a; n/a |\n");
    expect(tables, "all rounds: A n/a; B 4\n");
    expect(tables, "\n[A] errors: requests failed");
    expect(tables, "(above 0.1 %). 1 cell: B, t, 50 connections, round 1: 23.1 %\n");
    free(tables);
}

static void fewer_rounds_are_marked(void **state)
{
    char *tables = tables_of_text(HEADER LINE("A", "1", "50", "9", "1", "10", "0", "0.1", "1", "0.2")
                                      LINE("B", "1", "50", "5", "1", "10", "0", "0.1", "1", "0.2")
                                          LINE("B", "2", "50", "8", "1", "10", "0", "0.1", "1", "0.2"),
                                  NULL);

    (void)state;
    expect(tables, "median of 2 rounds");
    expect(tables, "| A | 9 (1.0) [A] |\n| B | **6** (1.0) |\n");
    expect(tables, "[A] rounds: ");
    expect(tables, "1 cell: A, t, 50 connections: 1 of 2\n");
    free(tables);
}

static void the_machine_file_names_and_orders(void **state)
{
    static const char machine[] = "{\"format\":1,\"rounds\":1,\"rows\":[{\"id\":\"c\",\"title\":\"C\",\"reference\":"
                                  "true,\"status\":\"measured\"},"
                                  "{\"id\":\"a\",\"title\":\"A | "
                                  "a\",\"status\":\"measured\"},{\"id\":\"z\",\"title\":\"Z*\",\"status\":\"skipped\","
                                  "\"reason\":\"needs <cargo>\",\"log\":null}],"
                                  "\"tests\":[{\"name\":\"t\",\"title\":\"T 1\",\"database\":false}]}";
    char *tables = tables_of_text(HEADER LINE("A | a", "1", "50", "9", "1", "10", "0", "0.1", "5", "0.2")
                                      LINE("C", "1", "50", "99", "1", "10", "0", "0.1", "1", "0.1"),
                                  machine);

    (void)state;
    expect(tables, "### T 1 \u2014 ");
    expect(tables, "| C | 99 (1.0) |\n| A \\| a | **9** (1.0) |\n");
    expect(tables, "| C | 10,000 + 10,000 |\n| A \\| a | **20,000 + 10,000** |\n");
    expect(tables, "all rounds: none\n\nPlanned and not measured:\n\n- Z\\*: needs &lt;cargo&gt;\n");
    free(tables);
}

static void markdown_is_harmless(void **state)
{
    struct text text = {0};

    (void)state;
    markdown_add(&text, "*b* |x| <b>&amp; __proto__ select_1 [a](b) \\ `c`\n");
    assert_string_equal(text.data,
                        "\\*b\\* \\|x\\| &lt;b&gt;&amp;amp; \\_\\_proto\\_\\_ select_1 \\[a\\](b) \\\\ \\`c\\`"
                        "\\\\x0a");
    text_free(&text);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    struct err err = {0};

    (void)state;
    return fsx_remove_tree(folder, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden),
        cmocka_unit_test(golden_with_decimal_comma),
        cmocka_unit_test(ties_are_all_bold),
        cmocka_unit_test(unknown_is_not_available_and_never_best),
        cmocka_unit_test(fewer_rounds_are_marked),
        cmocka_unit_test(the_machine_file_names_and_orders),
        cmocka_unit_test(markdown_is_harmless),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
