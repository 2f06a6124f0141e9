#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tools/drivers.h"

/*
 * bombardier 1.2.6 with its fasthttp client. It tries a request up to five times when the connection is lost or the
 * answer late and counts that once; it runs for a second at least; its latencies are of everything, failures too; its
 * rate counts every answer; and its time includes the wait for the last answers.
 */

static int make_argv(const struct tool_job *job, char ***argv, struct err *err)
{
    struct words words = {0};
    char *url;

    if (job->rate_per_s > 0 && job->rate_per_s != floor(job->rate_per_s))
        return err_set(err, "bombardier knows whole rates only");
    url = drivers_url(job->url);
    words_add(&words, "bombardier");
    words_pair(&words, "-c", text_format("%lld", (long long)job->connections));
    words_pair(&words, "-d", words_decimal(fmax(job->seconds, 1), 3, "s"));
    words_pair(&words, "-t", text_format("%lldms", (long long)(job->timeout_ns / CLOCK_NS_PER_MS)));
    words_pair(&words, "-m", text_dup(job->method));
    if (job->body_path != NULL)
        words_pair(&words, "-f", text_dup(job->body_path));
    if (job->rate_per_s > 0)
        words_pair(&words, "-r", words_decimal(job->rate_per_s, 0, ""));
    if (words_headers(&words, job, "-H", err) != 0) {
        free(url);
        words_free(&words);
        return -1;
    }
    words_add(&words, "-l"); /* else its JSON has no percentiles */
    words_pair(&words, "-o", text_dup("json"));
    words_pair(&words, "-p", text_dup("r"));
    words_add(&words, "%s", url);
    free(url);
    *argv = words.items;
    return 0;
}

/* Descriptions are Go's error texts. Lost connections stay unknown unless told: the retries hide them. */
static double read_kinds(const json_t *errors, double others, json_t *kinds)
{
    double connect = 0, timeout = 0, lost = 0, listed = 0;
    size_t i;
    json_t *one;

    json_array_foreach (errors, i, one) {
        const char *text = json_get_string(one, "description");
        double count = json_get_number(one, "count");

        if (text == NULL || !(count > 0))
            continue;
        listed += count;
        if (strstr(text, "timeout") != NULL)
            timeout += count;
        else if (strncmp(text, "dial", 4) == 0)
            connect += count;
        else if (strstr(text, "connection") != NULL || strstr(text, "EOF") != NULL)
            lost += count;
    }
    json_put(kinds, "connect", json_number(connect, 0));
    json_put(kinds, "timeout", json_number(timeout, 0));
    json_put(kinds, "lost", json_number(lost > 0 ? lost : NAN, 0));
    json_put(kinds, "other", json_number(fmax(others, listed) - connect - timeout - lost, 0));
    return fmax(others, listed);
}

static void read_latency(const json_t *latency, struct tool_result *result)
{
    const json_t *percentiles = json_object_get(latency, "percentiles");
    struct drivers_latency l = DRIVERS_NO_LATENCY;

    if (result->responses_2xx > 0) { /* else they are of failures alone */
        l.mean = json_get_number(latency, "mean");
        l.stddev = json_get_number(latency, "stddev");
        l.p50 = json_get_number(percentiles, "50");
        l.p75 = json_get_number(percentiles, "75");
        l.p90 = json_get_number(percentiles, "90");
        l.p95 = json_get_number(percentiles, "95");
        l.p99 = json_get_number(percentiles, "99");
        l.max = json_get_number(latency, "max");
    }
    drivers_latency(result, &l);
}

static int read_result(const struct tool_job *job, const json_t *object, struct tool_result *result, struct err *err)
{
    static const char *const classes[] = {"req1xx", "req2xx", "req3xx", "req4xx", "req5xx"};
    double seconds, others, ok, answers = 0, failed;
    json_t *kinds = json_object();

    json_put(result->report, "error_kinds", kinds);
    if (drivers_number(object, "timeTakenSeconds", &seconds, err) != 0 ||
        drivers_number(object, "others", &others, err) != 0 || drivers_number(object, "req2xx", &ok, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        double count;

        if (drivers_number(object, classes[i], &count, err) != 0)
            return -1;
        answers += count;
    }
    if (drivers_rate(result, ok, seconds, err) != 0)
        return -1;
    failed = read_kinds(json_object_get(object, "errors"), others, kinds);
    result->errors = answers - ok + failed;
    if (answers + failed == 0)
        return err_fail(err, "its result holds no request at all");
    read_latency(json_object_get(object, "latency"), result);
    if (result->errors > 0) {
        drivers_corrected(result, "bombardier's rate counts every request; here it is of 2xx answers");
        drivers_doubtful(result, "bombardier's latencies include answers other than 2xx and failures");
    }
    if (failed > 0)
        drivers_doubtful(result, "bombardier may have sent a failed request five times and counted it once");
    if (job->seconds < 1)
        drivers_corrected(result, "bombardier runs for a second at least");
    else if (seconds > job->seconds * 1.02 + 0.1)
        drivers_doubtful(result, "bombardier went on for %.0f ms after the window, and its rate is over all of it",
                         (seconds - job->seconds) * 1000);
    return 0;
}

static int parse(const struct tool_job *job, const char *output, size_t len, struct tool_result *result,
                 struct err *err)
{
    result->report = drivers_object(output, len, err);
    if (result->report == NULL)
        return -1;
    return read_result(job, json_object_get(result->report, "result"), result, err);
}

static const char *const version_argv[] = {"bombardier", "--version", NULL};

const struct tool tool_bombardier = {
    .name = "bombardier",
    .program = "bombardier",
    .version_argv = version_argv,
    .version_pattern = "version v?(\\d\\S*)",
    .make_argv = make_argv,
    .parse = parse,
};
