#include <math.h>
#include <string.h>

#include "base/json.h"
#include "load/output.h"

static json_t *count(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *us(double ns)
{
    return json_number(ns / 1000, 3);
}

/* bombardier writes 10, not 10.0, and some readers want a whole number. */
static json_t *seconds(int64_t ns)
{
    return ns % 1000000000 == 0 ? json_integer(ns / 1000000000) : json_number((double)ns / 1e9, 9);
}

/* Its percentiles are whole microseconds; rounded down they stay below the maximum. */
static json_t *whole_us(double ns)
{
    return isnan(ns) ? json_null() : json_integer((json_int_t)(ns / 1000));
}

/* A string of any bytes: what is not UTF-8 is made visible. */
static json_t *string(const char *bytes, size_t len)
{
    struct text text = {0};
    json_t *value;

    if (text_is_utf8(bytes, len))
        return json_stringn(bytes, len);
    text_add_visible(&text, bytes, len);
    value = json_string(text_string(&text));
    text_free(&text);
    return value;
}

static json_t *spec(const struct load *load, const struct output_options *options)
{
    const struct load_options *given = &load->options;
    json_t *spec = json_object();
    json_t *headers = json_array();

    json_put(spec, "numberOfConnections", json_integer(given->connections));
    json_put(spec, "testType", json_string(load->plan.counted ? "number-of-requests" : "timed"));
    if (load->plan.counted)
        json_put(spec, "numberOfRequests", json_integer(given->requests));
    else
        json_put(spec, "testDurationSeconds", seconds(given->duration_ns));
    json_put(spec, "method", json_string(given->method));
    json_put(spec, "url", json_string(given->url));
    for (size_t i = 0; i < load->headers.count; i++) {
        const struct request_header *header = &load->headers.items[i];
        json_t *item = json_object();

        json_put(item, "key", json_string(header->name));
        json_put(item, "value", string(header->value, strlen(header->value)));
        (void)json_array_append_new(headers, item);
    }
    json_put(spec, "headers", headers);
    if (options->body_file != NULL)
        json_put(spec, "bodyFilePath", string(options->body_file, strlen(options->body_file)));
    else
        json_put(spec, "body", given->body != NULL ? string(given->body, given->body_len) : json_string(""));
    json_put(spec, "stream", json_false());
    json_put(spec, "timeoutSeconds", seconds(given->timeout_ns));
    if (given->rate > 0)
        json_put(spec, "rate", json_number(given->rate, 6));
    json_put(spec, "client", json_string("restbench"));
    return spec;
}

static void put_percentiles(json_t *object, const struct histogram *latency)
{
    static const int pcts[] = {50, 75, 90, 95, 99};
    json_t *percentiles = json_object();

    for (size_t i = 0; i < sizeof pcts / sizeof pcts[0]; i++) {
        char key[8];

        (void)snprintf(key, sizeof key, "%d", pcts[i]);
        json_put(percentiles, key, whole_us(histogram_percentile_ns(latency, pcts[i])));
    }
    json_put(object, "percentiles", percentiles);
}

static json_t *rates_json(const struct load_result *result)
{
    struct output_rates rates;
    json_t *rps = json_object();
    json_t *percentiles = json_object();

    output_rates(result, &rates);
    json_put(rps, "mean", json_number(rates.mean, 3));
    json_put(rps, "stddev", json_number(rates.stddev, 3));
    json_put(rps, "max", json_number(rates.max, 3));
    json_put(percentiles, "50", json_number(rates.p50, 3));
    json_put(percentiles, "75", json_number(rates.p75, 3));
    json_put(percentiles, "90", json_number(rates.p90, 3));
    json_put(percentiles, "95", json_number(rates.p95, 3));
    json_put(percentiles, "99", json_number(rates.p99, 3));
    json_put(rps, "percentiles", percentiles);
    return rps;
}

static json_t *result_json(const struct load_result *result)
{
    const struct tally *total = &result->total;
    const struct histogram *latency = &total->latency;
    json_t *object = json_object();
    json_t *errors = json_array();
    json_t *latencies = json_object();
    uint64_t others = 0;

    json_put(object, "bytesRead", count(total->bytes_read));
    json_put(object, "bytesWritten", count(total->bytes_written));
    json_put(object, "timeTakenSeconds", json_number(output_window_s(result), 6));
    json_put(object, "req1xx", count(total->classes[1]));
    json_put(object, "req2xx", count(latency->count));
    json_put(object, "req3xx", count(total->classes[3]));
    json_put(object, "req4xx", count(total->classes[4]));
    json_put(object, "req5xx", count(total->classes[5]));
    for (int i = 0; i < LOAD_ERRORS; i++) {
        json_t *error;

        if (i != LOAD_STATUS && i != LOAD_MISMATCH)
            others += total->errors[i];
        if (i == LOAD_STATUS || total->errors[i] == 0)
            continue;
        error = json_object();
        json_put(error, "description", json_string(load_error_texts[i]));
        json_put(error, "count", count(total->errors[i]));
        (void)json_array_append_new(errors, error);
    }
    json_put(object, "others", count(others));
    json_put(object, "errors", errors);
    json_put(latencies, "mean", us(histogram_mean_ns(latency)));
    json_put(latencies, "stddev", us(histogram_stddev_ns(latency)));
    json_put(latencies, "max", us(latency->count > 0 ? (double)latency->max_ns : NAN));
    put_percentiles(latencies, latency);
    json_put(object, "latency", latencies);
    json_put(object, "rps", rates_json(result));
    return object;
}

static json_t *latency_json(const struct histogram *latency)
{
    json_t *object = json_object();
    json_t *buckets = json_array();

    json_put(object, "min", us(latency->count > 0 ? (double)latency->min_ns : NAN));
    json_put(object, "p50", us(histogram_percentile_ns(latency, 50)));
    json_put(object, "p90", us(histogram_percentile_ns(latency, 90)));
    json_put(object, "p99", us(histogram_percentile_ns(latency, 99)));
    json_put(object, "p99_9", us(histogram_percentile_ns(latency, 99.9)));
    json_put(object, "p99_99", us(histogram_percentile_ns(latency, 99.99)));
    json_put(object, "max", us(latency->count > 0 ? (double)latency->max_ns : NAN));
    json_put(object, "mean", us(histogram_mean_ns(latency)));
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        json_t *bucket;

        if (latency->buckets[i] == 0)
            continue;
        bucket = json_array();
        (void)json_array_append_new(bucket, us((double)histogram_upper_ns(i)));
        (void)json_array_append_new(bucket, count(latency->buckets[i]));
        (void)json_array_append_new(buckets, bucket);
    }
    json_put(object, "histogram", buckets);
    return object;
}

static json_t *seconds_json(const struct load_result *result)
{
    json_t *seconds = json_array();

    for (size_t i = 0; i < result->second_count; i++) {
        json_t *second = json_object();

        json_put(second, "ok", count(result->seconds[i].ok));
        json_put(second, "errors", count(result->seconds[i].errors));
        json_put(second, "p50_us", json_number(result->seconds[i].p50_us, 3));
        json_put(second, "p99_us", json_number(result->seconds[i].p99_us, 3));
        (void)json_array_append_new(seconds, second);
    }
    return seconds;
}

static json_t *own_json(const struct load *load)
{
    const struct load_result *result = &load->result;
    const struct tally *total = &result->total;
    json_t *object = json_object();
    json_t *errors = json_object();
    json_t *connect = json_object();
    json_t *connections = json_object();

    json_put(object, "started", count(total->started));
    json_put(object, "ok", count(total->latency.count));
    json_put(object, "in_flight", count(result->in_flight));
    json_put(object, "oldest_in_flight_us",
             result->in_flight > 0 ? us((double)result->oldest_in_flight_ns) : json_null());
    json_put(object, "carried", count(result->carried));
    json_put(object, "drained_ok", count(result->drained_ok));
    json_put(object, "warmup_ok", count(result->warmup_ok));
    json_put(object, "reconnects", count(total->reconnects));
    json_put(object, "established", count(result->established));
    json_put(object, "missed", count(total->missed));
    json_put(object, "interim", count(total->interim));
    json_put(object, "ended_first", count(total->ended_first));
    json_put(object, "unasked", count(total->unasked));
    for (int i = 0; i < LOAD_ERRORS; i++)
        json_put(errors, load_error_names[i], count(total->errors[i]));
    json_put(object, "errors", errors);
    json_put(object, "latency_us", latency_json(&total->latency));
    json_put(object, "per_second", seconds_json(result));
    json_put(connect, "p50", us(histogram_percentile_ns(&result->connect, 50)));
    json_put(connect, "p99", us(histogram_percentile_ns(&result->connect, 99)));
    json_put(connect, "max", us(result->connect.count > 0 ? (double)result->connect.max_ns : NAN));
    json_put(object, "connect_us", connect);
    json_put(connections, "min", count(result->connection_min));
    json_put(connections, "p50", count(result->connection_p50));
    json_put(connections, "max", count(result->connection_max));
    json_put(object, "per_connection", connections);
    json_put(object, "cpu_user_s", json_number(result->cpu_user_s, 6));
    json_put(object, "cpu_kernel_s", json_number(result->cpu_kernel_s, 6));
    json_put(object, "address", json_string(load->plan.address.text));
    json_put(object, "engine", json_string(load->engine->name));
    json_put(object, "engine_reason", json_string(result->engine_reason != NULL ? result->engine_reason : ""));
    json_put(object, "threads", count(load->worker_count));
    json_put(object, "complete", json_boolean(result->complete));
    return object;
}

json_t *output_json(const struct load *load, const struct output_options *options)
{
    json_t *object = json_object();

    json_put(object, "format", json_integer(1));
    json_put(object, "spec", spec(load, options));
    json_put(object, "result", result_json(&load->result));
    json_put(object, "restbench", own_json(load));
    return object;
}
