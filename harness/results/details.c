#include "results/details.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int details_open(const char *path, struct details_reader *reader, struct err *err)
{
    *reader = (struct details_reader){.stream = fopen(path, "re")};
    if (reader->stream == NULL)
        return err_sys(err, "%s: cannot read", path);
    reader->file = text_dup(path);
    return 0;
}

void details_close(struct details_reader *reader)
{
    if (reader->stream != NULL)
        (void)fclose(reader->stream);
    json_decref(reader->json);
    text_free(&reader->text);
    free(reader->file);
    *reader = (struct details_reader){0};
}

__attribute__((format(printf, 4, 5))) static int fault(const struct details_reader *reader, int column, struct err *err,
                                                       const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(err, "%s:%llu:%d: %s", reader->file, (unsigned long long)reader->line, column, text);
}

/* The next line without its newline into reader->text. 1, 0, -1. */
static int take_line(struct details_reader *reader, struct err *err)
{
    char block[8192];

    text_clear(&reader->text);
    while (fgets(block, sizeof block, reader->stream) != NULL) {
        text_add(&reader->text, block);
        if (reader->text.len > 0 && reader->text.data[reader->text.len - 1] == '\n') {
            reader->line++;
            reader->offset += reader->text.len;
            reader->text.data[--reader->text.len] = '\0';
            return 1;
        }
        if (reader->text.len > DETAILS_LINE_LIMIT) {
            reader->line++;
            reader->broken = true;
            return fault(reader, 1, err, "the line is longer than %d bytes", DETAILS_LINE_LIMIT);
        }
    }
    if (ferror(reader->stream)) {
        reader->broken = true;
        return err_sys(err, "%s: cannot read", reader->file);
    }
    if (reader->text.len == 0)
        return 0;
    reader->line++;
    reader->cut = true;
    return fault(reader, (int)reader->text.len + 1, err, "the last line is cut: expected a newline at its end");
}

json_t *details_at(const json_t *json, const char *path)
{
    char key[64];

    while (json != NULL) {
        size_t len = strcspn(path, ".");

        if (len >= sizeof key)
            return NULL;
        memcpy(key, path, len);
        key[len] = '\0';
        json = json_object_get(json, key);
        if (path[len] == '\0')
            return (json_t *)json;
        path += len + 1;
    }
    return NULL;
}

double details_number(const json_t *json, const char *path)
{
    const json_t *value = details_at(json, path);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *string_at(const json_t *json, const char *path)
{
    const char *string = json_string_value(details_at(json, path));

    return string != NULL ? string : "";
}

static int64_t whole_at(const json_t *json, const char *path)
{
    const json_t *value = details_at(json, path);

    return json_is_integer(value) ? json_integer_value(value) : 0;
}

static enum details_kind kind_of(const json_t *json)
{
    const json_t *kind = json_object_get(json, "kind");
    const char *name = json_string_value(kind);

    if (kind == NULL || (name != NULL && strcmp(name, "cell") == 0))
        return DETAILS_CELL;
    if (name != NULL && strcmp(name, "failed") == 0)
        return DETAILS_FAILED;
    return name != NULL && strcmp(name, "reconciliation") == 0 ? DETAILS_RECONCILIATION : DETAILS_OTHER;
}

static int read_line(const struct details_reader *reader, struct details_line *line, struct err *err)
{
    const json_t *json = reader->json;

    if (!json_is_object(json))
        return fault(reader, 1, err, "expected an object");
    if (whole_at(json, "format") != 1)
        return fault(reader, 1, err, "expected \"format\": 1");
    *line = (struct details_line){
        .kind = kind_of(json),
        .json = json,
        .row = string_at(json, "row.id"),
        .title = string_at(json, "row.title"),
        .test = string_at(json, "test"),
        .phase = string_at(json, "phase.name"),
        .round = whole_at(json, "round"),
        .connections = whole_at(json, "phase.connections"),
    };
    if (line->kind == DETAILS_CELL &&
        (line->title[0] == '\0' || line->test[0] == '\0' || line->round < 1 || line->connections < 1))
        return fault(reader, 1, err, "expected row.title, round, test and phase.connections of a cell");
    return 1;
}

int details_next(struct details_reader *reader, struct details_line *line, struct err *err)
{
    json_error_t error;
    int got;

    if (reader->broken || reader->cut)
        return 0;
    got = take_line(reader, err);
    if (got != 1)
        return got;
    json_decref(reader->json);
    reader->json = json_loadb(reader->text.data, reader->text.len, JSON_REJECT_DUPLICATES, &error);
    if (reader->json == NULL) {
        json_error_clean(&error);
        return fault(reader, error.column, err, "%s", error.text);
    }
    return read_line(reader, line, err);
}
