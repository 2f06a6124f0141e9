/*
 * config - a study as data: what a study file (format 1, harness/schema/study.schema.json) says.
 *
 * A study names rows (server folder and variant), rounds, phases and tests; no test and no server is known to the code
 * by name. config_load() checks everything that can be known without starting anything; each fault is one line with
 * file:line:column. All strings belong to the study; free with config_free(). Paths are absolute or relative to the
 * working directory (the file's own are resolved against its folder).
 */
#ifndef STUDY_CONFIG_H
#define STUDY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* What a request carries, or what its answer must be. */
enum study_content {
    CONTENT_NONE,
    CONTENT_BYTES, /* text: as it stands (inline, or read from a file) */
    CONTENT_JSON,  /* text: a JSON value; compared by value */
    CONTENT_SQL,   /* text: a query whose single value is the JSON */
};

struct study_test {
    char *name;  /* [a-z0-9_-]+, the CSV's value */
    char *title; /* as tables print it */
    char *method;
    char *path;
    char **headers; /* "Name: value", NULL-terminated */
    enum study_content body_kind;
    char *body;
    size_t body_len;
    enum study_content
        requests_kind; /* NONE: every request is the one above; else many (load/ring.h), of which it is an example */
    char *requests;
    size_t requests_len;
    int expect_status;
    enum study_content expect_kind;
    char *expect;
    bool uses_database;
    bool writes;              /* the table is put back before it */
    int64_t rows_per_request; /* rows that one 2xx answer of a writing test stands for */
};

struct study_phase {
    char *name; /* [A-Za-z0-9_.-]+; in the study the number of connections */
    int64_t connections;
    double rate_per_s; /* 0: closed loop */
    double seconds;
};

struct study {
    char *file;
    char *title;
    char **servers; /* row ids: "folder" or "folder:variant", NULL-terminated */
    size_t server_count;
    char *servers_dir;
    int64_t rounds;
    bool alternating; /* odd rounds forward, even ones reverse */
    double warmup_seconds;
    int64_t warmup_connections;
    struct study_phase *phases;
    size_t phase_count;
    bool jwt;
    int64_t pool;     /* connections to the database for a whole server */
    char *cpus;       /* "auto" or "SERVER/GENERATOR" */
    bool after_start; /* affinity set after start, as the study did it, instead of before exec */
    bool calibrates;  /* the machine's speed is measured before and after */
    bool ceiling;     /* what the database alone does is measured, too */
    int64_t timeout_ns;
    bool has_database;
    char *table; /* NULL without a database */
    int64_t rows;
    char *schema_path;
    char *seed_path;
    char *reset_path;
    char *checksum_path;
    char *contract_path; /* NULL: only the tests' own expectations are checked */
    struct study_test *tests;
    size_t test_count;
    json_t *json; /* the file's content, for machine.json */
};

int config_load(const char *path, struct study *study, struct err *err);
void config_free(struct study *study);

/*
 * Which tests take part: those whose name or title matches (NULL: all). *tests has an entry for each test; free() it,
 * after an error too. None is an error that names what there is.
 */
int config_choose_tests(const struct study *study, const char *expression, bool **tests, struct err *err);

/* Checks "name": letters, digits, '_', '-', '.', at most 60: it becomes part of file names and CSV fields. */
bool config_is_name(const char *name);

#endif
