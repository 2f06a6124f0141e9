#include "study/config_test.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "load/ring.h"
#include "load/url.h"

static const bool no = false;

static int read_headers(const struct json_at *at, struct study_test *test, struct err *err)
{
    struct json_at headers = json_at_key(at, "headers");
    const char *name;
    json_t *value;
    size_t count = 0;

    test->headers = text_alloc((json_object_size(headers.value) + 2) * sizeof *test->headers);
    if (headers.value == NULL)
        return 0;
    if (json_at_object(&headers, err) != 0)
        return -1;
    json_object_foreach (headers.value, name, value) {
        struct json_at here = json_at_key(&headers, name);
        const char *string = json_string_value(value);

        if (string == NULL || strpbrk(string, "\r\n") != NULL)
            return json_at_error(&here, err, "header \"%s\" must be a string of one line", name);
        if (*name == '\0' || name[strcspn(name, " \t\r\n:")] != '\0')
            return json_at_error(&here, err, "\"%s\" is not a header's name", name);
        test->headers[count++] = text_format("%s: %s", name, string);
    }
    return 0;
}

/* One of text, json, file, sql under `at`, which is an object. */
static int read_content(const struct json_at *at, const char *dir, enum study_content *kind, char **text, size_t *len,
                        struct err *err)
{
    static const char *const names[] = {"text", "json", "file", "sql"};
    const char *given = NULL;
    const char *string = NULL;

    for (size_t i = 0; i < 4; i++) {
        if (json_object_get(at->value, names[i]) == NULL)
            continue;
        if (given != NULL)
            return json_at_error(at, err, "give one of \"%s\" and \"%s\", not both", given, names[i]);
        given = names[i];
    }
    *kind = CONTENT_NONE;
    if (given == NULL)
        return 0;
    if (strcmp(given, "json") == 0) {
        *kind = CONTENT_JSON;
        *text = json_line(json_object_get(at->value, "json"));
        *len = strlen(*text);
        return 0;
    }
    if (json_at_string(at, given, NULL, &string, err) != 0)
        return -1;
    if (strcmp(given, "file") == 0) {
        char *path = fsx_join(dir, string);
        struct err cause = {0};
        int result = fsx_read(path, 64U << 20, text, len, &cause);

        free(path);
        *kind = CONTENT_BYTES;
        return result == 0 ? 0 : json_at_error(at, err, "%s", cause.text);
    }
    *kind = strcmp(given, "sql") == 0 ? CONTENT_SQL : CONTENT_BYTES;
    *text = text_dup(string);
    *len = strlen(string);
    return 0;
}

static int read_body(const struct json_at *at, const char *dir, struct study_test *test, struct err *err)
{
    static const char *const keys[] = {"text", "json", "file", "sql", NULL};
    struct json_at body = json_at_key(at, "body");

    if (body.value == NULL)
        return 0;
    if (json_at_only(&body, keys, err) != 0 ||
        read_content(&body, dir, &test->body_kind, &test->body, &test->body_len, err) != 0)
        return -1;
    if (test->body_kind == CONTENT_NONE)
        return json_at_error(&body, err, "\"body\" needs one of text, json, file, sql");
    return 0;
}

static int read_expect(const struct json_at *at, const char *dir, struct study_test *test, struct err *err)
{
    static const char *const keys[] = {"status", "text", "json", "file", "sql", NULL};
    static const int64_t ok = 200;
    struct json_at expect = json_at_key(at, "expect");
    int64_t status = ok;
    size_t len;

    test->expect_status = 200;
    if (expect.value == NULL)
        return 0;
    if (json_at_only(&expect, keys, err) != 0 || json_at_int(&expect, "status", &ok, 200, 299, &status, err) != 0 ||
        read_content(&expect, dir, &test->expect_kind, &test->expect, &len, err) != 0)
        return -1;
    test->expect_status = (int)status;
    return 0;
}

/* Their faults are found here, but for what SQL will give. */
static int read_requests(const struct json_at *at, const char *dir, struct study_test *test, struct err *err)
{
    static const char *const keys[] = {"text", "file", "sql", NULL};
    struct json_at requests = json_at_key(at, "requests");
    const char *file = json_string_value(json_object_get(requests.value, "file"));

    if (requests.value == NULL)
        return 0;
    if (json_at_only(&requests, keys, err) != 0 ||
        read_content(&requests, dir, &test->requests_kind, &test->requests, &test->requests_len, err) != 0)
        return -1;
    if (test->requests_kind == CONTENT_NONE)
        return json_at_error(&requests, err, "\"requests\" needs one of text, file, sql");
    if (test->body_kind != CONTENT_NONE)
        return json_at_error(&requests, err, "give \"body\" or \"requests\", not both: each of those has its own");
    if (test->requests_kind == CONTENT_BYTES) {
        struct err cause = {0};

        if (config_check_requests(file != NULL ? file : "\"requests\"", test, test->requests, test->requests_len,
                                  &cause) != 0)
            return json_at_error(&requests, err, "%s", cause.text);
    }
    return 0;
}

int config_check_requests(const char *name, const struct study_test *test, const char *text, size_t len,
                          struct err *err)
{
    struct url url = {.host = "127.0.0.1", .port = "80", .authority = "127.0.0.1", .target = "/"};
    struct request_headers none = {0};
    struct ring_options options = {.file = name, .method = test->method, .headers = &none, .seed = 1};
    struct ring ring;
    int result = ring_parse(&url, &options, text, len, &ring, err);

    ring_free(&ring);
    return result;
}

static bool is_token(const char *string)
{
    return *string != '\0' && string[strcspn(string, " \t\r\n()<>@,;:\\\"/[]?={}")] == '\0' && strlen(string) < 32;
}

int config_read_test(const struct json_at *at, const char *dir, bool has_database, struct study_test *test,
                     struct err *err)
{
    static const char *const keys[] = {"name",     "title",    "method", "path",   "headers",          "body",
                                       "requests", "database", "writes", "expect", "rows_per_request", "note",
                                       NULL};
    static const int64_t one = 1;
    const char *name;
    const char *title;
    const char *method;
    const char *path;

    if (json_at_only(at, keys, err) != 0 || json_at_string(at, "name", NULL, &name, err) != 0 ||
        json_at_string(at, "title", name, &title, err) != 0 || json_at_string(at, "method", "GET", &method, err) != 0 ||
        json_at_string(at, "path", NULL, &path, err) != 0)
        return -1;
    test->name = text_dup(name);
    test->title = text_dup(title);
    test->method = text_dup(method);
    test->path = text_dup(path);
    if (!config_is_name(name))
        return json_at_error(at, err, "the test's name \"%s\" must be letters, digits, '_', '-' or '.'", name);
    if (!text_is_title(title))
        return json_at_error(at, err, "the title of test %s must be one line of valid UTF-8", name);
    if (!is_token(method))
        return json_at_error(at, err, "\"%s\" is not a method", method);
    if (path[0] != '/' || path[strcspn(path, " \t\r\n#")] != '\0')
        return json_at_error(at, err, "\"path\" must begin with '/' and hold no blank or '#'");
    if (json_at_bool(at, "database", &has_database, &test->uses_database, err) != 0 ||
        json_at_bool(at, "writes", &no, &test->writes, err) != 0 ||
        json_at_int(at, "rows_per_request", &one, 1, 1000000, &test->rows_per_request, err) != 0 ||
        read_headers(at, test, err) != 0 || read_body(at, dir, test, err) != 0 ||
        read_requests(at, dir, test, err) != 0 || read_expect(at, dir, test, err) != 0)
        return -1;
    if (!has_database && (test->uses_database || test->writes || test->body_kind == CONTENT_SQL ||
                          test->requests_kind == CONTENT_SQL || test->expect_kind == CONTENT_SQL))
        return json_at_error(at, err,
                             "test %s needs a database, but the study has none (\"database\": {\"kind\": ...})", name);
    if (test->writes && !test->uses_database)
        return json_at_error(at, err, "test %s writes, so \"database\" cannot be false", name);
    return 0;
}

void config_free_test(struct study_test *test)
{
    for (char **header = test->headers; header != NULL && *header != NULL; header++)
        free(*header);
    free(test->headers);
    free(test->name);
    free(test->title);
    free(test->method);
    free(test->path);
    free(test->body);
    free(test->requests);
    free(test->expect);
}
