#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "tools/drivers.h"

/*
 * oha 1.16. Its rate counts every request, failed ones too; what it breaks off at the end of the window is listed as
 * an error; its latencies are of every answer. Times are in seconds.
 */

#define OHA_BROKEN_OFF "aborted due to deadline"

static int make_argv(const struct tool_job *job, char ***argv, struct err *err)
{
    struct words words = {0};
    char *url;

    words_add(&words, "oha");
    words_add(&words, "--no-tui");
    words_add(&words, "--disable-compression"); /* else it asks for another answer than the others do */
    words_pair(&words, "--output-format", text_dup("json"));
    words_pair(&words, "--worker-threads", text_format("%d", job->threads));
    words_pair(&words, "-c", text_format("%lld", (long long)job->connections));
    words_pair(&words, "-z", text_format("%.0fms", job->seconds * 1000));
    words_pair(&words, "-t", text_format("%lldms", (long long)(job->timeout_ns / CLOCK_NS_PER_MS)));
    words_pair(&words, "--connect-timeout", text_format("%lldms", (long long)(job->timeout_ns / CLOCK_NS_PER_MS)));
    words_pair(&words, "-m", text_dup(job->method));
    if (job->body_path != NULL)
        words_pair(&words, "-D", text_dup(job->body_path));
    if (job->rate_per_s > 0) {
        words_pair(&words, "-q", words_decimal(job->rate_per_s, job->rate_per_s == floor(job->rate_per_s) ? 0 : 3, ""));
        words_add(&words, "--latency-correction"); /* from the intended start, as everywhere here */
    }
    if (words_headers(&words, job, "-H", err) != 0) {
        words_free(&words);
        return -1;
    }
    url = drivers_url(job->url);
    words_add(&words, "%s", url);
    free(url);
    *argv = words.items;
    return 0;
}

static void read_latency(const json_t *report, struct tool_result *result)
{
    const json_t *percentiles = json_object_get(report, "latencyPercentiles");
    const json_t *summary = json_object_get(report, "summary");
    struct drivers_latency l = DRIVERS_NO_LATENCY;

    if (result->responses_2xx > 0) { /* else they are of other answers alone */
        l.min = json_get_number(summary, "fastest") * 1e6;
        l.mean = json_get_number(summary, "average") * 1e6;
        l.p50 = json_get_number(percentiles, "p50") * 1e6;
        l.p75 = json_get_number(percentiles, "p75") * 1e6;
        l.p90 = json_get_number(percentiles, "p90") * 1e6;
        l.p95 = json_get_number(percentiles, "p95") * 1e6;
        l.p99 = json_get_number(percentiles, "p99") * 1e6;
        l.p99_9 = json_get_number(percentiles, "p99.9") * 1e6;
        l.p99_99 = json_get_number(percentiles, "p99.99") * 1e6;
        l.max = json_get_number(summary, "slowest") * 1e6;
    }
    drivers_latency(result, &l);
}

/* Sums an object of counts; those under keys that begin with `prefix` also go to `*part`. */
static int add_counts(json_t *object, const char *prefix, double *sum, double *part, struct err *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return err_fail(err, "its result lacks the distribution of status codes or of errors");
    json_object_foreach (object, key, value) {
        double count;

        if (drivers_number(object, key, &count, err) != 0)
            return -1;
        *sum += count;
        if (strncmp(key, prefix, strlen(prefix)) == 0)
            *part += count;
    }
    return 0;
}

static int parse(const struct tool_job *job, const char *output, size_t len, struct tool_result *result,
                 struct err *err)
{
    double answers = 0, ok = 0, failed = 0, broken_off = 0, seconds;

    (void)job;
    result->report = drivers_object(output, len, err);
    if (result->report == NULL ||
        drivers_number(json_object_get(result->report, "summary"), "total", &seconds, err) != 0 ||
        add_counts(json_object_get(result->report, "statusCodeDistribution"), "2", &answers, &ok, err) != 0 ||
        add_counts(json_object_get(result->report, "errorDistribution"), OHA_BROKEN_OFF, &failed, &broken_off, err) !=
            0 ||
        drivers_rate(result, ok, seconds, err) != 0)
        return -1;
    result->started = answers + failed;
    result->unanswered = failed;
    failed -= broken_off;
    result->errors = answers - ok + failed;
    read_latency(result->report, result);
    if (broken_off > 0)
        drivers_corrected(result, "%.0f requests that oha broke off at the end are no errors", broken_off);
    if (result->errors > 0)
        drivers_corrected(result, "oha's rate counts every request; here it is of 2xx answers");
    if (answers > ok)
        drivers_doubtful(result, "oha's latencies include answers other than 2xx");
    return 0;
}

static const char *const version_argv[] = {"oha", "--version", NULL};

const struct tool tool_oha = {
    .name = "oha",
    .program = "oha",
    .version_argv = version_argv,
    .version_pattern = "oha (\\d\\S*)",
    .make_argv = make_argv,
    .parse = parse,
};
