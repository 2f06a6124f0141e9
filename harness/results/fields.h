/*
 * fields - lines of a comma-separated file, cut into fields, in bounded memory: what csv and published stand on.
 *
 *     struct fields fields;
 *     struct field field[3];
 *     if (fields_open(path, &fields, &err) != 0) ...
 *     while ((got = fields_next(&fields, field, 3, &count, &err)) == 1) ...   borrowed until the next call
 *     fields_close(&fields);
 *
 * A byte-order mark, CRLF and RFC 4180 quotes are read as if they were absent; a field never spans lines. A last line
 * without a newline is a fault: nobody can know whether its last figure is whole.
 */
#ifndef RESULTS_FIELDS_H
#define RESULTS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct field {
    char *data; /* NUL-terminated; may hold a NUL before `len` when the file does */
    size_t len;
    uint32_t column; /* byte of the line where it begins, from 1 */
};

struct fields {
    char *file;
    int fd;
    char *buffer;
    size_t begin; /* what is not read yet lies in buffer[begin, end) */
    size_t end;
    bool at_eof;
    uint64_t line;   /* number of the line read last, from 1 */
    uint64_t offset; /* bytes of the file up to the end of the last whole line */
    bool broken;     /* the file cannot be read on */
    bool cut;        /* the last line has no newline; it was reported as a fault */
};

int fields_open(const char *path, struct fields *fields, struct err *err);
/*
 * 1: a line of *count fields, at most `most` (more are a fault); 0: the end; -1: a fault. After a fault reading may go
 * on with the next line unless `broken`.
 */
int fields_next(struct fields *fields, struct field *field, size_t most, size_t *count, struct err *err);
void fields_close(struct fields *fields);

/* err_set with file:line:column in front. Returns -1. */
int fields_fault(const struct fields *fields, uint32_t column, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* -?(0|[1-9][0-9]*)(\.[0-9]+)? : 0, or -1 and the value is left alone. */
int fields_number(const struct field *field, double *value);
/* The field as one printable line of at most 40 bytes, for messages; the caller's. */
char *fields_shown(const struct field *field);

#endif
