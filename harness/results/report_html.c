#include "results/report_html.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/json.h"
#include "results/details.h"
#include "results/report_json.h"

/* A file of results/html/ as a string of the program; paths are those of a build from the top folder. */
#define EMBED(name, file)                                                                                              \
    __asm__(".section .rodata\n.global " #name "\n" #name ":\n.incbin \"harness/results/html/" file                    \
            "\"\n.byte 0\n.previous\n");                                                                               \
    extern const char name[]

EMBED(report_html_page, "page.html");
EMBED(report_html_css, "page.css");
EMBED(report_html_charts_js, "charts.js");
EMBED(report_html_tables_js, "tables.js");
EMBED(report_html_page_js, "page.js");

#define LIBRARY_LIMIT (4UL << 20)

/* Where Debian's packages put it; RESTBENCH_CHART_JS names another copy. */
static const char *const library_paths[] = {"/usr/share/javascript/chart.js/chart.min.js",
                                            "/usr/share/nodejs/chart.js/dist/chart.min.js"};

static char *load_library(char **missing)
{
    const char *chosen = getenv("RESTBENCH_CHART_JS");
    char *library = NULL;
    struct err err = {0};
    size_t len;

    for (size_t i = 0; chosen == NULL && i < sizeof library_paths / sizeof library_paths[0]; i++)
        if (fsx_exists(library_paths[i]))
            chosen = library_paths[i];
    if (chosen == NULL) {
        *missing = text_dup("Chart.js was not found (Debian: libjs-chart.js)");
    } else if (fsx_read(chosen, LIBRARY_LIMIT, &library, &len, &err) != 0) {
        *missing = text_dup(err.text);
    } else if (strcasestr(library, "</script") != NULL || strstr(library, "<!--") != NULL || strlen(library) != len) {
        *missing = text_format("%s: cannot stand inside a page", chosen);
        free(library);
        library = NULL;
    }
    return library;
}

/* What the page shows of a cell when it is opened: everything but what the charts draw from elsewhere. */
static json_t *evidence_of_line(const struct details_line *line)
{
    json_t *copy = json_deep_copy(line->json);
    json_t *own = details_at(copy, "load.restbench");
    json_t *seconds = json_array();
    const json_t *second;
    size_t i;

    json_array_foreach (json_object_get(own, "per_second"), i, second) {
        (void)json_array_append_new(seconds, json_number(json_get_number(second, "ok"), 0));
    }
    json_put(copy, "seconds", seconds);
    (void)json_object_del(own, "per_second");
    (void)json_object_del(json_object_get(own, "latency_us"), "histogram");
    return copy;
}

static int evidence(const char *details, json_t *run, struct err *err)
{
    struct details_reader reader;
    struct details_line line;
    json_t *list = json_array();
    int got;

    json_put(run, "evidence", list);
    if (details_open(details, &reader, err) != 0)
        return -1;
    while ((got = details_next(&reader, &line, err)) == 1)
        if (line.kind == DETAILS_CELL)
            (void)json_array_append_new(list, evidence_of_line(&line));
    if (got < 0 && reader.cut) { /* named where the record was opened */
        err_clear(err);
        got = 0;
    }
    details_close(&reader);
    return got;
}

static json_t *data_of(const struct report_html_part *parts, size_t count, struct err *err)
{
    json_t *runs = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *run = report_json_run(parts[i].record, parts[i].latencies, parts[i].published);

        (void)json_array_append_new(runs, run);
        if (parts[i].record->details != NULL && evidence(parts[i].record->details, run, err) != 0) {
            json_decref(runs);
            return NULL;
        }
    }
    return report_json_whole(runs);
}

/* JSON inside a script element: without '<' nothing in it can end the element or open a comment. */
static void add_json(struct text *html, const json_t *data)
{
    char *line = json_line(data);

    for (const char *at = line;;) {
        size_t plain = strcspn(at, "<");

        text_add_bytes(html, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        text_add(html, "\\u003c");
        at++;
    }
    free(line);
}

static void add_title(struct text *html, const char *string)
{
    for (; *string != '\0'; string++) {
        if (*string == '<' || *string == '>' || *string == '&' || *string == '"')
            text_addf(html, "&#%d;", *string);
        else
            text_add_char(html, *string);
    }
}

/* Replaces the marks {{name}} of the template. */
static void fill(const char *name, size_t len, const struct report_html_part *parts, const json_t *data,
                 const char *library, struct text *html)
{
    if (strncmp(name, "title", len) == 0) {
        add_title(html, parts[0].record->name);
    } else if (strncmp(name, "css", len) == 0) {
        text_add(html, report_html_css);
    } else if (strncmp(name, "data", len) == 0) {
        add_json(html, data);
    } else if (strncmp(name, "library", len) == 0) {
        text_add(html, library != NULL ? library : "");
    } else if (strncmp(name, "script", len) == 0) {
        text_add(html, report_html_charts_js);
        text_add(html, report_html_tables_js);
        text_add(html, report_html_page_js);
    }
}

int report_html_write(const struct report_html_part *parts, size_t count, struct text *html, char **missing,
                      struct err *err)
{
    char *library;
    json_t *data;

    for (size_t i = 0; i < count; i++)
        if (parts[i].record->cells.group_count > REPORT_HTML_GROUPS)
            return err_set(err, "%s: %u groups of cells are too many for a page; use --tables or --json",
                           parts[i].record->csv, parts[i].record->cells.group_count);
    data = data_of(parts, count, err);
    if (data == NULL)
        return -1;
    library = load_library(missing);
    for (const char *at = report_html_page;;) {
        const char *mark = strstr(at, "{{");
        size_t len;

        if (mark == NULL) {
            text_add(html, at);
            break;
        }
        text_add_bytes(html, at, (size_t)(mark - at));
        mark += 2;
        len = strcspn(mark, "}");
        fill(mark, len, parts, data, library, html);
        at = mark + len + 2;
    }
    free(library);
    json_decref(data);
    return 0;
}
