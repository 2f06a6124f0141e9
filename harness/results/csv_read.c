#include "results/csv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_EXPECTED "expected the header of a restbench CSV (utc,server,round,test,connections,...)"

int csv_fault(const struct csv_reader *reader, size_t column, struct err *err, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return fields_fault(&reader->fields, reader->field[column].column, err, "%s: %s", csv_columns[column].name, text);
}

static int read_figure(const struct csv_reader *reader, size_t i, double *value, struct err *err)
{
    const struct csv_column *column = &csv_columns[i];
    const struct field *field = &reader->field[i];
    bool whole = column->type != CSV_DECIMAL;

    if (field->len == 0) {
        *value = NAN;
        return column->may_be_empty ? 0 : csv_fault(reader, i, err, "empty; expected a number");
    }
    if (fields_number(field, value) != 0 || (whole && memchr(field->data, '.', field->len) != NULL)) {
        char *shown = fields_shown(field);

        (void)csv_fault(reader, i, err, "\"%s\" is not a plain %s", shown,
                        whole ? "whole number such as 50" : "decimal such as 12.5");
        free(shown);
        return -1;
    }
    if (fabs(*value) > CSV_HIGHEST)
        return csv_fault(reader, i, err, "%s is not possible; it is too large", field->data);
    if (field->data[0] == '-' && (*value == 0 || !column->may_be_negative))
        return csv_fault(reader, i, err, "\"%s\" is not possible; expected a number that is not negative", field->data);
    return 0;
}

static int read_key(const struct csv_reader *reader, size_t i, int64_t *value, struct err *err)
{
    double number;

    if (read_figure(reader, i, &number, err) != 0)
        return -1;
    if (number < 1 || number > 1e9)
        return csv_fault(reader, i, err, "%s is not possible; expected a whole number from 1", reader->field[i].data);
    *value = (int64_t)number;
    return 0;
}

bool csv_is_utc(const struct field *field)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    const char *c = field->data;
    int month, day, hour;

    if (field->len != sizeof form - 1)
        return false;
    for (size_t i = 0; form[i] != '\0'; i++)
        if (form[i] == '0' ? c[i] < '0' || c[i] > '9' : c[i] != form[i])
            return false;
    month = (c[5] - '0') * 10 + c[6] - '0';
    day = (c[8] - '0') * 10 + c[9] - '0';
    hour = (c[11] - '0') * 10 + c[12] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour <= 23 && c[14] <= '5' &&
           (c[17] <= '5' || (c[17] == '6' && c[18] == '0'));
}

static int read_utc(const struct csv_reader *reader, size_t i, const char **value, struct err *err)
{
    const struct field *field = &reader->field[i];

    *value = field->data;
    if (csv_is_utc(field))
        return 0;
    if (strcmp(field->data, csv_columns[i].name) == 0)
        return csv_fault(reader, i, err, "expected a time, found a second header; were two files joined?");
    return csv_fault(reader, i, err, "expected a time such as 2026-11-30T12:34:56Z");
}

static int read_title(struct csv_reader *reader, size_t i, const char **value, struct err *err)
{
    struct csv_known *known = csv_columns[i].type == CSV_SERVER ? &reader->server : &reader->test;
    const struct field *field = &reader->field[i];

    *value = field->data;
    if (field->len > 0 && field->len == known->len && memcmp(field->data, known->data, field->len) == 0)
        return 0;
    if (memchr(field->data, '\0', field->len) != NULL || !text_is_title(field->data))
        return csv_fault(reader, i, err, "expected a name: UTF-8 without control characters, and not empty");
    if (field->len <= sizeof known->data) {
        memcpy(known->data, field->data, field->len);
        known->len = field->len;
    }
    return 0;
}

static int read_field(struct csv_reader *reader, size_t i, struct csv_line *line, struct err *err)
{
    void *to = (char *)line + csv_columns[i].offset;

    switch (csv_columns[i].type) {
    case CSV_UTC:
        return read_utc(reader, i, to, err);
    case CSV_SERVER:
    case CSV_TEST:
        return read_title(reader, i, to, err);
    case CSV_KEY:
        return read_key(reader, i, to, err);
    case CSV_COUNT:
    case CSV_DECIMAL:
        return read_figure(reader, i, to, err);
    }
    return -1;
}

int csv_next(struct csv_reader *reader, struct csv_line *line, struct err *err)
{
    size_t count;
    int got = fields_next(&reader->fields, reader->field, CSV_COLUMNS, &count, err);

    if (got != 1)
        return got;
    if (count < CSV_COLUMNS) {
        const struct field *last = &reader->field[count - 1];

        return fields_fault(&reader->fields, last->column + (uint32_t)last->len, err,
                            "expected %d fields, found %zu: %s is missing", CSV_COLUMNS, count,
                            csv_columns[count].name);
    }
    for (size_t i = 0; i < CSV_COLUMNS; i++)
        if (read_field(reader, i, line, err) != 0)
            return -1;
    return 1;
}

static int check_name(const struct csv_reader *reader, size_t i, struct err *err)
{
    const struct field *field = &reader->field[i];
    char *shown;

    if (strcmp(field->data, csv_columns[i].name) == 0 && field->len == strlen(csv_columns[i].name))
        return 0;
    if (strncmp(field->data, "utc;", 4) == 0)
        return fields_fault(&reader->fields, field->column + 3, err,
                            "expected a comma, found ';': fields are separated by commas, decimals have points");
    if (i == 0)
        return fields_fault(&reader->fields, field->column, err, HEADER_EXPECTED);
    shown = fields_shown(field);
    (void)fields_fault(&reader->fields, field->column, err, "expected column \"%s\", found \"%s\"", csv_columns[i].name,
                       shown);
    free(shown);
    return -1;
}

static int read_header(struct csv_reader *reader, struct err *err)
{
    size_t count;
    int got = fields_next(&reader->fields, reader->field, CSV_COLUMNS, &count, err);

    if (got == 0)
        return err_set(err, "%s:1:1: the file is empty; " HEADER_EXPECTED, reader->fields.file);
    if (got < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (check_name(reader, i, err) != 0)
            return -1;
    if (count < CSV_COLUMNS)
        return fields_fault(&reader->fields, reader->field[count - 1].column + (uint32_t)reader->field[count - 1].len,
                            err, "expected column \"%s\"; the header ends here", csv_columns[count].name);
    return 0;
}

int csv_open(const char *path, struct csv_reader *reader, struct err *err)
{
    *reader = (struct csv_reader){0};
    if (fields_open(path, &reader->fields, err) != 0)
        return -1;
    if (read_header(reader, err) == 0)
        return 0;
    csv_close(reader);
    return -1;
}

void csv_close(struct csv_reader *reader)
{
    fields_close(&reader->fields);
}
