#include "results/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/home.h"
#include "base/json.h"
#include "results/fields.h"

/* The three files of a published run; after the key columns come figures, one a column. */
static const struct {
    const char *suffix;
    size_t keys; /* server, test, connections: the first `keys` of them */
    const char *figures[4];
} files[] = {
    {"medians", 3, {"requests_per_s", "latency_p99_ms"}},
    {"cpu_per_request", 2, {"cpu_user_us", "cpu_kernel_us", "cpu_postgres_us"}},
    {"memory", 1, {"working_set_mb", "private_mb"}},
};

static bool is_version(const char *word, size_t len)
{
    return len > 0 && word[0] >= '0' && word[0] <= '9' && strspn(word, "0123456789.") >= len;
}

char *published_key(const char *title)
{
    struct text key = {0};

    while (*title != '\0') {
        size_t len = strcspn(title, " ");
        const char *next = title + len + strspn(title + len, " ");

        if (!is_version(title, len) || strncmp(next, "process", 7) == 0) {
            text_add(&key, key.len > 0 ? " " : "");
            text_add_bytes(&key, title, len);
        }
        title = next;
    }
    return text_take(&key);
}

const char *published_mode(const struct record *record)
{
    if (record->machine.mode != NULL)
        return strcmp(record->machine.mode, "jwt") == 0 ? "jwt" : "no-auth";
    return strstr(record->name, "jwt") != NULL ? "jwt" : "no-auth";
}

static size_t row_of(struct published *published, const char *title)
{
    for (size_t i = 0; i < published->row_count; i++)
        if (strcmp(published->rows[i].title, title) == 0)
            return i;
    published->rows = text_realloc(published->rows, published->row_count + 1, sizeof *published->rows);
    published->rows[published->row_count] = (struct published_row){text_dup(title), published_key(title)};
    return published->row_count++;
}

static void add_figure(struct published *published, const char *figure, const struct field *keys, size_t key_count,
                       double value)
{
    double connections = 0;

    if (key_count > 2)
        (void)fields_number(&keys[2], &connections);
    published->figures = text_realloc(published->figures, published->figure_count + 1, sizeof *published->figures);
    published->figures[published->figure_count++] = (struct published_figure){
        .figure = figure,
        .row = row_of(published, keys[0].data),
        .test = text_dup(key_count > 1 ? keys[1].data : ""),
        .connections = (int64_t)connections,
        .value = value,
    };
}

static int load_line(struct published *published, const struct fields *reader, const struct field *field, size_t file,
                     struct err *err)
{
    for (size_t i = 0; i < 4 && files[file].figures[i] != NULL; i++) {
        const struct field *at = &field[files[file].keys + i];
        double value = NAN;

        if (at->len > 0 && strcmp(at->data, "n/a") != 0 && fields_number(at, &value) != 0)
            return fields_fault(reader, at->column, err, "%s: not a plain decimal", files[file].figures[i]);
        add_figure(published, files[file].figures[i], field, files[file].keys, value);
    }
    return 0;
}

static int load_file(struct published *published, size_t file, struct err *err)
{
    char *name = text_format("data/published/%s_%s.csv", published->name, files[file].suffix);
    char *path = home_file(name, err);
    struct fields reader;
    struct field field[7];
    size_t wanted = files[file].keys;
    size_t count;
    int got = -1;

    while (wanted - files[file].keys < 4 && files[file].figures[wanted - files[file].keys] != NULL)
        wanted++;
    if (path != NULL && fields_open(path, &reader, err) == 0) {
        while ((got = fields_next(&reader, field, wanted, &count, err)) == 1) {
            if (count != wanted)
                got = fields_fault(&reader, 1, err, "expected %zu fields, found %zu", wanted, count);
            else if (reader.line > 1)
                got = load_line(published, &reader, field, file, err) == 0 ? 1 : -1;
            if (got < 0)
                break;
        }
        fields_close(&reader);
    }
    free(path);
    free(name);
    return got == 0 ? 0 : -1;
}

int published_load(const char *mode, struct published *published, struct err *err)
{
    char *path = home_file("data/published/conclusions.json", err);
    const char *name;
    int result = -1;

    *published = (struct published){0};
    if (path != NULL && json_doc_load(path, &published->conclusions, err) == 0) {
        name = json_get_string(json_object_get(published->conclusions.root, "modes"), mode);
        if (name == NULL)
            (void)err_set(err, "%s: no published run without a token check and with one: \"modes\".\"%s\" is missing",
                          path, mode);
        published->name = text_dup(name != NULL ? name : "");
        result = name != NULL ? 0 : -1;
    }
    for (size_t i = 0; result == 0 && i < sizeof files / sizeof files[0]; i++)
        result = load_file(published, i, err);
    free(path);
    if (result != 0)
        published_free(published);
    return result;
}

void published_free(struct published *published)
{
    for (size_t i = 0; i < published->row_count; i++) {
        free(published->rows[i].title);
        free(published->rows[i].key);
    }
    for (size_t i = 0; i < published->figure_count; i++)
        free(published->figures[i].test);
    free(published->rows);
    free(published->figures);
    free(published->name);
    json_doc_free(&published->conclusions);
    *published = (struct published){0};
}

static double find(const struct published *published, const char *figure, size_t row, const char *test,
                   int64_t connections)
{
    for (size_t i = 0; i < published->figure_count; i++) {
        const struct published_figure *at = &published->figures[i];

        if (at->row == row && strcmp(at->figure, figure) == 0 && (at->test[0] == '\0' || strcmp(at->test, test) == 0) &&
            (at->connections == 0 || at->connections == connections))
            return at->value;
    }
    return NAN;
}

double published_value(const struct published *published, const char *figure, size_t row, const char *test,
                       int64_t connections)
{
    if (strcmp(figure, "cpu_server_us") == 0)
        return find(published, "cpu_user_us", row, test, connections) +
               find(published, "cpu_kernel_us", row, test, connections);
    return find(published, figure, row, test, connections);
}
