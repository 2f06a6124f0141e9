#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/text.h"
#include "tools/drivers.h"
#include "tools/wrk_unfill.h"

/*
 * wrk 4.1.0. Its printed rate counts every answer, its latencies are of every answer and filled up (wrk_unfill.h), an
 * answer after the timeout is an answer and a timeout, one that never comes is nothing, a 3xx is no error, and a
 * remainder of connections by threads is dropped. A header given as "a:b" is left out without a word. So the request
 * is set by a script, which at the end also prints the figures as they are inside.
 */

#define WRK_MARK "restbench-wrk "
/* The longest latency for which a histogram by microseconds is laid out. */
#define WRK_LONGEST_US 120e6
/* More values than this are left out: the output must stay small. */
#define WRK_MOST_VALUES "500000"

/* Through the interface of scripts one value takes a walk over all of them; so they are read where they lie, if it is
 * as in wrk 4: number of samples, size, smallest, largest, then a count for every microsecond. */
static const char wrk_done[] =
    "local function samples(latency, out)\n"
    "  local ffi = require('ffi')\n"
    "  local stats = ffi.cast('struct { uint64_t count, limit, min, max, data[1]; } **', latency)[0]\n"
    "  if stats.min ~= latency.min or stats.max ~= latency.max or stats.max > stats.limit then return end\n"
    "  out[#out + 1] = ',\"samples\":['\n"
    "  for us = tonumber(stats.min), tonumber(stats.max) do\n"
    "    if stats.data[us] > 0 then\n"
    "      out[#out + 1] = string.format('[%d,%d]', us, tonumber(stats.data[us]))\n"
    "      out[#out + 1] = ','\n"
    "    end\n"
    "  end\n"
    "  out[#out] = ']'\n"
    "end\n"
    "function done(summary, latency, requests)\n"
    "  local e = summary.errors\n"
    "  local out = {}\n"
    "  out[1] = string.format('" WRK_MARK
    "{\"duration_us\":%d,\"requests\":%d,\"bytes\":%d,\"connect\":%d,\"read\":%d,'\n"
    "    .. '\"write\":%d,\"status\":%d,\"timeout\":%d', summary.duration, summary.requests, summary.bytes,\n"
    "    e.connect, e.read, e.write, e.status, e.timeout)\n"
    "  if #latency > 0 then\n"
    "    out[2] = string.format(',\"min\":%d,\"max\":%d,\"mean\":%d', latency.min, latency.max, latency.mean)\n"
    "    for _, p in ipairs({50, 75, 90, 95, 99, 99.9, 99.99}) do\n"
    "      out[#out + 1] = string.format(',\"p%d\":%d', p * 100, latency:percentile(p))\n"
    "    end\n"
    "    if #latency < " WRK_MOST_VALUES " then pcall(samples, latency, out) end\n"
    "  end\n"
    "  out[#out + 1] = '}\\n'\n"
    "  io.write(table.concat(out))\n"
    "end\n";

/* A Lua string of any bytes. */
static void add_lua_string(struct text *script, const char *bytes)
{
    text_add_char(script, '"');
    for (; *bytes != '\0'; bytes++)
        text_addf(script, "\\%03u", (unsigned)(unsigned char)*bytes);
    text_add_char(script, '"');
}

static int add_headers(struct text *script, const struct tool_job *job, struct err *err)
{
    for (const char *const *header = job->headers; header != NULL && *header != NULL; header++) {
        char *name, *value;

        if (drivers_header(*header, &name, &value, err) != 0)
            return -1;
        text_add(script, "wrk.headers[");
        add_lua_string(script, strcasecmp(name, "host") == 0 ? "Host" : name); /* else wrk adds its own */
        text_add(script, "] = ");
        add_lua_string(script, value);
        text_add(script, "\n");
        free(name);
        free(value);
    }
    return 0;
}

/* Where the script is; the caller's. */
static char *write_script(const struct tool_job *job, struct err *err)
{
    struct text script = {0};
    char *path = text_format("%s/wrk-XXXXXX.lua", job->work_dir != NULL ? job->work_dir : "/tmp");
    int fd = -1, status = -1;

    text_add(&script, "wrk.method = ");
    add_lua_string(&script, job->method);
    text_add(&script, "\n");
    if (job->body_path != NULL) {
        text_add(&script, "local file = assert(io.open(");
        add_lua_string(&script, job->body_path);
        text_add(&script, ", \"rb\"))\nwrk.body = file:read(\"*a\")\nfile:close()\n");
    }
    if (add_headers(&script, job, err) == 0) {
        text_add(&script, wrk_done);
        fd = mkostemps(path, 4, O_CLOEXEC);
        if (fd < 0)
            (void)err_sys(err, "cannot write wrk's script %s", path);
    }
    if (fd >= 0) {
        status = fsx_write_fd(fd, path, script.data, script.len, err);
        close(fd);
    }
    text_free(&script);
    if (status == 0)
        return path;
    free(path);
    return NULL;
}

/* wrk divides connections by threads and drops the rest: the most threads that leave none. */
static long long even_threads(const struct tool_job *job)
{
    long long threads = job->threads < job->connections ? job->threads : job->connections;

    while (job->connections % threads != 0)
        threads--;
    return threads;
}

static int make_argv(const struct tool_job *job, char ***argv, struct err *err)
{
    struct words words = {0};
    char *script, *url;

    if (job->rate_per_s > 0)
        return err_set(err, "wrk has no rate of requests");
    script = write_script(job, err);
    if (script == NULL)
        return -1;
    url = drivers_url(job->url);
    words_add(&words, "wrk");
    words_pair(&words, "-t", text_format("%lld", even_threads(job)));
    words_pair(&words, "-c", text_format("%lld", (long long)job->connections));
    words_pair(&words, "-d", text_format("%.0fs", ceil(job->seconds)));
    words_pair(&words, "--timeout", text_format("%.0fs", ceil((double)job->timeout_ns / 1e9)));
    words_pair(&words, "-s", script);
    words_add(&words, "%s", url);
    free(url);
    *argv = words.items;
    return 0;
}

/* counts[us] of the samples; NULL where there are none, or none that can be. */
static uint64_t *read_samples(const json_t *object, size_t *size)
{
    const json_t *samples = json_object_get(object, "samples");
    double max = json_get_number(object, "max");
    uint64_t *counts;
    json_t *pair;
    size_t i;

    if (!json_is_array(samples) || !(max >= 0 && max <= WRK_LONGEST_US))
        return NULL;
    *size = (size_t)max + 1;
    counts = text_alloc(*size * sizeof *counts);
    json_array_foreach (samples, i, pair) {
        json_int_t us = json_integer_value(json_array_get(pair, 0)), n = json_integer_value(json_array_get(pair, 1));

        if (us < 0 || us >= (json_int_t)*size || n < 1) {
            free(counts);
            return NULL;
        }
        counts[us] += (uint64_t)n;
    }
    return counts;
}

/* The tool's own percentiles, which hold the invented samples. */
static void filled_latency(const json_t *object, struct tool_result *result, struct drivers_latency *l)
{
    l->min = json_get_number(object, "min");
    l->mean = json_get_number(object, "mean");
    l->p50 = json_get_number(object, "p5000");
    l->p75 = json_get_number(object, "p7500");
    l->p90 = json_get_number(object, "p9000");
    l->p95 = json_get_number(object, "p9500");
    l->p99 = json_get_number(object, "p9900");
    l->p99_9 = json_get_number(object, "p9990");
    l->p99_99 = json_get_number(object, "p9999");
    l->max = json_get_number(object, "max");
    drivers_doubtful(result, "wrk's percentiles hold samples that it adds after pauses");
}

static void read_latency(const struct tool_job *job, const json_t *object, double recorded, struct tool_result *result)
{
    struct drivers_latency l = DRIVERS_NO_LATENCY;
    double per_connection = floor(json_get_number(object, "requests") / (double)job->connections);
    uint64_t interval = per_connection > 0 ? (uint64_t)(json_get_number(object, "duration_us") / per_connection) : 0;
    size_t size = 0;
    uint64_t *counts = read_samples(object, &size), filled = 0;

    for (size_t i = 0; counts != NULL && i < size; i++)
        filled += counts[i];
    if (counts == NULL)
        filled_latency(object, result, &l);
    else if ((double)filled == recorded)
        wrk_unfill_latency(counts, size, &l);
    else if (wrk_unfill(counts, size, interval) == 0 && (double)wrk_unfill_latency(counts, size, &l) == recorded)
        drivers_corrected(result, "%.0f samples that wrk had added after pauses were taken out",
                          (double)filled - recorded);
    else
        filled_latency(object, result, &l);
    free(counts);
    drivers_latency(result, &l);
}

static int read_result(const struct tool_job *job, const json_t *object, struct tool_result *result, struct err *err)
{
    double duration_us, requests, status, timeouts, connect, reads, writes, late;

    if (drivers_number(object, "duration_us", &duration_us, err) != 0 ||
        drivers_number(object, "requests", &requests, err) != 0 ||
        drivers_number(object, "status", &status, err) != 0 || drivers_number(object, "timeout", &timeouts, err) != 0 ||
        drivers_number(object, "connect", &connect, err) != 0 || drivers_number(object, "read", &reads, err) != 0 ||
        drivers_number(object, "write", &writes, err) != 0)
        return -1;
    late = fmin(timeouts, requests - status);
    if (drivers_rate(result, requests - status - late, duration_us / 1e6, err) != 0)
        return -1;
    result->errors = status + connect + reads + writes + timeouts;
    if (result->responses_2xx > 0)
        read_latency(job, object, requests - timeouts, result);
    if (status + timeouts > 0)
        drivers_corrected(result, "wrk's rate counts every answer; here it is of 2xx answers in time");
    if (status > 0)
        drivers_doubtful(result, "wrk's latencies include answers other than 2xx");
    if (status > 0 && timeouts > 0)
        drivers_doubtful(result, "wrk does not tell which late answers were other than 2xx");
    if (job->seconds != floor(job->seconds))
        drivers_corrected(result, "wrk knows whole seconds only: it ran for %.0f s", ceil(job->seconds));
    return 0;
}

static int parse(const struct tool_job *job, const char *output, size_t len, struct tool_result *result,
                 struct err *err)
{
    const char *mark = NULL, *next = output;

    while ((next = memmem(next, len - (size_t)(next - output), WRK_MARK, sizeof WRK_MARK - 1)) != NULL)
        mark = next += sizeof WRK_MARK - 1;
    if (mark == NULL)
        return err_fail(err, "it printed no result");
    result->report = drivers_object(mark, strcspn(mark, "\n"), err);
    if (result->report == NULL || read_result(job, result->report, result, err) != 0)
        return -1;
    json_object_del(result->report, "samples"); /* the percentiles are kept, not a million pairs */
    return 0;
}

static const char *const version_argv[] = {"wrk", "-v", NULL};

const struct tool tool_wrk = {
    .name = "wrk",
    .program = "wrk",
    .version_argv = version_argv,
    .version_pattern = "wrk (?:debian/)?(\\d[^ ]*)",
    .make_argv = make_argv,
    .parse = parse,
};
