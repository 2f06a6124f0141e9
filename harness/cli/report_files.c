#include "cli/report_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/log.h"
#include "machine/child.h"
#include "results/charts.h"
#include "results/latency.h"
#include "results/report_html.h"
#include "results/report_md.h"

#define GNUPLOT_TIMEOUT_NS (60 * CLOCK_NS_PER_S)
#define SVG_LIMIT (16UL << 20)

enum { CHART_RATES, CHART_CPU, CHART_LATENCY, CHARTS };

/* What belongs to one record while its page is written. */
struct page {
    const struct record *record;
    json_t *published;
    struct latency *latencies; /* NULL: no details */
    char *files[CHARTS];       /* NULL: not drawn */
    char *no_charts;
};

static int descriptor_of(const struct text *script, struct err *err)
{
    int fd = memfd_create("script", MFD_CLOEXEC);

    if (fd < 0)
        return err_sys(err, "cannot hold a script in memory");
    if (fsx_write_fd(fd, "script", text_string(script), script->len, err) != 0 || lseek(fd, 0, SEEK_SET) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int draw(const struct text *script, const char *path, struct err *err)
{
    static const char *const argv[] = {"gnuplot", NULL};
    struct env env = {0};
    struct child_spec spec = {
        .argv = argv, .env = &env, .out = {.kind = CHILD_CAPTURE, .limit = SVG_LIMIT}, .err = {.kind = CHILD_CAPTURE}};
    struct child_result result = {0};
    int status;

    spec.input = descriptor_of(script, err);
    if (spec.input < 0)
        return -1;
    env_basic(&env);
    status = child_run(&spec, GNUPLOT_TIMEOUT_NS, &result, err);
    if (status == 0)
        status = fsx_write_atomic(path, result.out, strlen(result.out), 0644, err);
    (void)close(spec.input);
    child_result_free(&result);
    env_free(&env);
    return status;
}

static void draw_charts(struct page *page, const char *out)
{
    static const char *const names[CHARTS] = {"requests", "cpu", "latency"};
    char *gnuplot = fsx_find_program("gnuplot", getenv("PATH"));

    if (gnuplot == NULL) {
        page->no_charts = text_dup("gnuplot was not found (Debian: gnuplot-nox)");
        log_line("charts     none: %s", page->no_charts);
        return;
    }
    for (int i = 0; i < CHARTS; i++) {
        char *name = text_format("%s_%s.svg", page->record->name, names[i]);
        char *path = fsx_join(out, name);
        struct text script = {0};
        struct err err = {0};
        bool wanted = true;

        if (i == CHART_RATES)
            charts_write_rates(page->record, &script);
        else if (i == CHART_CPU)
            charts_write_cpu(page->record, &script);
        else
            wanted = page->latencies != NULL && charts_write_latency(page->record, page->latencies, &script);
        if (wanted && draw(&script, path, &err) == 0) {
            page->files[i] = text_dup(name);
        } else if (wanted && page->no_charts == NULL) {
            page->no_charts = text_dup(err.text);
            log_line("charts     %s: %s", name, err.text);
        }
        text_free(&script);
        free(path);
        free(name);
    }
    free(gnuplot);
}

static int open_page(const struct record *record, json_t *published, const char *out, struct page *page,
                     struct err *err)
{
    *page = (struct page){.record = record, .published = published};
    if (record->details != NULL && latency_read(record->details, &record->cells, &page->latencies, err) != 0)
        return -1;
    draw_charts(page, out);
    return 0;
}

static void close_page(struct page *page)
{
    latency_free_all(page->latencies, &page->record->cells);
    for (int i = 0; i < CHARTS; i++)
        free(page->files[i]);
    free(page->no_charts);
}

static void write_page(const struct page *page, const char *html, struct text *text)
{
    const struct report_md_chart charts[CHARTS] = {
        {page->files[CHART_RATES], "requests/s of every row and test, with the rounds"},
        {page->files[CHART_CPU], "CPU per request: server user, server kernel, PostgreSQL"},
        {page->files[CHART_LATENCY], "latency by percentile"},
    };
    const struct report_md_extras extras = {.charts = charts,
                                            .chart_count = CHARTS,
                                            .no_charts = page->no_charts,
                                            .html = html,
                                            .published = page->published};

    report_md_write(page->record, &extras, text);
}

static int write_html(const struct page *pages, size_t count, const char *path, struct err *err)
{
    struct report_html_part *parts = text_realloc(NULL, count, sizeof *parts);
    struct text html = {0};
    char *missing = NULL;
    int result;

    for (size_t i = 0; i < count; i++)
        parts[i] = (struct report_html_part){pages[i].record, pages[i].latencies, pages[i].published};
    result = report_html_write(parts, count, &html, &missing, err);
    if (result == 0)
        result = fsx_write_atomic(path, text_string(&html), html.len, 0644, err);
    if (result == 0) {
        log_line("html       %s (%zu kB)", path, (html.len + 999) / 1000);
        if (missing != NULL)
            log_line("           without charts: %s", missing);
    }
    free(missing);
    free(parts);
    text_free(&html);
    return result;
}

int report_files_write(const struct record *records, json_t *const *published, size_t count, const char *out,
                       struct err *err)
{
    struct page *pages = text_alloc(count * sizeof *pages);
    char *md = text_format("%s/%s.md", out, records[0].name);
    char *html_name = text_format("%s.html", records[0].name);
    char *html = fsx_join(out, html_name);
    struct text text = {0};
    size_t opened = 0;
    int result = fsx_mkdirs(out, 0755, err);

    while (result == 0 && opened < count) {
        result = open_page(&records[opened], published[opened], out, &pages[opened], err);
        opened += result == 0;
    }
    for (size_t i = 0; result == 0 && i < count; i++) {
        text_add(&text, i > 0 ? "\n" : "");
        write_page(&pages[i], i == 0 ? html_name : NULL, &text);
    }
    if (result == 0)
        result = fsx_write_atomic(md, text_string(&text), text.len, 0644, err);
    if (result == 0)
        log_line("tables     %s", md);
    if (result == 0)
        result = write_html(pages, count, html, err);
    for (size_t i = 0; i < opened; i++)
        close_page(&pages[i]);
    text_free(&text);
    free(pages);
    free(md);
    free(html_name);
    free(html);
    return result;
}
