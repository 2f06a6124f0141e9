/* Our own generator: `restbench load -o json`, whose output is its own format (harness/schema/load.schema.json). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"
#include "tools/drivers.h"

/* A token must not stand in an argv that everybody can read: headers go through a file. */
static int write_headers(const struct tool_job *job, char **path, struct err *err)
{
    struct text lines = {0};
    int result;

    *path = NULL;
    if (job->headers == NULL || job->headers[0] == NULL)
        return 0;
    for (const char *const *header = job->headers; *header != NULL; header++)
        text_addf(&lines, "%s\n", *header);
    *path = fsx_join(job->work_dir, "headers");
    result = fsx_write_atomic(*path, lines.data, lines.len, 0600, err);
    text_free(&lines);
    return result;
}

static int make_argv(const struct tool_job *job, char ***argv, struct err *err)
{
    struct words words = {0};
    char *headers;

    if (write_headers(job, &headers, err) != 0) {
        free(headers);
        return -1;
    }
    words_add(&words, "/proc/self/exe");
    words_add(&words, "load");
    words_pair(&words, "-o", text_dup("json"));
    words_pair(&words, "-p", text_dup("r"));
    words_pair(&words, "-c", text_format("%lld", (long long)job->connections));
    words_pair(&words, "-d", words_decimal(job->seconds, 3, "s"));
    words_pair(&words, "-t", text_format("%lldms", (long long)(job->timeout_ns / CLOCK_NS_PER_MS)));
    words_pair(&words, "--threads", text_format("%d", job->threads));
    words_pair(&words, "-m", text_dup(job->method));
    if (job->rate_per_s > 0)
        words_pair(&words, "-r", words_decimal(job->rate_per_s, 3, ""));
    if (headers != NULL)
        words_pair(&words, "--headers", headers);
    if (job->ring_path != NULL)
        words_pair(&words, "--requests", text_dup(job->ring_path));
    if (job->body_path != NULL)
        words_pair(&words, "-f", text_dup(job->body_path));
    if (job->expect_path != NULL) {
        words_pair(&words, "--expect", text_dup(job->expect_path));
        words_pair(&words, "--expect-every", text_format("%lld", (long long)job->expect_every));
    }
    if (job->events_fd >= 0)
        words_pair(&words, "--events", text_format("%d", job->events_fd));
    if (job->wait)
        words_add(&words, "--wait");
    words_add(&words, "%s", job->url);
    *argv = words.items;
    return 0;
}

/* Whole seconds only: the last entry may be a part of one. */
static void read_seconds(const json_t *restbench, struct tool_result *result)
{
    const json_t *seconds = json_object_get(restbench, "per_second");
    size_t whole = (size_t)floor(result->window_s + 0.001);
    size_t count = json_array_size(seconds);

    count = count < whole ? count : whole;
    result->per_second = text_realloc(NULL, count + 1, sizeof *result->per_second);
    for (size_t i = 0; i < count; i++)
        result->per_second[i] = json_get_number(json_array_get(seconds, i), "ok");
    result->per_second_count = count;
}

/* What the report is kept for needs neither the run's token nor where its work folder was. */
static void hide_places(const json_t *report)
{
    json_t *spec = json_object_get(report, "spec");
    const json_t *headers = json_object_get(spec, "headers");
    const char *body = json_get_string(spec, "bodyFilePath");
    size_t i;
    json_t *header;

    if (body != NULL)
        json_put(spec, "bodyFilePath", json_string(fsx_basename(body)));

    json_array_foreach (headers, i, header) {
        const char *key = json_get_string(header, "key");

        if (key != NULL && strcasecmp(key, "authorization") == 0)
            json_put(header, "value", json_string("(hidden)"));
    }
}

static int parse(const struct tool_job *job, const char *output, size_t len, struct tool_result *result,
                 struct err *err)
{
    static const char *const lost[] = {"timeout", "closed", "truncated", "malformed"};
    static const char *const kinds[] = {"connect", "timeout", "closed", "truncated", "malformed", "status", "mismatch"};
    static const char ready[] = "ready\n";
    size_t skip =
        job->wait && len >= sizeof ready - 1 && memcmp(output, ready, sizeof ready - 1) == 0 ? sizeof ready - 1 : 0;
    json_error_t error;
    json_t *report = json_loadb(output + skip, len - skip, JSON_REJECT_DUPLICATES, &error);
    const json_t *measured = json_object_get(report, "result");
    const json_t *restbench = json_object_get(report, "restbench");
    const json_t *errors = json_object_get(restbench, "errors");
    const json_t *latency = json_object_get(restbench, "latency_us");

    if (report == NULL || measured == NULL || restbench == NULL) {
        json_decref(report);
        if (report == NULL)
            json_error_clean(&error);
        return err_fail(err, "its output is not the JSON of restbench load (%s)", report == NULL ? error.text : "keys");
    }
    hide_places(report);
    result->report = report;
    result->window_s = json_get_number(measured, "timeTakenSeconds");
    result->responses_2xx = json_get_number(restbench, "ok");
    result->started = json_get_number(restbench, "started");
    result->drained_2xx = json_get_number(restbench, "drained_ok");
    result->mismatches = json_get_number(errors, "mismatch");
    result->errors = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        result->errors += json_get_number(errors, kinds[i]);
    result->unanswered = json_get_number(restbench, "in_flight") - result->drained_2xx;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        result->unanswered += json_get_number(errors, lost[i]);
    result->requests_per_s = result->responses_2xx / result->window_s;
    result->p50_ms = json_get_number(latency, "p50") / 1000;
    result->p99_ms = json_get_number(latency, "p99") / 1000;
    result->mean_ms = json_get_number(latency, "mean") / 1000;
    result->max_ms = json_get_number(latency, "max") / 1000;
    result->per_connection_min = json_get_number(json_object_get(restbench, "per_connection"), "min");
    result->per_connection_mean = result->responses_2xx / (double)job->connections;
    if (!(result->window_s > 0) || isnan(result->responses_2xx) || isnan(result->errors))
        return err_fail(err, "its output lacks timeTakenSeconds, ok or errors");
    read_seconds(restbench, result);
    return 0;
}

static const char *const version_argv[] = {"/proc/self/exe", "--version", NULL};

const struct tool tool_restbench = {
    .name = "restbench",
    .has_events = true,
    .has_ring = true,
    .allows_status_1 = true,
    .version_argv = version_argv,
    .version_pattern = "restbench (\\S+)",
    .make_argv = make_argv,
    .parse = parse,
};
