#include "results/verify.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fsx.h"
#include "results/record.h"

void verify_fault(struct verify *verify, const char *file, uint64_t line, const char *format, ...)
{
    char text[700];
    va_list args;

    if (++verify->faults > VERIFY_SHOWN)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (file == NULL)
        text_addf(&verify->text, "%s\n", text);
    else if (line > 0)
        text_addf(&verify->text, "%s:%llu: %s\n", file, (unsigned long long)line, text);
    else
        text_addf(&verify->text, "%s: %s\n", file, text);
}

int verify_run(const char *csv, struct verify *verify, struct err *err)
{
    char *details = record_beside(csv, "_details.jsonl");
    char *machine = record_beside(csv, "_machine.json");
    /* Faults show figures: with points, whatever the locale. */
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = uselocale(c_locale);
    int result;

    verify->details = fsx_exists(details);
    verify->machine = fsx_exists(machine);
    result = record_is_calibration(csv) ? verify_calibration(csv, verify, err) : verify_csv(csv, verify, err);
    if (result == 0 && verify->details)
        result = verify_details(details, verify, err);
    if (result == 0 && verify->machine)
        verify_machine(machine, csv, verify);
    (void)uselocale(before);
    if (c_locale != (locale_t)0)
        freelocale(c_locale);
    free(details);
    free(machine);
    return result;
}

char *verify_key(const char *server, int64_t round, const char *test, int64_t connections)
{
    return text_format("%s\n%lld\n%s\n%lld", server, (long long)round, test, (long long)connections);
}

void verify_free(struct verify *verify)
{
    text_free(&verify->text);
    intern_free(&verify->servers);
    intern_free(&verify->tests);
    intern_free(&verify->failed);
    free(verify->lines);
    free(verify->slots);
    *verify = (struct verify){0};
}
