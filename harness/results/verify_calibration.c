#include "results/verify.h"

#include <string.h>

#define FIELDS 3

static void check_line(struct verify *verify, const struct fields *fields, const struct field *field, char *before)
{
    double processes = 0;
    double ms = 0;

    if (!csv_is_utc(&field[0])) {
        verify_fault(verify, fields->file, fields->line, "expected a time such as 2026-11-30T12:34:56Z");
        return;
    }
    if (strcmp(field[0].data, before) < 0)
        verify_fault(verify, fields->file, fields->line, "utc goes back: %s after %s", field[0].data, before);
    (void)memcpy(before, field[0].data, 21);
    if (fields_number(&field[1], &processes) != 0 || processes < 1 || fields_number(&field[2], &ms) != 0 || ms <= 0)
        verify_fault(verify, fields->file, fields->line, "expected a number of processes and milliseconds above 0");
    verify->cells++;
}

int verify_calibration(const char *path, struct verify *verify, struct err *err)
{
    static const char *const names[FIELDS] = {"utc", "processes", "ms"};
    struct fields fields;
    struct field field[FIELDS];
    struct err fault = {0};
    char before[21] = "";
    size_t count;
    int got;

    if (fields_open(path, &fields, err) != 0)
        return -1;
    while ((got = fields_next(&fields, field, FIELDS, &count, &fault)) != 0) {
        if (got < 0) {
            verify_fault(verify, NULL, 0, "%s", fault.text);
            err_clear(&fault);
        } else if (count != FIELDS) {
            verify_fault(verify, path, fields.line, "expected %d fields, found %zu", FIELDS, count);
        } else if (fields.line > 1) {
            check_line(verify, &fields, field, before);
        } else {
            for (size_t i = 0; i < FIELDS; i++)
                if (strcmp(field[i].data, names[i]) != 0)
                    verify_fault(verify, path, 1, "expected column \"%s\"", names[i]);
        }
    }
    fields_close(&fields);
    return 0;
}
