#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct json_at json_at_root(const struct json_doc *doc)
{
    return (struct json_at){.doc = doc, .value = doc->root};
}

struct json_at json_at_key(const struct json_at *at, const char *key)
{
    struct json_at to = {.doc = at->doc, .value = json_object_get(at->value, key)};

    (void)snprintf(to.path, sizeof to.path, "%s%s%s", at->path, at->path[0] != '\0' ? "." : "", key);
    return to;
}

struct json_at json_at_index(const struct json_at *at, size_t index)
{
    struct json_at to = {.doc = at->doc, .value = json_array_get(at->value, index)};

    (void)snprintf(to.path, sizeof to.path, "%s[%zu]", at->path, index);
    return to;
}

int json_at_only(const struct json_at *at, const char *const *keys, struct err *err)
{
    const char *key;
    json_t *value;

    if (json_at_object(at, err) != 0)
        return -1;
    json_object_foreach (at->value, key, value) {
        const char *nearest = NULL;
        size_t best = 4;
        size_t i;

        for (i = 0; keys[i] != NULL && strcmp(keys[i], key) != 0; i++) {
            size_t distance = text_distance(keys[i], key);

            if (distance < best) {
                best = distance;
                nearest = keys[i];
            }
        }
        if (keys[i] == NULL) {
            struct text path = {0};
            struct text shown = {0};

            text_addf(&path, "%s!%s", at->path, key);
            text_add_visible(&shown, key, strlen(key));
            (void)json_doc_error(at->doc, text_string(&path), err, "unknown key \"%s\"%s%s%s", text_string(&shown),
                                 nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                                 nearest != NULL ? "\"?" : "");
            text_free(&path);
            text_free(&shown);
            return -1;
        }
    }
    return 0;
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {"an object", "an array", "a string", "an integer",
                                        "a number",  "true",     "false",    "null"};

    return value == NULL ? "nothing" : names[json_typeof(value)];
}

/* "key": for messages; the root and array elements have only their path. */
static const char *label(const struct json_at *at)
{
    const char *dot = strrchr(at->path, '.');

    return at->path[0] == '\0' ? "the file" : dot != NULL ? dot + 1 : at->path;
}

static int wrong_type(const struct json_at *at, const char *wanted, struct err *err)
{
    return json_at_error(at, err, "\"%s\" must be %s, not %s", label(at), wanted, type_name(at->value));
}

int json_at_object(const struct json_at *at, struct err *err)
{
    return json_is_object(at->value) ? 0 : wrong_type(at, "an object", err);
}

int json_at_array(const struct json_at *at, size_t *count, struct err *err)
{
    if (!json_is_array(at->value))
        return wrong_type(at, "an array", err);
    *count = json_array_size(at->value);
    return 0;
}

/* Finds `key`; returns 1 when it is missing and optional, -1 when missing and required. */
static int find(const struct json_at *at, const char *key, bool optional, struct json_at *to, struct err *err)
{
    *to = json_at_key(at, key);
    if (to->value != NULL)
        return 0;
    return optional ? 1 : json_at_error(at, err, "\"%s\" is missing", key);
}

int json_at_string(const struct json_at *at, const char *key, const char *fallback, const char **value, struct err *err)
{
    struct json_at to;
    int found = find(at, key, fallback != NULL, &to, err);

    if (found != 0) {
        *value = fallback;
        return found < 0 ? -1 : 0;
    }
    if (!json_is_string(to.value))
        return wrong_type(&to, "a string", err);
    if (strlen(json_string_value(to.value)) != json_string_length(to.value))
        return json_at_error(&to, err, "\"%s\" holds a NUL character", key);
    *value = json_string_value(to.value);
    return 0;
}

int json_at_int(const struct json_at *at, const char *key, const int64_t *fallback, int64_t least, int64_t most,
                int64_t *value, struct err *err)
{
    struct json_at to;
    int found = find(at, key, fallback != NULL, &to, err);
    int64_t number;

    if (found != 0) {
        if (found > 0)
            *value = *fallback;
        return found < 0 ? -1 : 0;
    }
    if (!json_is_integer(to.value))
        return wrong_type(&to, "a whole number without a point, exponent or quotes", err);
    number = json_integer_value(to.value);
    if (number < least)
        return json_at_error(&to, err, "\"%s\": %lld is not possible; give at least %lld", key, (long long)number,
                             (long long)least);
    if (number > most)
        return json_at_error(&to, err, "\"%s\": %lld is not possible; give at most %lld", key, (long long)number,
                             (long long)most);
    *value = number;
    return 0;
}

int json_at_number(const struct json_at *at, const char *key, const double *fallback, double least, double most,
                   double *value, struct err *err)
{
    struct json_at to;
    int found = find(at, key, fallback != NULL, &to, err);
    double number;

    if (found != 0) {
        if (found > 0)
            *value = *fallback;
        return found < 0 ? -1 : 0;
    }
    if (!json_is_number(to.value))
        return wrong_type(&to, "a number", err);
    number = json_number_value(to.value);
    if (!(number >= least && number <= most)) {
        struct text range = {0};

        text_add_double(&range, least, 3);
        text_add(&range, " to ");
        text_add_double(&range, most, 3);
        (void)json_at_error(&to, err, "\"%s\" is out of range; give %s", key, text_string(&range));
        text_free(&range);
        return -1;
    }
    *value = number;
    return 0;
}

int json_at_bool(const struct json_at *at, const char *key, const bool *fallback, bool *value, struct err *err)
{
    struct json_at to;
    int found = find(at, key, fallback != NULL, &to, err);

    if (found != 0) {
        if (found > 0)
            *value = *fallback;
        return found < 0 ? -1 : 0;
    }
    if (!json_is_boolean(to.value))
        return wrong_type(&to, "true or false", err);
    *value = json_is_true(to.value);
    return 0;
}

int json_at_strings(const struct json_at *at, const char *key, const char ***values, size_t *count, struct err *err)
{
    struct json_at to = json_at_key(at, key);

    *values = NULL;
    *count = 0;
    if (to.value == NULL)
        return 0;
    if (json_at_array(&to, count, err) != 0)
        return -1;
    *values = text_realloc(NULL, *count + 1, sizeof **values);
    (*values)[*count] = NULL;
    for (size_t i = 0; i < *count; i++) {
        struct json_at item = json_at_index(&to, i);

        if (!json_is_string(item.value) || strlen(json_string_value(item.value)) != json_string_length(item.value)) {
            free(*values);
            *values = NULL;
            return wrong_type(&item, "a string", err);
        }
        (*values)[i] = json_string_value(item.value);
    }
    return 0;
}
