#include "base/json.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"

json_t *json_number(double value, int decimals)
{
    double scale = 1;

    if (!isfinite(value))
        return json_null();
    if (decimals == 0 && fabs(value) < 9e15)
        return json_integer((json_int_t)llround(value));
    for (int i = 0; i < decimals; i++)
        scale *= 10;
    if (fabs(value) < 9e15 / scale)
        value = round(value * scale) / scale;
    return json_real(value);
}

void json_put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

double json_get_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *json_get_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* jansson turns the locale's radix character into a point only where it is one byte; "C" makes that moot. */
static char *dump(const json_t *value, size_t flags)
{
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = c_locale != (locale_t)0 ? uselocale(c_locale) : (locale_t)0;
    char *string = json_dumps(value, flags | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

    if (c_locale != (locale_t)0) {
        (void)uselocale(before);
        freelocale(c_locale);
    }
    return string != NULL ? string : text_dup("null");
}

char *json_line(const json_t *value)
{
    return dump(value, JSON_COMPACT);
}

char *json_pretty(const json_t *value)
{
    return dump(value, JSON_INDENT(2));
}
