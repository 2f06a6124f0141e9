#include "unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "tools/drivers.h"
#include "tools/wrk_unfill.h"

/*
 * Besides the tests, for scripts that run the real tools (cases/tools/capture, cli/tools.t):
 *     test_tools argv TOOL CONNECTIONS SECONDS TIMEOUT_MS URL [BODY]      the argument list, one a line
 *     test_tools parse TOOL CONNECTIONS SECONDS TIMEOUT_MS FILE           the result as JSON
 */

#define CASES "harness/tests/cases/tools"

static struct tool_job make_job(double connections, double seconds, double timeout_ms)
{
    return (struct tool_job){.url = "http://127.0.0.1:8085?a=b#c",
                             .method = "GET",
                             .connections = (int64_t)connections,
                             .seconds = seconds,
                             .timeout_ns = (int64_t)(timeout_ms * CLOCK_NS_PER_MS),
                             .threads = 1,
                             .events_fd = -1};
}

static json_t *result_json(const struct tool_result *result)
{
    json_t *object = json_object();

    json_put(object, "ok", json_number(result->responses_2xx, 0));
    json_put(object, "errors", json_number(result->errors, 0));
    json_put(object, "started", json_number(result->started, 0));
    json_put(object, "unanswered", json_number(result->unanswered, 0));
    json_put(object, "window_s", json_number(result->window_s, 6));
    json_put(object, "requests_per_s", json_number(result->requests_per_s, 2));
    json_put(object, "p50_ms", json_number(result->p50_ms, 3));
    json_put(object, "p99_ms", json_number(result->p99_ms, 3));
    json_put(object, "mean_ms", json_number(result->mean_ms, 3));
    json_put(object, "max_ms", json_number(result->max_ms, 3));
    json_put(object, "notes", json_incref(result->notes));
    return object;
}

static bool near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-3 + 1e-5 * fabs(b);
}

/* Every value that the case names, with null for unknown, and every note in its order by its beginning. */
static void compare_result(const char *name, const json_t *got, const json_t *want)
{
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach ((json_t *)want, key, value) {
        if (strcmp(key, "notes") != 0 && !near(json_get_number(got, key), json_get_number(want, key)))
            fail_msg("%s: %s is %f, not %f", name, key, json_get_number(got, key), json_get_number(want, key));
    }
    want = json_object_get(want, "notes");
    got = json_object_get(got, "notes");
    if (json_array_size(got) != json_array_size(want))
        fail_msg("%s: %zu notes, not %zu: %s", name, json_array_size(got), json_array_size(want), json_line(got));
    json_array_foreach (want, i, value) {
        const char *text = json_string_value(json_array_get(got, i)), *begin = json_string_value(value);

        if (strncmp(text, begin, strlen(begin)) != 0)
            fail_msg("%s: note \"%s\", not \"%s\"", name, text, begin);
    }
}

static void check_case(const struct json_doc *doc, const char *name, const json_t *one)
{
    char *path = text_format(CASES "/%s", name), *output;
    size_t len, end = strcspn(name, "-");
    char *tool_name = text_dup_n(name, end);
    struct tool_job job = make_job(json_get_number(one, "connections"), json_get_number(one, "seconds"),
                                   json_get_number(one, "timeout_ms"));
    struct err err = {0};
    const struct tool *tool = tool_find(tool_name, &err);
    struct tool_result result;
    const char *failure = json_get_string(one, "fails");
    json_t *got;

    (void)doc;
    assert_non_null(tool);
    if (fsx_read(path, 1 << 24, &output, &len, &err) != 0)
        fail_msg("%s", err.text);
    tool_result_init(&result);
    if (tool->parse(&job, output, len, &result, &err) != 0) {
        if (failure == NULL || strstr(err.text, failure) == NULL)
            fail_msg("%s: %s", name, err.text);
    } else {
        if (failure != NULL)
            fail_msg("%s: parsed, though it is no result", name);
        got = result_json(&result);
        compare_result(name, got, json_object_get(one, "expect"));
        json_decref(got);
    }
    tool_result_free(&result);
    free(output);
    free(path);
    free(tool_name);
}

static void captured_outputs(void **state)
{
    struct json_doc doc;
    struct err err = {0};
    const char *name;
    json_t *one;

    (void)state;
    if (json_doc_load(CASES "/cases.json", &doc, &err) != 0)
        fail_msg("%s", err.text);
    assert_true(json_object_size(doc.root) >= 15);
    json_object_foreach (doc.root, name, one)
        check_case(&doc, name, one);
    json_doc_free(&doc);
}

/* The same with a decimal comma; the runner makes the locale. */
static void captured_outputs_in_another_locale(void **state)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        fail_msg("the locale de_DE.UTF-8 is missing (LOCPATH)");
    captured_outputs(state);
    setlocale(LC_ALL, "C");
}

/* Whatever a tool prints: a result that makes sense or an error with a sentence, never a crash. */
static void parse_anything(const struct tool *tool, const char *output, size_t len)
{
    struct tool_job job = make_job(4, 1, 500);
    struct tool_result result;
    struct err err = {0};
    char *copy = text_dup_n(output, len); /* its end is where a sanitizer sees it */

    tool_result_init(&result);
    if (tool->parse(&job, copy, len, &result, &err) != 0)
        assert_true(err.text[0] != '\0');
    else
        assert_true(result.responses_2xx >= 0 && result.window_s > 0 && !(result.errors < 0));
    tool_result_free(&result);
    free(copy);
}

static void no_result_is_an_error(void **state)
{
    static const char *const outputs[] = {
        "",
        "\n",
        " ",
        "null",
        "[]",
        "{}",
        "\"x\"",
        "{\"result\":{}}",
        "{\"result\":null,\"restbench\":7}",
        "{\"summary\":{\"total\":1}}",
        "{\"summary\":{\"total\":0},\"statusCodeDistribution\":{},\"errorDistribution\":{}}",
        "{\"summary\":{\"total\":1},\"statusCodeDistribution\":{\"200\":-1},\"errorDistribution\":{}}",
        "{\"summary\":{\"total\":1},\"statusCodeDistribution\":{\"200\":\"5\"},\"errorDistribution\":{}}",
        "restbench-wrk ",
        "restbench-wrk {}\n",
        "restbench-wrk {\"duration_us\":1}\n",
        "{\"result\":{\"timeTakenSeconds\":-1,\"req1xx\":0,\"req2xx\":1,\"req3xx\":0,\"req4xx\":0,\"req5xx\":0,"
        "\"others\":0}}",
        "{\"result\":{\"timeTakenSeconds\":1,\"req1xx\":0,\"req2xx\":0,\"req3xx\":0,\"req4xx\":0,\"req5xx\":0,"
        "\"others\":0}}",
        "requests: x total\nstatus codes: 1 2xx, 0 3xx, 0 4xx, 0 5xx\n",
        "\xff\xfe\x00\x01",
        "{\"result\":{\"timeTakenSeconds\":1e999}}",
        "command not found\n"};

    (void)state;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        for (const char *const *name = (const char *const[]){"restbench", "bombardier", "wrk", "oha", "h2load", NULL};
             *name != NULL; name++) {
            struct err err = {0};
            const struct tool *tool = tool_find(*name, &err);
            struct tool_job job = make_job(4, 1, 500);
            struct tool_result result;

            tool_result_init(&result);
            if (tool->parse(&job, outputs[i], strlen(outputs[i]), &result, &err) == 0)
                fail_msg("%s takes \"%s\" for a result", *name, outputs[i]);
            assert_true(err.text[0] != '\0');
            assert_int_equal(err.kind, ERR_FAILED);
            tool_result_free(&result);
        }
    }
}

/* Every captured output cut at many places, and with single bytes changed. */
static void broken_outputs(void **state)
{
    struct json_doc doc;
    struct err err = {0};
    const char *name;
    json_t *one;

    (void)state;
    assert_int_equal(json_doc_load(CASES "/cases.json", &doc, &err), 0);
    json_object_foreach (doc.root, name, one) {
        char *path = text_format(CASES "/%s", name), *tool_name = text_dup_n(name, strcspn(name, "-")), *output;
        const struct tool *tool = tool_find(tool_name, &err);
        size_t len, step;

        assert_int_equal(fsx_read(path, 1 << 24, &output, &len, &err), 0);
        step = len / 61 + 1;
        for (size_t cut = 0; cut < len; cut += step) {
            char saved = output[cut];

            parse_anything(tool, output, cut);
            output[cut] = '9';
            parse_anything(tool, output, len);
            output[cut] = '\0';
            parse_anything(tool, output, len);
            output[cut] = saved;
        }
        free(output);
        free(path);
        free(tool_name);
    }
    json_doc_free(&doc);
}

/* Fills as wrk does, upwards, and takes it out again. */
static void wrk_samples_are_taken_out(void **state)
{
    enum { SIZE = 5000 };
    static uint64_t real[SIZE], counts[SIZE];
    struct drivers_latency l = DRIVERS_NO_LATENCY;
    const uint64_t interval = 37;

    (void)state;
    srandom(7);
    for (int i = 0; i < 500; i++)
        real[20 + random() % 60]++;
    real[700] = 3;
    real[701] = 1;
    real[4999] = 1;
    memcpy(counts, real, sizeof real);
    for (size_t n = 2 * interval; n < SIZE; n++)
        for (size_t m = n - interval; counts[n] > 0 && m > interval; m -= interval)
            counts[m] += counts[n];
    assert_memory_not_equal(counts, real, sizeof real);
    assert_int_equal(wrk_unfill(counts, SIZE, interval), 0);
    assert_memory_equal(counts, real, sizeof real);
    assert_int_equal(wrk_unfill_latency(counts, SIZE, &l), 505);
    assert_true(l.max == 4999 && l.p99_99 == 4999 && l.p99 < 702 && l.p50 < 80 && l.min >= 20);
    /* What was not filled like that is told, not guessed at. */
    real[4999] = 2;
    assert_int_equal(wrk_unfill(real, SIZE, interval), -1);
    assert_int_equal(wrk_unfill(real, SIZE, 0), -1);
}

static void percentiles_are_by_nearest_rank(void **state)
{
    static uint64_t counts[2000];
    struct drivers_latency l = DRIVERS_NO_LATENCY;

    (void)state;
    assert_int_equal(wrk_unfill_latency(counts, 2000, &l), 0);
    assert_true(isnan(l.min) && isnan(l.p50) && isnan(l.max));
    for (size_t us = 1; us <= 1000; us++)
        counts[us] = 1;
    assert_int_equal(wrk_unfill_latency(counts, 2000, &l), 1000);
    assert_true(l.min == 1 && l.p50 == 500 && l.p90 == 900 && l.p99 == 990 && l.p99_9 == 999 && l.p99_99 == 1000);
    assert_true(l.mean == 500.5);
}

static void expect_argv(const char *name, const struct tool_job *job, const char *want)
{
    struct err err = {0};
    const struct tool *tool = tool_find(name, &err);
    struct text line = {0};
    char **argv;

    if (tool->make_argv(job, &argv, &err) != 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; argv[i] != NULL; i++) {
        bool script = strstr(argv[i], ".lua") != NULL;

        text_addf(&line, "%s%s", i > 0 ? " | " : "", script ? "SCRIPT" : argv[i]);
        if (script)
            unlink(argv[i]);
        free(argv[i]);
    }
    free(argv);
    assert_string_equal(text_string(&line), want);
    text_free(&line);
}

static void arguments(void **state)
{
    static const char *const headers[] = {"a:1", "Host:  one.example ", NULL};
    struct tool_job job = make_job(6, 1.5, 2500);
    struct err err = {0};
    char **argv;

    (void)state;
    job.headers = headers;
    job.body_path = "/b";
    job.method = "POST";
    job.threads = 4;
    job.work_dir = "/tmp";
    expect_argv("bombardier", &job,
                "bombardier | -c | 6 | -d | 1.500s | -t | 2500ms | -m | POST | -f | /b | -H | a: 1 | -H | "
                "Host: one.example | -l | -o | json | -p | r | http://127.0.0.1:8085/?a=b");
    /* Six connections over four threads would be four: three threads. Whole seconds, rounded up. */
    expect_argv("wrk", &job,
                "wrk | -t | 3 | -c | 6 | -d | 2s | --timeout | 3s | -s | SCRIPT | http://127.0.0.1:8085/?a=b");
    expect_argv("h2load", &job,
                "h2load | --h1 | -c | 6 | -t | 4 | -D | 1500ms | -H | :method: POST | -d | /b | -H | a: 1 | -H | "
                ":authority: one.example | http://127.0.0.1:8085/?a=b");
    expect_argv("h2load-http2", &job,
                "h2load | -c | 6 | -t | 4 | -D | 1500ms | -H | :method: POST | -d | /b | -H | a: 1 | -H | "
                ":authority: one.example | http://127.0.0.1:8085/?a=b");
    expect_argv(
        "oha", &job,
        "oha | --no-tui | --disable-compression | --output-format | json | --worker-threads | 4 | -c | 6 | -z | "
        "1500ms | -t | 2500ms | --connect-timeout | 2500ms | -m | POST | -D | /b | -H | a: 1 | -H | "
        "Host: one.example | http://127.0.0.1:8085/?a=b");
    job.seconds = 0.1; /* which bombardier refuses */
    expect_argv("bombardier", &job,
                "bombardier | -c | 6 | -d | 1.000s | -t | 2500ms | -m | POST | -f | /b | -H | a: 1 | -H | "
                "Host: one.example | -l | -o | json | -p | r | http://127.0.0.1:8085/?a=b");
    job.rate_per_s = 12.5;
    assert_int_equal(tool_find("wrk", &err)->make_argv(&job, &argv, &err), -1);
    assert_int_equal(tool_find("h2load", &err)->make_argv(&job, &argv, &err), -1);
    assert_int_equal(tool_find("bombardier", &err)->make_argv(&job, &argv, &err), -1);
    assert_null(tool_find("ab", &err));
}

static int print_argv(const struct tool *tool, struct tool_job *job)
{
    struct err err = {0};
    char **argv;

    if (tool->make_argv(job, &argv, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    for (size_t i = 0; argv[i] != NULL; i++)
        puts(argv[i]);
    return 0;
}

static int print_result(const struct tool *tool, const struct tool_job *job, const char *path)
{
    struct tool_result result;
    struct err err = {0};
    char *output;
    size_t len;

    tool_result_init(&result);
    if (fsx_read(path, 1 << 24, &output, &len, &err) != 0 || tool->parse(job, output, len, &result, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    puts(json_pretty(result_json(&result)));
    return 0;
}

/* The small command of scripts; see above. */
static int command(int argc, char **argv)
{
    struct tool_job job = make_job(atoi(argv[3]), (double)atoi(argv[4]), (double)atoi(argv[5]));
    struct err err = {0};
    const struct tool *tool = tool_find(argv[2], &err);

    if (tool == NULL) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    if (strcmp(argv[1], "parse") == 0)
        return print_result(tool, &job, argv[6]);
    job.url = argv[6];
    job.work_dir = getenv("TMPDIR");
    if (argc > 7) {
        job.body_path = argv[7];
        job.method = "POST";
    }
    return print_argv(tool, &job);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_outputs),
        cmocka_unit_test(captured_outputs_in_another_locale),
        cmocka_unit_test(no_result_is_an_error),
        cmocka_unit_test(broken_outputs),
        cmocka_unit_test(wrk_samples_are_taken_out),
        cmocka_unit_test(percentiles_are_by_nearest_rank),
        cmocka_unit_test(arguments),
    };

    if (argc > 6)
        return command(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
