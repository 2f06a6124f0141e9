#include "base/json_exact.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/*
 * A number becomes the string "#DIGITS" and a string gets a '$' in front before jansson reads the text, so that the
 * digits survive and neither can be taken for the other. jansson still judges everything else of the syntax.
 */
static const char number_mark = '#';
static const char string_mark = '$';

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* The end of the JSON number at `at`, NULL when it is none. */
static const char *number_end(const char *at, const char *end)
{
    const char *digits = at + (at < end && *at == '-');
    const char *next = skip_digits(digits, end);

    if (next == digits || (*digits == '0' && next - digits > 1))
        return NULL;
    if (next < end && *next == '.') {
        const char *fraction = next + 1;

        next = skip_digits(fraction, end);
        if (next == fraction)
            return NULL;
    }
    if (next < end && (*next == 'e' || *next == 'E')) {
        const char *exponent = next + 1;

        exponent += exponent < end && (*exponent == '+' || *exponent == '-');
        next = skip_digits(exponent, end);
        if (next == exponent)
            return NULL;
    }
    return next;
}

static json_t *parse(const char *text, size_t len, json_error_t *error)
{
    struct text marked = {0};
    const char *end = text + len;
    json_t *value;

    for (const char *at = text; at < end;) {
        const char *start = at;

        if (*at == '"') {
            for (at++; at < end && *at != '"'; at++)
                at += *at == '\\' && at + 1 < end;
            at += at < end;
            text_add_char(&marked, '"');
            text_add_char(&marked, string_mark);
            text_add_bytes(&marked, start + 1, (size_t)(at - start) - 1);
        } else if ((*at == '-' || is_digit(*at)) && (at = number_end(at, end)) != NULL) {
            text_add_char(&marked, '"');
            text_add_char(&marked, number_mark);
            text_add_bytes(&marked, start, (size_t)(at - start));
            text_add_char(&marked, '"');
        } else {
            /* No number after all: jansson says what is wrong with it. */
            at = start + 1;
            text_add_char(&marked, *start);
        }
    }
    value =
        json_loadb(text_string(&marked), marked.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, error);
    text_free(&marked);
    return value;
}

/* A number as sign, digits without zeros at either end, and the power of ten of the first digit. */
struct decimal {
    bool negative;
    char *digits; /* "" for zero */
    int64_t power;
};

static struct decimal decimal_of(const char *number)
{
    struct decimal decimal = {.negative = *number == '-'};
    size_t len = strlen(number);
    const char *end = number + len;
    int64_t point = 0;
    int64_t exponent = 0;
    bool behind = false;
    size_t count = 0;
    size_t lead = 0;

    decimal.digits = text_alloc(len + 1);
    for (number += decimal.negative; number < end && *number != 'e' && *number != 'E'; number++) {
        if (*number == '.') {
            behind = true;
            continue;
        }
        decimal.digits[count++] = *number;
        point += !behind;
    }
    if (number < end) {
        bool down = *++number == '-';

        for (number += down || *number == '+'; number < end && exponent < INT32_MAX; number++)
            exponent = exponent * 10 + (*number - '0');
        exponent = down ? -exponent : exponent;
    }
    while (count > 0 && decimal.digits[count - 1] == '0')
        count--;
    while (lead < count && decimal.digits[lead] == '0')
        lead++;
    memmove(decimal.digits, decimal.digits + lead, count - lead);
    decimal.digits[count - lead] = '\0';
    decimal.power = point + exponent - (int64_t)lead;
    if (decimal.digits[0] == '\0')
        decimal = (struct decimal){.digits = decimal.digits};
    return decimal;
}

bool json_exact_number_equal(const char *a, const char *b)
{
    struct decimal left;
    struct decimal right;
    bool equal;

    if (number_end(a, a + strlen(a)) != a + strlen(a) || number_end(b, b + strlen(b)) != b + strlen(b))
        return false;
    left = decimal_of(a);
    right = decimal_of(b);
    equal = left.negative == right.negative && left.power == right.power && strcmp(left.digits, right.digits) == 0;
    free(left.digits);
    free(right.digits);
    return equal;
}

/* Length without what a fraction of a second may have behind its last digit; 0 when it is no date and time. */
static size_t timestamp_len(const char *string, size_t len)
{
    static const char form[] = "0000-00-00T00:00:00";
    size_t seconds = sizeof form - 1;

    if (len < seconds || (len > seconds && (string[seconds] != '.' || len == seconds + 1)))
        return 0;
    for (size_t i = 0; i < len; i++) {
        bool fits = i < seconds && form[i] != '0' ? string[i] == form[i] : i == seconds || is_digit(string[i]);

        if (!fits)
            return 0;
    }
    while (len > seconds && (string[len - 1] == '0' || string[len - 1] == '.'))
        len--;
    return len;
}

static bool string_equal(const json_t *expected, const json_t *actual)
{
    const char *want = json_string_value(expected);
    const char *got = json_string_value(actual);
    size_t want_len = json_string_length(expected);
    size_t got_len = json_string_length(actual);

    if (want_len == got_len && memcmp(want, got, want_len) == 0)
        return true;
    if (want[0] != got[0])
        return false;
    if (want[0] == number_mark)
        return json_exact_number_equal(want + 1, got + 1);
    want_len = timestamp_len(want + 1, want_len - 1);
    got_len = timestamp_len(got + 1, got_len - 1);
    return want_len > 0 && want_len == got_len && memcmp(want, got, want_len + 1) == 0;
}

/* A value for a message: what it was in its text, shortened. */
static void add_shown(struct text *text, const json_t *value)
{
    enum { shown_max = 100 };

    if (json_is_string(value)) {
        const char *string = json_string_value(value);
        size_t len = json_string_length(value) - 1;
        bool quoted = string[0] == string_mark;

        text_add(text, quoted ? "\"" : "");
        text_add_visible(text, string + 1, len > shown_max ? shown_max : len);
        text_add(text, len > shown_max ? "..." : "");
        text_add(text, quoted ? "\"" : "");
    } else if (json_is_object(value)) {
        text_addf(text, "an object of %zu", json_object_size(value));
    } else if (json_is_array(value)) {
        text_addf(text, "an array of %zu", json_array_size(value));
    } else {
        text_add(text, json_is_null(value) ? "null" : json_is_true(value) ? "true" : "false");
    }
}

static int differ(const struct text *path, const json_t *expected, const json_t *actual, struct err *err)
{
    struct text message = {0};

    text_add(&message, text_string(path));
    text_add(&message, path->len > 0 ? ": expected " : "expected ");
    add_shown(&message, expected);
    text_add(&message, ", got ");
    add_shown(&message, actual);
    (void)err_fail(err, "%s", text_string(&message));
    text_free(&message);
    return -1;
}

static void path_cut(struct text *path, size_t len)
{
    if (path->data != NULL)
        path->data[len] = '\0';
    path->len = len;
}

static int compare(struct text *path, const json_t *expected, const json_t *actual, struct err *err);

static int compare_objects(struct text *path, const json_t *expected, const json_t *actual, struct err *err)
{
    size_t len = path->len;
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)expected, key, value) {
        json_t *other = json_object_get(actual, key);

        text_add(path, len > 0 ? "." : "");
        text_add_visible(path, key + 1, strlen(key + 1));
        if (other == NULL)
            return err_fail(err, "%s: is missing", text_string(path));
        if (compare(path, value, other, err) != 0)
            return -1;
        path_cut(path, len);
    }
    json_object_foreach ((json_t *)actual, key, value) {
        if (json_object_get(expected, key) != NULL)
            continue;
        text_add(path, len > 0 ? "." : "");
        text_add_visible(path, key + 1, strlen(key + 1));
        return err_fail(err, "%s: is there, but was not expected", text_string(path));
    }
    return 0;
}

static int compare_arrays(struct text *path, const json_t *expected, const json_t *actual, struct err *err)
{
    size_t len = path->len;

    if (json_array_size(expected) != json_array_size(actual))
        return differ(path, expected, actual, err);
    for (size_t i = 0; i < json_array_size(expected); i++) {
        text_addf(path, "[%zu]", i);
        if (compare(path, json_array_get(expected, i), json_array_get(actual, i), err) != 0)
            return -1;
        path_cut(path, len);
    }
    return 0;
}

static int compare(struct text *path, const json_t *expected, const json_t *actual, struct err *err)
{
    if (json_is_object(expected) && json_is_object(actual))
        return compare_objects(path, expected, actual, err);
    if (json_is_array(expected) && json_is_array(actual))
        return compare_arrays(path, expected, actual, err);
    if (json_is_string(expected) && json_is_string(actual))
        return string_equal(expected, actual) ? 0 : differ(path, expected, actual, err);
    return json_typeof(expected) == json_typeof(actual) ? 0 : differ(path, expected, actual, err);
}

int json_exact_compare(const char *expected, size_t expected_len, const char *actual, size_t actual_len,
                       struct err *err)
{
    json_error_t error;
    struct text path = {0};
    json_t *want = parse(expected, expected_len, &error);
    json_t *got;
    int result;

    if (want == NULL) {
        json_error_clean(&error);
        return err_set(err, "what is expected is no JSON: %s", error.text);
    }
    got = parse(actual, actual_len, &error);
    if (got == NULL) {
        struct text shown = {0};

        text_add_visible(&shown, actual, actual_len > 200 ? 200 : actual_len);
        (void)err_fail(err, "expected JSON, got \"%s%s\"", text_string(&shown), actual_len > 200 ? "..." : "");
        text_free(&shown);
        json_decref(want);
        return -1;
    }
    result = compare(&path, want, got, err);
    json_decref(want);
    json_decref(got);
    text_free(&path);
    return result;
}
