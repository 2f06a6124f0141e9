#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "load/limits.h"
#include "load/load.h"

#define MAX_CONNECTIONS 1000000
#define MAX_THREADS 1024
#define LEAST_RATE 1e-3
#define MOST_RATE 1e7
/* TLS connections whose buffers may be kept between requests: 34 KiB each. */
#define MANY_TLS 1000
#define MAX_DURATION_NS (366LL * 24 * 3600 * CLOCK_NS_PER_S)

/* A connection before the clock starts may need a second try of its SYN where the server's queue is full. */
#define ESTABLISH_LEAST_NS (10 * CLOCK_NS_PER_S)

void load_options_init(struct load_options *options)
{
    memset(options, 0, sizeof *options);
    options->method = "GET";
    options->connections = 125;
    options->duration_ns = 10 * CLOCK_NS_PER_S;
    options->timeout_ns = 2 * CLOCK_NS_PER_S;
    options->check_every = 1000;
    options->seed = 1;
    options->events_fd = -1;
    options->engine = "auto";
}

static int check_options(struct load_options *options, struct err *err)
{
    if (options->connections < 1 || options->connections > MAX_CONNECTIONS)
        return err_set(err, "-c %lld is not possible; give 1 to %d connections", (long long)options->connections,
                       MAX_CONNECTIONS);
    if (options->threads < 0 || options->threads > MAX_THREADS)
        return err_set(err, "--threads %lld is not possible; give 1 to %d", (long long)options->threads, MAX_THREADS);
    if (options->timeout_ns < CLOCK_NS_PER_US || options->timeout_ns > MAX_DURATION_NS)
        return err_set(err, "-t: the timeout must be longer than 0 and at most a year; give a duration such as 2s");
    if (options->requests == 0 && options->duration_ns < CLOCK_NS_PER_MS)
        return err_set(err, "-d: the duration must be at least 1ms; give one such as 15s");
    if (options->duration_ns > MAX_DURATION_NS || options->warmup_ns > MAX_DURATION_NS)
        return err_set(err, "%s: longer than a year", options->duration_ns > MAX_DURATION_NS ? "-d" : "--warmup");
    if (strcmp(options->engine, "auto") != 0 && strcmp(options->engine, "epoll") != 0 &&
        strcmp(options->engine, "io_uring") != 0)
        return err_set(err, "--engine %s: give auto, epoll or io_uring", options->engine);
    if (options->check_every < 1)
        return err_set(err, "--expect-every 0 is not possible; give at least 1");
    if (options->rate != 0 && (options->rate < LEAST_RATE || options->rate > MOST_RATE))
        return err_set(err, "-r: a rate lies between 0.001 and 10000000 requests per second");
    if (options->threads == 0)
        options->threads = limits_cpus();
    if (options->threads > options->connections)
        options->threads = options->connections;
    return 0;
}

static int make_ring(struct load *load, struct err *err)
{
    const struct ring_options options = {
        .file = load->options.requests_file,
        .method = load->options.method,
        .headers = &load->headers,
        .close = load->options.close,
        .seed = (uint64_t)load->options.seed,
    };

    if (load->options.body != NULL)
        return err_set(err, "--requests: bodies stand in the file; leave -b and -f out");
    if (load->options.expected_body != NULL)
        return err_set(err, "--requests: expected bodies stand in the file; leave --expect out");
    if (ring_load(&load->url, &options, &load->ring, err) != 0)
        return -1;
    load->plan.requests = load->ring.requests;
    load->plan.order = load->ring.order;
    load->plan.order_len = load->ring.order_len;
    if (load->ring.expects_bodies)
        load->plan.check_every = (uint64_t)load->options.check_every;
    for (size_t i = 0; i < load->ring.count; i++)
        if (load->ring.requests[i].len > load->plan.largest_request)
            load->plan.largest_request = load->ring.requests[i].len;
    return 0;
}

static int make_requests(struct load *load, struct err *err)
{
    const struct load_options *options = &load->options;
    struct request_spec spec = {
        .method = options->method,
        .headers = &load->headers,
        .body = options->body,
        .body_len = options->body_len,
    };

    for (size_t i = 0; i < options->header_count; i++)
        if (request_headers_add_line(&load->headers, options->headers[i], err) != 0)
            return -1;
    load->options.close |= request_headers_ask_close(&load->headers);
    if (options->requests_file != NULL)
        return make_ring(load, err);
    spec.close = load->options.close;
    if (request_build(&load->url, &spec, &load->request, err) != 0)
        return -1;
    if (options->expected_body != NULL) {
        load->request.expected_body = text_dup_n(options->expected_body, options->expected_len);
        load->request.expected_len = options->expected_len;
        load->plan.check_every = (uint64_t)options->check_every;
    }
    load->plan.requests = &load->request;
    load->plan.largest_request = load->request.len;
    return 0;
}

int load_prepare(struct load *load, struct err *err)
{
    struct load_plan *plan = &load->plan;

    if (check_options(&load->options, err) != 0 || url_parse(load->options.url, &load->url, err) != 0 ||
        make_requests(load, err) != 0 || limits_raise(load->options.connections, err) != 0)
        return -1;
    plan->timeout_ns = load->options.timeout_ns;
    plan->establish_ns = plan->timeout_ns > ESTABLISH_LEAST_NS ? plan->timeout_ns : ESTABLISH_LEAST_NS;
    plan->close = load->options.close;
    plan->rate = load->options.rate;
    plan->workers = (unsigned)load->options.threads;
    plan->counted = load->options.requests > 0;
    plan->tls = load->url.tls;
    plan->tls_options = (struct tls_options){
        .host = load->url.host,
        .ca_file = load->options.ca_file,
        .insecure = load->options.insecure,
        .many = load->options.connections > MANY_TLS,
    };
    return address_resolve(load->url.host, load->url.port, plan->establish_ns, &plan->address, err);
}
