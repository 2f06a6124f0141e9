/*
 * csv - the file of measurements: one line per server, round, test and number of connections.
 *
 * One table (csv_columns) describes the 17 columns; header, writer and reader come from it.
 *
 * Reading, bounded in memory whatever the file's size (no allocation per line):
 *     struct csv_reader reader;
 *     if (csv_open(path, &reader, &err) != 0) ...
 *     while ((got = csv_next(&reader, &line, &err)) == 1) ...   strings are borrowed until the next call
 *     csv_close(&reader);
 * Strict: numbers are plain decimals, titles valid UTF-8 without control characters, every fault is
 * file:line:column (for quotes, byte-order marks and cut lines see fields.h). After a fault in a line (csv_next
 * returned -1 and fields.broken is false) reading may go on with the next line.
 *
 * Writing: csv_header() once, then csv_format_line() per cell. What is unknown (NaN) is an empty field.
 */
#ifndef RESULTS_CSV_H
#define RESULTS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "results/fields.h"

#define CSV_COLUMNS 17
#define CSV_HIGHEST 1e15 /* no figure is larger */

/* One cell, in the units of the column names. NaN: unknown. */
struct csv_line {
    const char *utc; /* end of the cell, 2026-11-30T12:34:56Z */
    const char *server;
    int64_t round; /* from 1 */
    const char *test;
    int64_t connections; /* from 1 */
    double requests_per_s;
    double latency_p50_ms;
    double latency_p99_ms;
    double responses_2xx; /* a whole number */
    double errors;        /* a whole number */
    double cpu_server_s;
    double cpu_postgres_s;
    double working_set_mb;
    double private_mb;
    double startup_s;
    double cpu_server_user_s;
    double cpu_server_kernel_s;
};

enum csv_type {
    CSV_UTC,     /* const char * */
    CSV_SERVER,  /* const char *, text_is_title() */
    CSV_TEST,    /* the same */
    CSV_KEY,     /* int64_t, a whole number from 1, never empty */
    CSV_COUNT,   /* double, a whole number */
    CSV_DECIMAL, /* double */
};

struct csv_column {
    const char *name;
    enum csv_type type;
    int decimals;  /* as the writer prints it */
    size_t offset; /* in struct csv_line */
    bool may_be_empty;
    bool may_be_negative; /* an imported file may hold a negative figure; csv_format_line() never writes one */
};

extern const struct csv_column csv_columns[CSV_COLUMNS];

/* The number of a CSV_COUNT or CSV_DECIMAL column. */
double csv_number(const struct csv_line *line, size_t column);

/* Adds a string as one field: quoted by RFC 4180 where it must be. */
void csv_add_text(struct text *text, const char *string);
/* The header without a newline. */
void csv_header(struct text *text);
/* The line without a newline. Fails for what a reader would refuse: an unusable title, a negative figure. */
int csv_format_line(const struct csv_line *line, struct text *text, struct err *err);

/* The title or name that was found valid last: consecutive lines mostly hold the same one. */
struct csv_known {
    char data[128];
    size_t len;
};

struct csv_reader {
    struct fields fields; /* its line, offset, broken and cut may be read */
    struct field field[CSV_COLUMNS];
    struct csv_known server, test;
};

/* Opens and checks the header. */
int csv_open(const char *path, struct csv_reader *reader, struct err *err);
/* 1: a line; 0: the end; -1: a fault. */
int csv_next(struct csv_reader *reader, struct csv_line *line, struct err *err);
void csv_close(struct csv_reader *reader);
/* True for the form 2026-11-30T12:34:56Z. */
bool csv_is_utc(const struct field *field);
/* err_set with file:line:column and name of a field of the line read last in front. Returns -1. */
int csv_fault(const struct csv_reader *reader, size_t column, struct err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
