#include "results/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "results/details.h"
#include "results/latency.h"
#include "results/record.h"

static const struct {
    const char *figure;
    const char *path; /* in the details */
    double factor;
} extra[] = {
    {"latency_min_ms", "load.restbench.latency_us.min", 1e-3},
    {"latency_mean_ms", "load.restbench.latency_us.mean", 1e-3},
    {"latency_p90_ms", "load.restbench.latency_us.p90", 1e-3},
    {"latency_p99_9_ms", "load.restbench.latency_us.p99_9", 1e-3},
    {"latency_p99_99_ms", "load.restbench.latency_us.p99_99", 1e-3},
    {"latency_max_ms", "load.restbench.latency_us.max", 1e-3},
    {"window_s", "window.seconds", 1},
    {"pss_mib", "memory.pss_mib", 1},
    {"peak_mib", "memory.peak_mib", 1},
    {"generator_pct", "verdict.generator_pct", 1},
    {"shared_pct", "verdict.shared_pct", 1},
    {"server_pct", "verdict.server_pct", 1},
    {"database_pct", "verdict.database_pct", 1},
    {"database_wait_pct", "verdict.database_wait_pct", 1},
    {"steal_pct_max", "disturbance.steal_pct_max", 1},
};

struct key {
    const char *run, *utc, *server, *test;
    int64_t round, connections;
};

static void write_row(FILE *stream, const struct key *key, const char *figure, double value, int decimals)
{
    struct text text = {0};

    csv_add_text(&text, key->run);
    text_addf(&text, ",%s,", key->utc);
    csv_add_text(&text, key->server);
    text_addf(&text, ",%lld,", (long long)key->round);
    csv_add_text(&text, key->test);
    text_addf(&text, ",%lld,%s,", (long long)key->connections, figure);
    if (!isnan(value))
        text_add_double(&text, value, decimals);
    text_add_char(&text, '\n');
    (void)fwrite(text.data, 1, text.len, stream);
    text_free(&text);
}

static double per_request_us(double cpu_s, double answers)
{
    return answers > 0 ? cpu_s * 1e6 / answers : NAN;
}

static int tidy_csv(const char *csv, const char *run, FILE *stream, struct err *err)
{
    struct csv_reader reader;
    struct csv_line line;
    bool any = false;
    int got;

    if (csv_open(csv, &reader, err) != 0)
        return -1;
    while ((got = csv_next(&reader, &line, err)) == 1) {
        struct key key = {run, line.utc, line.server, line.test, line.round, line.connections};

        any = true;
        for (size_t i = 0; i < CSV_COLUMNS; i++)
            if (csv_columns[i].type == CSV_COUNT || csv_columns[i].type == CSV_DECIMAL)
                write_row(stream, &key, csv_columns[i].name, csv_number(&line, i), csv_columns[i].decimals);
        write_row(stream, &key, "cpu_server_user_us_per_request",
                  per_request_us(line.cpu_server_user_s, line.responses_2xx), 3);
        write_row(stream, &key, "cpu_server_kernel_us_per_request",
                  per_request_us(line.cpu_server_kernel_s, line.responses_2xx), 3);
        write_row(stream, &key, "cpu_postgres_us_per_request", per_request_us(line.cpu_postgres_s, line.responses_2xx),
                  3);
    }
    csv_close(&reader);
    if (got == 0 && !any)
        return err_set(err, "%s: only a header: nothing was measured", csv);
    return got;
}

static int tidy_details(const char *details, const char *run, FILE *stream, struct err *err)
{
    struct details_reader reader;
    struct details_line line;
    int got;

    if (details_open(details, &reader, err) != 0)
        return -1;
    while ((got = details_next(&reader, &line, err)) == 1) {
        const char *utc = json_string_value(json_object_get(line.json, "utc"));
        struct key key = {run, utc != NULL ? utc : "", line.title, line.test, line.round, line.connections};

        if (line.kind != DETAILS_CELL)
            continue;
        for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++)
            write_row(stream, &key, extra[i].figure, details_number(line.json, extra[i].path) * extra[i].factor, 3);
    }
    details_close(&reader);
    return got;
}

int export_tidy(const char *csv, bool with_header, FILE *stream, struct err *err)
{
    char *details = record_beside(csv, "_details.jsonl");
    char *run = record_beside(fsx_basename(csv), "");
    int result;

    if (with_header)
        (void)fputs("run,utc,server,round,test,connections,figure,value\n", stream);
    result = tidy_csv(csv, run, stream, err);
    if (result == 0 && fsx_exists(details))
        result = tidy_details(details, run, stream, err);
    free(details);
    free(run);
    return result;
}

/* A row's id (folder and variant) is the better part of a file's name; a lone CSV has only titles. */
static void add_file_name(struct text *text, const char *string)
{
    for (; *string != '\0'; string++) {
        bool plain = (*string >= '0' && *string <= '9') || (*string >= 'a' && *string <= 'z') ||
                     (*string >= 'A' && *string <= 'Z') || *string == '.' || *string == '-' || *string == '_';

        if (plain || (text->len > 0 && text->data[text->len - 1] != '-'))
            text_add_char(text, plain ? *string : '-');
    }
}

static int write_hgrm(const struct record *record, const char *folder, const struct cells_group *group,
                      const struct latency *latency, struct err *err)
{
    const struct machine_row *row = record_machine_row(record, group->row);
    struct text name = {0};
    struct text text = {0};
    char *path;
    int result;

    add_file_name(&name, record->name);
    text_add_char(&name, '_');
    add_file_name(&name, row != NULL ? row->id : record->cells.titles.strings[group->row]);
    text_add_char(&name, '_');
    add_file_name(&name, record->cells.tests.strings[group->test]);
    text_addf(&name, "_%lld.hgrm", (long long)record->cells.phases[group->phase]);
    path = fsx_join(folder, name.data);
    latency_write_hgrm(latency, &text);
    result = fsx_write_atomic(path, text.data, text.len, 0644, err);
    free(path);
    text_free(&name);
    text_free(&text);
    return result;
}

int export_hgrm(const char *csv, const char *folder, size_t *files, struct err *err)
{
    struct record record;
    struct latency *latencies = NULL;
    int result;

    if (record_open(csv, &record, err) != 0)
        return -1;
    if (record.details == NULL) {
        record_close(&record);
        return err_set(err, "%s: there is no _details.jsonl beside it; only that holds latency distributions", csv);
    }
    result = latency_read(record.details, &record.cells, &latencies, err);
    if (result == 0)
        result = fsx_mkdirs(folder, 0755, err);
    for (uint32_t i = 0; result == 0 && i < record.cells.group_count; i++) {
        if (latencies[i].total <= 0)
            continue;
        result = write_hgrm(&record, folder, &record.cells.groups[i], &latencies[i], err);
        ++*files;
    }
    latency_free_all(latencies, &record.cells);
    record_close(&record);
    return result;
}
