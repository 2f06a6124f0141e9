#include <math.h>
#include <string.h>

#include "load/limits.h"
#include "load/output.h"

static void add_right(struct text *text, const char *value, int width)
{
    text_addf(text, "%*s", width, value);
}

static void add_rate(struct text *text, double value)
{
    struct text cell = {0};

    if (isnan(value))
        text_add(&cell, "-");
    else
        text_add_double(&cell, value, 2);
    add_right(text, text_string(&cell), 11);
    text_free(&cell);
}

static void add_time(struct text *text, double ns)
{
    struct text cell = {0};

    if (isnan(ns)) {
        text_add(&cell, "-");
    } else if (ns < 1e6) {
        text_add_double(&cell, ns / 1e3, 2);
        text_add(&cell, "us");
    } else {
        text_add_double(&cell, ns < 1e9 ? ns / 1e6 : ns / 1e9, 2);
        text_add(&cell, ns < 1e9 ? "ms" : "s");
    }
    add_right(text, text_string(&cell), 11);
    text_free(&cell);
}

static void add_throughput(struct text *text, double bytes_per_s)
{
    static const char *const units[] = {"B", "KB", "MB", "GB"};
    struct text cell = {0};
    size_t unit = 0;

    if (isnan(bytes_per_s)) {
        text_add(&cell, "-");
    } else {
        for (; bytes_per_s >= 1024 && unit < 3; unit++)
            bytes_per_s /= 1024;
        text_add_double(&cell, bytes_per_s, 2);
        text_addf(&cell, "%s/s", units[unit]);
    }
    text_addf(text, "  Throughput: %12s\n", text_string(&cell));
    text_free(&cell);
}

void output_intro(struct text *text, const struct load *load)
{
    text_addf(text, "Bombarding %s ", load->options.url);
    if (load->plan.counted) {
        text_addf(text, "with %lld request(s)", (long long)load->options.requests);
    } else {
        text_add(text, "for ");
        text_add_duration(text, load->options.duration_ns);
    }
    text_addf(text, " using %lld connection(s)\n", (long long)load->options.connections);
}

static void add_distribution(struct text *text, const struct histogram *latency)
{
    static const double pcts[] = {50, 75, 90, 95, 99, 99.9, 99.99};

    text_add(text, "  Latency Distribution\n");
    for (size_t i = 0; i < sizeof pcts / sizeof pcts[0]; i++) {
        struct text name = {0};

        text_add_double(&name, pcts[i], pcts[i] < 99.5 ? 0 : pcts[i] < 99.95 ? 1 : 2);
        text_addf(text, "  %5s%%", text_string(&name));
        add_time(text, histogram_percentile_ns(latency, pcts[i]));
        text_add_char(text, '\n');
        text_free(&name);
    }
}

/* What a reader should know beside the figures; nothing where all is well. */
static void add_remarks(struct text *text, const struct load *load)
{
    const struct load_result *result = &load->result;
    double mean = (double)result->total.latency.count / (double)load->options.connections;

    if (result->in_flight > 0) {
        text_addf(text, "  In flight at the end: %llu, the oldest for", (unsigned long long)result->in_flight);
        add_time(text, (double)result->oldest_in_flight_ns);
        text_add_char(text, '\n');
    }
    if (result->total.reconnects > 0)
        text_addf(text, "  Reconnects: %llu\n", (unsigned long long)result->total.reconnects);
    if (load->options.rate > 0) {
        text_add(text, "  Rate: asked");
        add_rate(text, load->options.rate);
        text_addf(text, "/s, %llu request(s) started, %llu missed: they could not start in time\n",
                  (unsigned long long)result->total.started, (unsigned long long)result->total.missed);
    }
    if (limits_local_ports() > 0 && result->total.ended_first > (uint64_t)limits_local_ports() / 2)
        text_addf(text,
                  "  Ports: %llu connections were ended by this side first, as the server did not; each keeps one of "
                  "%lld local ports for a minute\n",
                  (unsigned long long)result->total.ended_first, (long long)limits_local_ports());
    if (mean >= 10 && (double)result->connection_min < mean / 10)
        text_addf(text, "  Starved: a connection got %llu answer(s), half of them at least %llu\n",
                  (unsigned long long)result->connection_min, (unsigned long long)result->connection_p50);
    if (!result->complete)
        text_add(text, "  Incomplete: the run was ended early\n");
}

void output_text(struct text *text, const struct load *load, const struct output_options *options)
{
    const struct load_result *result = &load->result;
    const struct tally *total = &result->total;
    const struct histogram *latency = &total->latency;
    uint64_t others = tally_errors(total) - total->errors[LOAD_STATUS] - total->errors[LOAD_MISMATCH];
    double window_s = output_window_s(result);
    struct output_rates rates;
    bool title = false;

    output_rates(result, &rates);
    text_add(text, "Statistics        Avg      Stdev        Max\n  Reqs/sec ");
    add_rate(text, rates.mean);
    add_rate(text, rates.stddev);
    add_rate(text, rates.max);
    text_add(text, "\n  Latency  ");
    add_time(text, histogram_mean_ns(latency));
    add_time(text, histogram_stddev_ns(latency));
    add_time(text, latency->count > 0 ? (double)latency->max_ns : NAN);
    text_add_char(text, '\n');
    if (options->latency_distribution)
        add_distribution(text, latency);
    text_addf(text,
              "  HTTP codes:\n    1xx - %llu, 2xx - %llu, 3xx - %llu, 4xx - %llu, 5xx - %llu\n    others - %llu\n",
              (unsigned long long)total->classes[1], (unsigned long long)latency->count,
              (unsigned long long)total->classes[3], (unsigned long long)total->classes[4],
              (unsigned long long)total->classes[5], (unsigned long long)others);
    for (int i = 0; i < LOAD_ERRORS; i++) {
        if (i == LOAD_STATUS || total->errors[i] == 0)
            continue;
        text_add(text, title ? "" : "  Errors:\n");
        title = true;
        text_addf(text, "    %s - %llu\n", load_error_texts[i], (unsigned long long)total->errors[i]);
    }
    add_throughput(text, window_s > 0 ? (double)(total->bytes_read + total->bytes_written) / window_s : NAN);
    add_remarks(text, load);
}
