#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/json.h"
#include "base/log.h"
#include "base/opts.h"
#include "base/text.h"
#include "cli/commands.h"
#include "load/load.h"
#include "load/output.h"

#define BODY_LIMIT ((size_t)1 << 30)

struct load_args {
    int64_t connections;
    int64_t duration_ns;
    int64_t requests;
    const char *method;
    struct opt_list headers;
    const char *headers_file;
    const char *body;
    const char *body_file;
    const char *timeout;
    double rate;
    bool latencies;
    const char *format;
    const char *print;
    int64_t warmup_ns;
    int64_t threads;
    const char *engine;
    bool insecure;
    const char *ca_file;
    bool close;
    bool http2;
    const char *requests_file;
    int64_t seed;
    const char *expect;
    int64_t expect_every;
    bool wait;
    int64_t events;
};

#define AT(field) offsetof(struct load_args, field)

static const struct opt opts[] = {
    {'c', "connections", "N", OPT_COUNT, AT(connections), "connections (125)"},
    {'d', "duration", "DUR", OPT_DURATION, AT(duration_ns), "how long it counts (10s)"},
    {'n', NULL, "N", OPT_COUNT, AT(requests), "exactly so many requests, instead of a time"},
    {'m', "method", "NAME", OPT_STRING, AT(method), "method (GET); sent as written"},
    {'H', "header", "'NAME: VALUE'", OPT_LIST, AT(headers), "a header; may be given several times"},
    {0, "headers", "FILE", OPT_STRING, AT(headers_file),
     "more headers, one a line: for values that others may not see"},
    {'b', "body", "TEXT", OPT_STRING, AT(body), "body of the request"},
    {'f', "body-file", "FILE", OPT_STRING, AT(body_file), "body of the request, from a file"},
    {'t', "timeout", "DUR", OPT_STRING, AT(timeout), "for one answer, and for one connection (2s)"},
    {'r', "rate", "N", OPT_NUMBER, AT(rate), "requests per second on a schedule (open loop)"},
    {'k', "insecure", NULL, OPT_FLAG, AT(insecure), "https: accept any certificate"},
    {0, "cacert", "FILE", OPT_STRING, AT(ca_file), "https: the certificates (PEM) to trust instead of the system's"},
    {'l', "latencies", NULL, OPT_FLAG, AT(latencies), "print the distribution of latencies"},
    {'o', "format", "FORM", OPT_STRING, AT(format), "plain-text (pt) or json (j)"},
    {'p', "print", "WHAT", OPT_STRING, AT(print), "of intro, progress, result (i,p,r): what is printed"},
    {0, "warmup", "DUR", OPT_DURATION, AT(warmup_ns), "load before it counts (0)"},
    {0, "threads", "N", OPT_COUNT, AT(threads), "threads (the CPUs that it may run on)"},
    {0, "engine", "NAME", OPT_STRING, AT(engine), "auto, epoll or io_uring"},
    {0, "close", NULL, OPT_FLAG, AT(close), "one request a connection"},
    {0, "http2", NULL, OPT_FLAG, AT(http2), "not spoken here: HTTP/2 is measured by run --tool h2load-http2"},
    {0, "requests", "FILE", OPT_STRING, AT(requests_file),
     "many requests, a JSON object a line: method, path, headers, body,\nweight, expect: {status, body}"},
    {0, "seed", "N", OPT_COUNT, AT(seed), "fixes the order in which they are drawn (1)"},
    {0, "expect", "FILE", OPT_STRING, AT(expect), "a body that every answer should have; one in so many is compared"},
    {0, "expect-every", "N", OPT_COUNT, AT(expect_every), "compare one body in N (1000)"},
    {0, "wait", NULL, OPT_FLAG, AT(wait), "connect, print \"ready\", start on a line from standard input"},
    {0, "events", "FD", OPT_COUNT, AT(events),
     "write \"established\", \"window_begin NS\", \"window_end NS\" (CLOCK_MONOTONIC) there"},
    {0},
};

struct shown {
    bool intro, progress, result;
};

/* Letters and words as bombardier has them: "i,p,r", "intro,result", "r". */
static int parse_print(const char *given, struct shown *shown, struct err *err)
{
    *shown = (struct shown){false, false, false};
    for (const char *p = given; *p != '\0';) {
        size_t len = strcspn(p, ",");

        if ((len == 1 && *p == 'i') || (len == 5 && memcmp(p, "intro", 5) == 0))
            shown->intro = true;
        else if ((len == 1 && *p == 'p') || (len == 8 && memcmp(p, "progress", 8) == 0))
            shown->progress = true;
        else if ((len == 1 && *p == 'r') || (len == 6 && memcmp(p, "result", 6) == 0))
            shown->result = true;
        else
            return err_set(err, "-p %s: give some of intro, progress, result (i,p,r)", given);
        p += len;
        p += *p == ',';
    }
    return 0;
}

static int parse_format(const char *given, bool *json, struct err *err)
{
    *json = strcmp(given, "json") == 0 || strcmp(given, "j") == 0;
    if (!*json && strcmp(given, "plain-text") != 0 && strcmp(given, "pt") != 0)
        return err_set(err, "-o %s: give plain-text (pt) or json (j)", given);
    return 0;
}

static int parse_timeout(const char *given, int64_t *ns, struct err *err)
{
    double number;

    if (text_parse_double(given, &number) == 0)
        return err_set(err, "-t %s: a timeout is a duration such as %ss; for threads use --threads %s", given, given,
                       given);
    if (text_parse_duration(given, ns) != 0)
        return err_set(err, "-t %s: give a duration such as 2s or 500ms", given);
    return 0;
}

/* Adds the lines of --headers behind those of -H; they are borrowed from `*lines`, which is the caller's. */
static int read_headers(struct load_args *args, char **lines, struct err *err)
{
    struct opt_list *list = &args->headers;
    size_t len;

    if (args->headers_file == NULL)
        return 0;
    if (fsx_read(args->headers_file, BODY_LIMIT, lines, &len, err) != 0)
        return -1;
    for (char *line = strtok(*lines, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        list->items = text_realloc(list->items, list->count + 1, sizeof *list->items);
        list->items[list->count++] = line;
    }
    return 0;
}

/* `*body` and `*expected` are the caller's. */
static int read_files(const struct load_args *args, struct load_options *options, char **body, char **expected,
                      struct err *err)
{
    if (args->body != NULL && args->body_file != NULL)
        return err_set(err, "-b and -f: a request has one body; give one of them");
    if (args->body != NULL) {
        options->body = args->body;
        options->body_len = strlen(args->body);
    } else if (args->body_file != NULL) {
        if (fsx_read(args->body_file, BODY_LIMIT, body, &options->body_len, err) != 0)
            return -1;
        options->body = *body;
    }
    if (args->expect != NULL) {
        if (fsx_read(args->expect, BODY_LIMIT, expected, &options->expected_len, err) != 0)
            return -1;
        options->expected_body = *expected;
    }
    return 0;
}

static int make_options(const struct load_args *args, struct load_options *options, struct err *err)
{
    load_options_init(options);
    if (args->http2)
        return err_set(err,
                       "--http2: this generator speaks HTTP/1.1; for HTTP/2 use restbench run --tool h2load-http2");
    if (args->requests == 0)
        return err_set(err, "-n 0 is not possible; give at least 1 request");
    if (args->threads == 0)
        return err_set(err, "--threads 0 is not possible; give at least 1");
    if (args->rate <= 0)
        return err_set(err, "-r %g is not possible; give requests per second, such as 1000", args->rate);
    options->rate = isnan(args->rate) ? 0 : args->rate;
    options->connections = args->connections;
    options->requests = args->requests > 0 ? args->requests : 0;
    if (args->duration_ns >= 0)
        options->duration_ns = args->duration_ns;
    else if (options->requests > 0)
        options->duration_ns = 0;
    options->warmup_ns = args->warmup_ns;
    options->threads = args->threads > 0 ? args->threads : 0;
    options->method = args->method;
    options->headers = args->headers.items;
    options->header_count = args->headers.count;
    options->insecure = args->insecure;
    options->ca_file = args->ca_file;
    options->close = args->close;
    options->engine = args->engine;
    options->check_every = args->expect_every;
    options->requests_file = args->requests_file;
    options->seed = args->seed;
    options->wait = args->wait;
    options->events_fd = args->events > INT32_MAX ? INT32_MAX : (int)args->events;
    return parse_timeout(args->timeout, &options->timeout_ns, err);
}

static void show_progress(const struct load *load, int64_t now_ns)
{
    const struct load_result *result = &load->result;
    struct text line = {0};
    double left_s = (double)(load->plan.end_ns - now_ns) / 1e9;
    size_t last = result->second_count;

    if (now_ns < load->plan.begin_ns) {
        text_add(&line, "warm-up");
    } else {
        text_add_thousands(&line, (long long)result->total.latency.count);
        text_add(&line, " answers");
        if (last >= 1) {
            text_add(&line, ", ");
            text_add_thousands(&line, (long long)result->seconds[last - 1].ok);
            text_add(&line, "/s");
        }
        if (tally_errors(&result->total) > 0) {
            text_add(&line, ", ");
            text_add_thousands(&line, (long long)tally_errors(&result->total));
            text_add(&line, " errors");
        }
        if (load->plan.end_ns != INT64_MAX && left_s > 0)
            text_addf(&line, ", %.0f s left", left_s);
    }
    log_progress(text_string(&line));
    text_free(&line);
}

static void print_text(struct text *text)
{
    (void)fputs(text_string(text), stdout);
    (void)fflush(stdout);
    text_free(text);
}

static void print_result(const struct load *load, const struct output_options *output, bool json)
{
    struct text text = {0};

    if (json) {
        json_t *object = output_json(load, output);
        char *line = json_line(object);

        text_addf(&text, "%s\n", line);
        free(line);
        json_decref(object);
    } else {
        output_text(&text, load, output);
    }
    print_text(&text);
}

static int run(struct load *load, const struct load_args *args, const struct shown *shown, bool json, struct err *err)
{
    struct output_options output = {args->body_file, args->latencies};
    struct text text = {0};

    if (shown->intro && !json) {
        output_intro(&text, load);
        print_text(&text);
    }
    if (load_run(load, err) != 0)
        return -1;
    log_progress(NULL);
    if (shown->progress && !json)
        print_text((text_add(&text, "Done!\n"), &text));
    if (shown->result)
        print_result(load, &output, json);
    return 0;
}

/* The signal that ended the run is raised again, so that whoever started it sees why. */
static void raise_again(int signal_number)
{
    sigset_t set;

    (void)signal(signal_number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(signal_number);
}

static int main_load(int argc, char **argv)
{
    struct load_args args = {
        .connections = 125,
        .duration_ns = -1,
        .requests = -1,
        .method = "GET",
        .timeout = "2s",
        .rate = NAN,
        .format = "plain-text",
        .print = "i,p,r",
        .threads = -1,
        .engine = "auto",
        .expect_every = 1000,
        .seed = 1,
        .events = -1,
    };
    struct err err = {0};
    struct load_options options;
    struct load load = {0};
    struct shown shown;
    char *body = NULL;
    char *expected = NULL;
    char *header_lines = NULL;
    int operands = 0;
    bool json = false;
    int status = 2;
    int signal_number = 0;

    switch (opts_parse(&cmd_load, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    default:
        break;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (operands != 1)
        (void)err_set(&err, operands == 0 ? "load: give the URL; see restbench load --help"
                                          : "load: one URL, and options before or behind it");
    if (err.kind == ERR_NONE && read_headers(&args, &header_lines, &err) == 0 &&
        make_options(&args, &options, &err) == 0 && parse_print(args.print, &shown, &err) == 0 &&
        parse_format(args.format, &json, &err) == 0 && read_files(&args, &options, &body, &expected, &err) == 0) {
        options.url = argv[1];
        if (shown.progress && log_is_terminal())
            options.tick = show_progress;
        if (load_open(&load, &options, &err) == 0 && run(&load, &args, &shown, json, &err) == 0)
            status = load.result.total.latency.count > 0 && tally_errors(&load.result.total) == 0 ? 0 : 1;
        signal_number = load.result.signal;
        load_close(&load);
    }
    free(body);
    free(expected);
    free(header_lines);
    free(args.headers.items);
    if (err.kind != ERR_NONE && signal_number == 0)
        return opts_exit(&err);
    if (signal_number != 0)
        raise_again(signal_number);
    return status;
}

const struct command cmd_load = {
    .name = "load",
    .summary = "the generator alone, for any server",
    .usage = "[OPTIONS] URL",
    .description = "Requests over many connections; each sends the next one when the answer to the last has come.\n"
                   "Letters and units are bombardier's. Exit status: 0 all answers were 2xx, 1 there were errors or no "
                   "2xx answer,\n"
                   "2 it could not run.",
    .opts = opts,
    .main = main_load,
};
