#include "results/csv.h"

#include <math.h>
#include <string.h>

#define AT(field) offsetof(struct csv_line, field)

const struct csv_column csv_columns[CSV_COLUMNS] = {
    /* name, type, decimals, offset, may be empty, may be negative */
    {"utc", CSV_UTC, 0, AT(utc), false, false},
    {"server", CSV_SERVER, 0, AT(server), false, false},
    {"round", CSV_KEY, 0, AT(round), false, false},
    {"test", CSV_TEST, 0, AT(test), false, false},
    {"connections", CSV_KEY, 0, AT(connections), false, false},
    {"requests_per_s", CSV_DECIMAL, 2, AT(requests_per_s), true, false},
    {"latency_p50_ms", CSV_DECIMAL, 3, AT(latency_p50_ms), true, false},
    {"latency_p99_ms", CSV_DECIMAL, 3, AT(latency_p99_ms), true, false},
    {"responses_2xx", CSV_COUNT, 0, AT(responses_2xx), true, false},
    {"errors", CSV_COUNT, 0, AT(errors), true, false},
    {"cpu_server_s", CSV_DECIMAL, 6, AT(cpu_server_s), true, true},
    {"cpu_postgres_s", CSV_DECIMAL, 6, AT(cpu_postgres_s), true, true},
    {"working_set_mb", CSV_DECIMAL, 2, AT(working_set_mb), true, false},
    {"private_mb", CSV_DECIMAL, 2, AT(private_mb), true, false},
    {"startup_s", CSV_DECIMAL, 3, AT(startup_s), true, false},
    {"cpu_server_user_s", CSV_DECIMAL, 6, AT(cpu_server_user_s), true, true},
    {"cpu_server_kernel_s", CSV_DECIMAL, 6, AT(cpu_server_kernel_s), true, true},
};

static const void *field_at(const struct csv_line *line, size_t column)
{
    return (const char *)line + csv_columns[column].offset;
}

double csv_number(const struct csv_line *line, size_t column)
{
    return *(const double *)field_at(line, column);
}

void csv_header(struct text *text)
{
    for (size_t i = 0; i < CSV_COLUMNS; i++) {
        text_add(text, i > 0 ? "," : "");
        text_add(text, csv_columns[i].name);
    }
}

void csv_add_text(struct text *text, const char *string)
{
    if (strpbrk(string, ",\"") == NULL) {
        text_add(text, string);
        return;
    }
    text_add_char(text, '"');
    for (; *string != '\0'; string++) {
        if (*string == '"')
            text_add_char(text, '"');
        text_add_char(text, *string);
    }
    text_add_char(text, '"');
}

static int add_figure(struct text *text, const struct csv_column *column, double value, struct err *err)
{
    if (isnan(value))
        return 0;
    if (!(value >= 0 && value <= CSV_HIGHEST))
        return err_fail(err, "%s: %g is not a possible value", column->name, value);
    text_add_double(text, value, column->decimals);
    return 0;
}

int csv_format_line(const struct csv_line *line, struct text *text, struct err *err)
{
    for (size_t i = 0; i < CSV_COLUMNS; i++) {
        const struct csv_column *column = &csv_columns[i];
        const void *field = field_at(line, i);

        text_add(text, i > 0 ? "," : "");
        switch (column->type) {
        case CSV_UTC:
        case CSV_SERVER:
        case CSV_TEST:
            if (!text_is_title(*(const char *const *)field))
                return err_set(err, "%s: not a title: it is empty, not UTF-8, or holds control characters",
                               column->name);
            csv_add_text(text, *(const char *const *)field);
            break;
        case CSV_KEY:
            if (*(const int64_t *)field < 1)
                return err_set(err, "%s: %lld is not possible; at least 1", column->name,
                               (long long)*(const int64_t *)field);
            text_addf(text, "%lld", (long long)*(const int64_t *)field);
            break;
        case CSV_COUNT:
        case CSV_DECIMAL:
            if (add_figure(text, column, *(const double *)field, err) != 0)
                return -1;
            break;
        }
    }
    return 0;
}
