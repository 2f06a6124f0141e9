#include "tools/drivers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static char *format_text(const char *format, va_list arguments)
{
    char *text = NULL;

    if (vasprintf(&text, format, arguments) < 0)
        abort();
    return text;
}

static void add(struct words *words, char *word)
{
    words->items = text_realloc(words->items, words->count + 2, sizeof *words->items);
    words->items[words->count++] = word;
    words->items[words->count] = NULL;
}

void words_add(struct words *words, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add(words, format_text(format, arguments));
    va_end(arguments);
}

void words_pair(struct words *words, const char *option, char *value)
{
    add(words, text_dup(option));
    add(words, value);
}

void words_free(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct words){0};
}

char *words_decimal(double value, int decimals, const char *unit)
{
    struct text text = {0};

    text_add_double(&text, value, decimals);
    text_add(&text, unit);
    return text_take(&text);
}

int words_headers(struct words *words, const struct tool_job *job, const char *option, struct err *err)
{
    for (const char *const *header = job->headers; header != NULL && *header != NULL; header++) {
        char *name, *value;

        if (drivers_header(*header, &name, &value, err) != 0)
            return -1;
        words_pair(words, option, text_format("%s: %s", name, value));
        free(name);
        free(value);
    }
    return 0;
}

int drivers_header(const char *header, char **name, char **value, struct err *err)
{
    const char *colon = strchr(header, ':'), *from, *end;

    if (colon == NULL || colon == header)
        return (void)err_set(err, "header \"%s\": expected \"Name: value\"", header), -1;
    from = colon + 1 + strspn(colon + 1, " \t");
    end = from + strlen(from);
    while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *name = text_dup_n(header, (size_t)(colon - header));
    *value = text_dup_n(from, (size_t)(end - from));
    return 0;
}

char *drivers_url(const char *url)
{
    size_t len = strcspn(url, "#");
    const char *authority = strstr(url, "://");
    size_t end;
    struct text text = {0};

    authority = authority != NULL && authority < url + len ? authority + 3 : url;
    end = (size_t)(authority - url) + strcspn(authority, "/?#");
    text_add_bytes(&text, url, end);
    if (url[end] != '/')
        text_add_char(&text, '/');
    text_add_bytes(&text, url + end, len - end);
    return text_take(&text);
}

static void note(struct tool_result *result, const char *kind, const char *format, va_list arguments)
{
    char *text = format_text(format, arguments);
    char *line = text_format("%s: %s", kind, text);

    json_array_append_new(result->notes, json_string(line));
    free(line);
    free(text);
}

void drivers_corrected(struct tool_result *result, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    note(result, "corrected", format, arguments);
    va_end(arguments);
}

void drivers_doubtful(struct tool_result *result, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    note(result, "doubtful", format, arguments);
    va_end(arguments);
}

json_t *drivers_object(const char *output, size_t len, struct err *err)
{
    struct json_doc doc;
    json_t *object = NULL;

    if (strspn(output, " \t\r\n") >= len)
        return (void)err_fail(err, "it printed no result"), NULL;
    if (json_doc_parse("its output", output, len, &doc, err) != 0) {
        err->kind = ERR_FAILED; /* the tool's fault, not the caller's */
        return NULL;
    }
    if (json_is_object(doc.root))
        object = json_incref(doc.root);
    else
        (void)err_fail(err, "its output is no JSON object");
    json_doc_free(&doc);
    return object;
}

int drivers_number(const json_t *object, const char *key, double *value, struct err *err)
{
    double number = json_get_number(object, key);

    if (!isfinite(number) || number < 0)
        return err_fail(err, "its result has no \"%s\"", key);
    *value = number;
    return 0;
}

int drivers_rate(struct tool_result *result, double ok, double seconds, struct err *err)
{
    if (!isfinite(ok) || ok < 0 || !isfinite(seconds) || seconds <= 0)
        return err_fail(err, "its result has no length of time");
    result->responses_2xx = ok;
    result->window_s = seconds;
    result->requests_per_s = ok / seconds;
    return 0;
}

void drivers_latency(struct tool_result *result, const struct drivers_latency *l)
{
    const struct {
        const char *name;
        double us;
        bool ordered;
    } rows[] = {{"min", l->min, true},       {"mean", l->mean, false}, {"stddev", l->stddev, false},
                {"p50", l->p50, true},       {"p75", l->p75, true},    {"p90", l->p90, true},
                {"p95", l->p95, true},       {"p99", l->p99, true},    {"p99_9", l->p99_9, true},
                {"p99_99", l->p99_99, true}, {"max", l->max, true}};
    json_t *object = json_object();
    double last = 0;

    result->p50_ms = l->p50 / 1000;
    result->p99_ms = l->p99 / 1000;
    result->mean_ms = l->mean / 1000;
    result->max_ms = l->max / 1000;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_put(object, rows[i].name, json_number(rows[i].us, 3));
        if (!rows[i].ordered || isnan(rows[i].us))
            continue;
        if (rows[i].us < last)
            drivers_doubtful(result, "its latencies are out of order: %s below another of a lower rank", rows[i].name);
        last = rows[i].us;
    }
    if (result->report == NULL)
        result->report = json_object();
    json_put(result->report, "latency_us", object);
}
