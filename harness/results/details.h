/*
 * details - reads X_details.jsonl: one JSON object a line, a line at a time, in bounded memory.
 *
 *     struct details_reader reader;
 *     struct details_line line;
 *     if (details_open(path, &reader, &err) != 0) ...
 *     while ((got = details_next(&reader, &line, &err)) == 1) ...     borrowed until the next call
 *     details_close(&reader);
 *
 * A fault (-1) is file:line:column; reading may go on behind it unless `broken`. A last line without a newline (the
 * run was killed while it wrote) is the fault `cut`.
 */
#ifndef RESULTS_DETAILS_H
#define RESULTS_DETAILS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/text.h"

#define DETAILS_LINE_LIMIT (16 * 1024 * 1024)

enum details_kind {
    DETAILS_CELL,           /* a finished cell: it has a CSV line too */
    DETAILS_FAILED,         /* a cell that could not be measured */
    DETAILS_RECONCILIATION, /* one per server run: the database's count against the answers */
    DETAILS_OTHER,          /* of a later version */
};

struct details_line {
    enum details_kind kind;
    const json_t *json;
    const char *row; /* id; "" where the line has none, as in the following */
    const char *title;
    const char *test;
    const char *phase;
    int64_t round;       /* 0: none */
    int64_t connections; /* 0: none */
};

struct details_reader {
    char *file;
    FILE *stream;
    struct text text;
    json_t *json;
    uint64_t line;   /* number of the line read last, from 1 */
    uint64_t offset; /* bytes of the file up to the end of the last whole line */
    bool broken;
    bool cut;
};

int details_open(const char *path, struct details_reader *reader, struct err *err);
/* 1: a line; 0: the end; -1: a fault. */
int details_next(struct details_reader *reader, struct details_line *line, struct err *err);
void details_close(struct details_reader *reader);

/* A number at a path of object keys joined by '.': "load.restbench.ok"; NaN when it is missing or null. */
double details_number(const json_t *json, const char *path);
/* The value at such a path; NULL when there is none. */
json_t *details_at(const json_t *json, const char *path);

#endif
