#include "base/text.h"

#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int text_parse_u64(const char *string, uint64_t *value)
{
    uint64_t sum = 0;

    if (!is_digit(*string))
        return -1;
    for (; is_digit(*string); string++)
        if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*string - '0'), &sum))
            return -1;
    if (*string != '\0')
        return -1;
    *value = sum;
    return 0;
}

int text_parse_i64(const char *string, int64_t *value)
{
    bool negative = *string == '-';
    uint64_t magnitude;

    if (text_parse_u64(string + negative, &magnitude) != 0 || magnitude > (uint64_t)INT64_MAX)
        return -1;
    *value = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return 0;
}

/* strtod of the "C" locale, whatever the process's locale is. */
static double c_strtod(const char *string)
{
    static locale_t c_locale;

    if (c_locale == (locale_t)0)
        c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c_locale != (locale_t)0 ? strtod_l(string, NULL, c_locale) : NAN;
}

int text_parse_double_n(const char *bytes, size_t len, double *value)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
    size_t i = len > 0 && bytes[0] == '-';
    size_t start = i;
    size_t decimals = 0;
    uint64_t digits = 0;
    double parsed;

    for (; i < len && is_digit(bytes[i]); i++)
        digits = digits * 10 + (uint64_t)(bytes[i] - '0');
    if (i == start)
        return -1;
    if (i < len && bytes[i] == '.') {
        for (i++; i < len && is_digit(bytes[i]); i++, decimals++)
            digits = digits * 10 + (uint64_t)(bytes[i] - '0');
        if (decimals == 0)
            return -1;
    }
    if (i != len)
        return -1;
    /* At most 15 digits and a power of ten below 1e23 are exact in a double, so one division rounds correctly. */
    if (len - start <= 16 && decimals < sizeof powers / sizeof powers[0]) {
        parsed = (double)digits / powers[decimals];
        *value = start == 1 ? -parsed : parsed;
        return 0;
    }
    if (len >= 400)
        return -1;
    {
        char copy[400];

        memcpy(copy, bytes, len);
        copy[len] = '\0';
        parsed = c_strtod(copy);
    }
    if (!isfinite(parsed))
        return -1;
    *value = parsed;
    return 0;
}

int text_parse_double(const char *string, double *value)
{
    return text_parse_double_n(string, strlen(string), value);
}

int text_parse_pct(const char *string, double *pct)
{
    size_t len = strlen(string);

    if (len > 0 && string[len - 1] == '%')
        len--;
    if (len > 0 && string[len - 1] == ' ')
        len--;
    return text_parse_double_n(string, len, pct);
}

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};

int text_parse_duration(const char *string, int64_t *ns)
{
    double sum = 0;

    if (strcmp(string, "0") == 0) {
        *ns = 0;
        return 0;
    }
    if (*string == '\0')
        return -1;
    while (*string != '\0') {
        size_t number = strspn(string, "0123456789.");
        size_t unit = strcspn(string + number, "0123456789.");
        double value;
        size_t i;

        if (number == 0 || unit == 0 || text_parse_double_n(string, number, &value) != 0)
            return -1;
        for (i = 0; i < sizeof units / sizeof units[0]; i++)
            if (strlen(units[i].name) == unit && memcmp(units[i].name, string + number, unit) == 0)
                break;
        if (i == sizeof units / sizeof units[0])
            return -1;
        sum += value * units[i].ns;
        string += number + unit;
    }
    if (sum > 9e18)
        return -1;
    *ns = (int64_t)llround(sum);
    return 0;
}

void text_add_duration(struct text *text, int64_t ns)
{
    if (ns == 0) {
        text_add(text, "0s");
    } else if (ns % 1000000000 == 0) {
        int64_t s = ns / 1000000000;

        if (s >= 3600)
            text_addf(text, "%lldh", (long long)(s / 3600));
        if (s % 3600 >= 60)
            text_addf(text, "%lldm", (long long)(s % 3600 / 60));
        if (s % 60 != 0)
            text_addf(text, "%llds", (long long)(s % 60));
    } else if (ns % 1000000 == 0) {
        text_addf(text, "%lldms", (long long)(ns / 1000000));
    } else if (ns % 1000 == 0) {
        text_addf(text, "%lldus", (long long)(ns / 1000));
    } else {
        text_addf(text, "%lldns", (long long)ns);
    }
}
