#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "base/text.h"
#include "tools/drivers.h"

/*
 * h2load 1.52 (nghttp2). No percentiles; its latencies are of every answer; a connection that the server closes is
 * neither opened again (HTTP/1.1) nor told; there is no timeout of a request. It ends with exit 0 when nobody listens.
 *
 * Two drivers: one speaks HTTP/1.1 as all the others, one HTTP/2 (without TLS at once, RFC 9113 section 3.3), with one
 * request at a time on a connection. With https both take what the server chooses.
 */

/* A Host of the job's would be sent beside h2load's own, which is called ":authority". */
static int add_headers(struct words *words, const struct tool_job *job, struct err *err)
{
    for (const char *const *header = job->headers; header != NULL && *header != NULL; header++) {
        char *name, *value;

        if (drivers_header(*header, &name, &value, err) != 0)
            return -1;
        words_pair(words, "-H", text_format("%s: %s", strcasecmp(name, "host") == 0 ? ":authority" : name, value));
        free(name);
        free(value);
    }
    return 0;
}

static int make_command(const struct tool_job *job, bool http2, char ***argv, struct err *err)
{
    struct words words = {0};
    long long threads = job->threads < job->connections ? job->threads : job->connections;
    char *url;

    if (job->rate_per_s > 0)
        return err_set(err, "h2load has no rate of requests");
    words_add(&words, "h2load");
    if (!http2 && strncasecmp(job->url, "https:", 6) != 0)
        words_add(&words, "--h1");
    words_pair(&words, "-c", text_format("%lld", (long long)job->connections));
    words_pair(&words, "-t", text_format("%lld", threads));
    words_pair(&words, "-D", text_format("%.0fms", ceil(job->seconds * 1000)));
    words_pair(&words, "-H", text_format(":method: %s", job->method));
    if (job->body_path != NULL)
        words_pair(&words, "-d", text_dup(job->body_path));
    if (add_headers(&words, job, err) != 0) {
        words_free(&words);
        return -1;
    }
    url = drivers_url(job->url);
    words_add(&words, "%s", url);
    free(url);
    *argv = words.items;
    return 0;
}

static int make_argv(const struct tool_job *job, char ***argv, struct err *err)
{
    return make_command(job, false, argv, err);
}

static int make_http2_argv(const struct tool_job *job, char ***argv, struct err *err)
{
    return make_command(job, true, argv, err);
}

/* The one group of `expression` as a number; NaN when the text has none. */
static double find_number(const char *output, size_t len, const char *expression)
{
    struct err err = {0};
    struct pattern *pattern = pattern_open_search("h2load", expression, &err);
    char *text = pattern != NULL ? pattern_find(pattern, output, len) : NULL;
    double value = NAN;

    if (text != NULL && text_parse_double(text, &value) != 0)
        value = NAN;
    free(text);
    pattern_close(pattern);
    return value;
}

/* "22us", "6.31ms", "1.20s" as microseconds. */
static double parse_time(const char *text)
{
    static const struct {
        const char *unit;
        double us;
    } units[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"m", 60e6}, {"h", 3600e6}};
    size_t digits = strspn(text, "0123456789.");
    double value;

    if (text_parse_double_n(text, digits, &value) != 0)
        return NAN;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text + digits, units[i].unit) == 0)
            return value * units[i].us;
    return NAN;
}

/* The column of the line "time for request:"; columns are min, max, mean, sd. */
static double find_latency(const char *output, size_t len, int column)
{
    struct err err = {0};
    char *expression = text_format("(?m)^time for request:(?:\\s+[0-9.]+[a-z]+){%d}\\s+([0-9.]+[a-z]+)", column);
    struct pattern *pattern = pattern_open_search("h2load", expression, &err);
    char *text = pattern != NULL ? pattern_find(pattern, output, len) : NULL;
    double us = text != NULL ? parse_time(text) : NAN;

    free(text);
    pattern_close(pattern);
    free(expression);
    return us;
}

static void read_latency(const char *output, size_t len, struct tool_result *result)
{
    struct drivers_latency l = DRIVERS_NO_LATENCY;

    if (result->responses_2xx > 0) { /* else h2load prints zeros */
        l.min = find_latency(output, len, 0);
        l.max = find_latency(output, len, 1);
        l.mean = find_latency(output, len, 2);
        l.stddev = find_latency(output, len, 3);
    }
    drivers_latency(result, &l);
}

static int parse(const struct tool_job *job, const char *output, size_t len, struct tool_result *result,
                 struct err *err)
{
    static const char *const names[] = {"2xx", "3xx", "4xx", "5xx"};
    double done = find_number(output, len, "(?m)^requests:.* (\\d+) done");
    double errored = find_number(output, len, "(?m)^requests:.* (\\d+) errored");
    double ok = find_number(output, len, "(?m)^status codes:.* (\\d+) 2xx"), answers = 0;
    json_t *responses = json_object();

    result->report = json_object();
    json_put(result->report, "responses", responses);
    result->started = find_number(output, len, "(?m)^requests:.* (\\d+) started");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *expression = text_format("(?m)^status codes:.* (\\d+) %s", names[i]);
        double count = find_number(output, len, expression);

        json_put(responses, names[i], json_number(count, 0));
        answers += count;
        free(expression);
    }
    if (isnan(answers) || isnan(done) || isnan(errored) || isnan(result->started))
        return err_fail(err, "its output holds no result");
    /* The window is what was asked for: the printed time has two decimals and the stop in it. */
    if (drivers_rate(result, ok, job->seconds, err) != 0)
        return -1;
    result->errors = answers - ok + errored;
    result->unanswered = result->started - answers;
    json_put(result->report, "started", json_number(result->started, 0));
    json_put(result->report, "errored", json_number(errored, 0));
    json_put(result->report, "bytes_read",
             json_number(find_number(output, len, "(?m)^traffic: \\S+ \\((\\d+)\\) total"), 0));
    read_latency(output, len, result);
    if (answers > ok) {
        drivers_corrected(result, "h2load's rate counts every answer; here it is of 2xx answers");
        drivers_doubtful(result, "h2load's latencies include answers other than 2xx");
    }
    if (done == 0)
        drivers_doubtful(result, "h2load got no answer; it does not tell refused or lost connections");
    else if (result->started - done < (double)job->connections)
        drivers_doubtful(result, "h2load lost connections, which it does not open again");
    return 0;
}

static const char *const version_argv[] = {"h2load", "--version", NULL};

const struct tool tool_h2load = {
    .name = "h2load",
    .program = "h2load",
    .version_argv = version_argv,
    .version_pattern = "nghttp2/(\\d\\S*)",
    .make_argv = make_argv,
    .parse = parse,
};

const struct tool tool_h2load_http2 = {
    .name = "h2load-http2",
    .program = "h2load",
    .version_argv = version_argv,
    .version_pattern = "nghttp2/(\\d\\S*)",
    .make_argv = make_http2_argv,
    .parse = parse,
};
