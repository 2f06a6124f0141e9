#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"
#include "results/csv.h"
#include "results/stats.h"

static const char line_form[] = "2026-11-30T12:34:56Z,%s,%s,ping,%s,%s,0.500,1.500,15000,%s,1.500000,%s,10.00,20.00,"
                                "0.25,1.000000,0.500000";
static char path[] = "/tmp/restbench-csv-XXXXXX";

static void write_file(const char *text, size_t len)
{
    struct err err = {0};

    assert_int_equal(fsx_write_atomic(path, text, len, 0644, &err), 0);
}

/* Header and lines; returns what csv_next said of the first line. */
static int read_first(const char *lines, struct csv_reader *reader, struct csv_line *line, struct err *err)
{
    struct text text = {0};
    int got;

    csv_header(&text);
    text_add_char(&text, '\n');
    text_add(&text, lines);
    write_file(text.data, text.len);
    text_free(&text);
    got = csv_open(path, reader, err);
    return got != 0 ? -2 : csv_next(reader, line, err);
}

static char *form(const char *server, const char *round, const char *connections, const char *rate, const char *errors,
                  const char *postgres)
{
    struct text text = {0};

    text_addf(&text, line_form, server, round, connections, rate, errors, postgres);
    text_add_char(&text, '\n');
    return text_take(&text);
}

static void expect_fault(char *lines, const char *where, const char *what)
{
    struct csv_reader reader;
    struct csv_line line;
    struct err err = {0};
    char *found;

    assert_int_equal(read_first(lines, &reader, &line, &err), -1);
    found = strstr(err.text, where);
    if (found == NULL || strstr(err.text, what) == NULL)
        fail_msg("expected \"%s\" and \"%s\" in: %s", where, what, err.text);
    csv_close(&reader);
    free(lines);
}

static void figures_are_plain_decimals(void **state)
{
    static const char *const bad[] = {
        "nan", "NAN(1)", "inf", "-0",    "0x1p4",     "1e309",       "1e5",
        " 12", "12 ",    "+12", "12abc", "\"1,234\"", "\"1.234,5\"", "--",
        "012", ".5",     "5.",  "-1",    "1.2.3",     "-0.00",       "99999999999999999999"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_fault(form("A", "1", "50", bad[i], "0", "0.5"), ":2:34: requests_per_s: ", "");
}

static void keys_are_whole_numbers(void **state)
{
    (void)state;
    expect_fault(form("A", "1.5", "50", "1", "0", "0"), ":2:24: round: ", "whole number");
    expect_fault(form("A", "", "50", "1", "0", "0"), ":2:24: round: ", "empty");
    expect_fault(form("A", "0", "50", "1", "0", "0"), ":2:24: round: ", "from 1");
    expect_fault(form("A", "1", "050", "1", "0", "0"), ":2:31: connections: ", "whole number");
    expect_fault(form("A", "1", "50", "1", "1.0", "0"), ": errors: ", "whole number");
}

static void titles_are_text(void **state)
{
    (void)state;
    expect_fault(form("", "1", "50", "1", "0", "0"), ":2:22: server: ", "UTF-8");
    expect_fault(form("a\x01z", "1", "50", "1", "0", "0"), ":2:22: server: ", "control");
    expect_fault(form("\xff", "1", "50", "1", "0", "0"), ":2:22: server: ", "UTF-8");
    expect_fault(form("\xe2\x80\xae", "1", "50", "1", "0", "0"), ":2:22: server: ", "UTF-8");
    expect_fault(form("\"A", "1", "50", "1", "0", "0"), ":2:22: ", "not closed");
    expect_fault(form("\"A\"b", "1", "50", "1", "0", "0"), ":2:25: ", "comma");
}

static void lines_are_whole(void **state)
{
    char *line = form("A", "1", "50", "1", "0", "0");
    char *short_line = text_dup_n(line, strlen(line) - 1);

    (void)state;
    expect_fault(text_format("x%s", line), ":2:1: utc: ", "time");
    expect_fault(text_format("%.*s,1\n", (int)strlen(short_line), short_line), ":2:", "after 17 fields");
    expect_fault(text_format("%.*s\n", (int)strcspn(line, "p"), line), ":2:", "expected 17 fields");
    expect_fault(short_line, ":2:", "cut");
    free(line);
}

static void headers_are_exact(void **state)
{
    static const struct {
        const char *text, *what;
    } bad[] = {{"", "empty"},
               {"server,utc\n", ":1:1: expected the header"},
               {"utc;server;round\n", ":1:4: expected a comma"},
               {"utc,server,test,round\n", ":1:12: expected column \"round\", found \"test\""},
               {"utc,server\n", "header ends here"}};
    struct csv_reader reader;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};

        write_file(bad[i].text, strlen(bad[i].text));
        assert_int_equal(csv_open(path, &reader, &err), -1);
        if (strstr(err.text, bad[i].what) == NULL)
            fail_msg("expected \"%s\" in: %s", bad[i].what, err.text);
    }
}

static void second_header_is_named(void **state)
{
    struct text text = {0};

    (void)state;
    csv_header(&text);
    text_add_char(&text, '\n');
    expect_fault(text_take(&text), ":2:1: utc: ", "joined");
}

static void unknown_is_empty_both_ways(void **state)
{
    struct csv_line line = {.utc = "2026-11-30T12:34:56Z",
                            .server = "Go 1.27, \"tip\" | net/http",
                            .round = 2,
                            .test = "ping",
                            .connections = 50,
                            .requests_per_s = 1234.5,
                            .latency_p50_ms = NAN,
                            .latency_p99_ms = 2.0625,
                            .responses_2xx = 18517,
                            .errors = NAN};
    struct csv_reader reader;
    struct csv_line read = {0};
    struct text text = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(csv_format_line(&line, &text, &err), 0);
    assert_string_equal(text.data,
                        "2026-11-30T12:34:56Z,\"Go 1.27, \"\"tip\"\" | net/http\",2,ping,50,1234.50,,2.062,18517,,"
                        "0.000000,0.000000,0.00,0.00,0.000,0.000000,0.000000");
    text_add_char(&text, '\n');
    assert_int_equal(read_first(text.data, &reader, &read, &err), 1);
    assert_string_equal(read.server, line.server);
    assert_true(isnan(read.latency_p50_ms) && isnan(read.errors) && read.requests_per_s == 1234.5);
    assert_true(read.responses_2xx == 18517 && read.round == 2);
    assert_int_equal(csv_next(&reader, &read, &err), 0);
    csv_close(&reader);
    text_free(&text);
}

static void writer_refuses_the_impossible(void **state)
{
    struct csv_line line = {.utc = "2026-11-30T12:34:56Z", .server = "A", .round = 1, .test = "ping", .connections = 1};
    struct text text = {0};
    struct err err = {0};

    (void)state;
    line.cpu_postgres_s = -0.5;
    assert_int_equal(csv_format_line(&line, &text, &err), -1);
    line.cpu_postgres_s = INFINITY;
    assert_int_equal(csv_format_line(&line, &text, &err), -1);
    line.cpu_postgres_s = 0;
    line.server = "a\nb";
    assert_int_equal(csv_format_line(&line, &text, &err), -1);
    text_free(&text);
}

static void reading_goes_on_behind_a_fault(void **state)
{
    char *bad = form("A", "x", "50", "1", "0", "0");
    char *good = form("A", "3", "50", "1", "0", "-0.5");
    char *both = text_format("%s%s", bad, good);
    struct csv_reader reader;
    struct csv_line line;
    struct err err = {0};

    (void)state;
    assert_int_equal(read_first(both, &reader, &line, &err), -1);
    assert_int_equal(csv_next(&reader, &line, &err), 1);
    assert_int_equal(line.round, 3);
    assert_true(line.cpu_postgres_s == -0.5);
    csv_close(&reader);
    free(bad);
    free(good);
    free(both);
}

static void medians(void **state)
{
    double odd[] = {5, 1, 4, 2, 3};
    double even[] = {9, 1, 4, 2};
    double many[1001];
    double scratch[1001];
    double gap[] = {NAN, 3, NAN, 1};
    struct stats_spread spread = stats_spread(gap, 4, scratch);

    (void)state;
    assert_true(stats_median(odd, 5) == 3);
    assert_true(stats_median(even, 4) == 3);
    assert_true(isnan(stats_median(odd, 0)));
    assert_true(spread.count == 2 && spread.median == 2 && spread.min == 1 && spread.max == 3);
    for (int shape = 0; shape < 3; shape++) {
        for (int i = 0; i < 1001; i++)
            many[i] = shape == 0 ? i : shape == 1 ? 1000 - i : i * 7919 % 1001;
        assert_true(stats_median(many, 1001) == 500);
        assert_true(stats_distinct(many, 1001) == 1001);
    }
}

static void rank_correlation(void **state)
{
    const double a[] = {1, 2, 3, 4};
    const double b[] = {10, 20, 30, 40};
    const double c[] = {4, 3, 2, 1};
    const double tied[] = {1, 2, 2, 4};
    double ranks[4];

    (void)state;
    assert_true(stats_spearman(a, b, 4) == 1 && stats_spearman(a, c, 4) == -1);
    assert_true(isnan(stats_spearman(a, b, 2)));
    stats_ranks(tied, 4, ranks);
    assert_true(ranks[0] == 1 && ranks[1] == 2.5 && ranks[2] == 2.5 && ranks[3] == 4);
}

static int make_path(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd >= 0 ? close(fd) : -1;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_plain_decimals),
        cmocka_unit_test(keys_are_whole_numbers),
        cmocka_unit_test(titles_are_text),
        cmocka_unit_test(lines_are_whole),
        cmocka_unit_test(headers_are_exact),
        cmocka_unit_test(second_header_is_named),
        cmocka_unit_test(unknown_is_empty_both_ways),
        cmocka_unit_test(writer_refuses_the_impossible),
        cmocka_unit_test(reading_goes_on_behind_a_fault),
        cmocka_unit_test(medians),
        cmocka_unit_test(rank_correlation),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
