/*
 * row - one line of a study's tables: a folder of servers/ in one of its variants, and what became of it.
 *
 * rows_load() makes the rows of a study (or of all folders) from their recipes; row_resolve() finds what the machine
 * has of what a row requires, and with that its versions and its title. Its identity is folder and variant ("id"),
 * never the title; two rows with one title are refused before a run.
 */
#ifndef TARGET_ROW_H
#define TARGET_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/fsx.h"
#include "base/pattern.h"
#include "machine/env.h"
#include "target/recipe.h"

enum row_state {
    ROW_PLANNED,  /* nothing stands against it yet */
    ROW_SKIPPED,  /* the machine lacks something it requires */
    ROW_FAILED,   /* its build, start, contract or measurement failed */
    ROW_MEASURED, /* at least one cell is there */
};

struct row {
    const struct recipe *recipe;          /* borrowed from struct rows */
    const struct recipe_variant *variant; /* the same */
    char *id;                             /* "folder" or "folder:variant" */
    char *title;                          /* with the versions found */
    enum row_state state;
    char *reason;     /* one line; NULL while planned or measured without trouble */
    char *log;        /* the file that tells more; NULL: none */
    json_t *versions; /* {"go": "1.26.8", ...} */
    struct env found; /* variables that its requirements set: for build and run */
    char build_hash[FSX_SHA256_SIZE];
    char *build_dir; /* where it was built and runs; NULL: not yet */
    json_t *build;   /* what its build got (child_spec_to_json); NULL: nothing to build, or not yet */
    json_t *launch;  /* the same of its server, as it was started first */
};

struct rows {
    struct recipe **recipes;
    size_t recipe_count;
    struct row *items;
    size_t count;
};

/* The rows named by `ids`, in that order. An id without a folder, recipe or variant is an error that names the nearest.
 */
int rows_load(const char *servers_dir, char *const *ids, size_t count, struct rows *rows, struct err *err);
/* Every folder under servers_dir that holds a server.json, sorted, with all its variants. */
int rows_load_all(const char *servers_dir, struct rows *rows, struct err *err);
void rows_free(struct rows *rows);

/* Keeps the rows whose id, folder or title `pattern` matches. Errors when none is left, naming the nearest. */
int rows_filter(struct rows *rows, const char *option, const char *expression, struct err *err);

/* `url` (NULL: none) names the server of each row that can observe one, instead of the variable that its recipe has for
 * it. To be called before rows_resolve(). */
int rows_observe(struct rows *rows, const char *url, struct err *err);
/* Looks for what every row requires; fills title and versions, or makes a row skipped with its reason. */
void rows_resolve(struct rows *rows);
/* Two rows that would print the same title: an error that names both. */
int rows_check_titles(const struct rows *rows, struct err *err);

/* True when its server runs already and is somebody else's: never built, started, pinned or stopped. */
bool row_is_observed(const struct row *row);
bool rows_any_observed(const struct rows *rows);
/* "http://127.0.0.1:8080" of an observed row, taken apart; the port is needed to know whom we talk to. */
int row_observed_port(const char *url, struct err *err);

/* What its server got; the first start is kept. */
void row_set_launch(struct row *row, json_t *record);
/* State and reason; the first failure is kept. `reason` and `log` are copied; NULL log: none. */
void row_set_state(struct row *row, enum row_state state, const char *log, const char *reason);
const char *row_state_name(enum row_state state);

/* The row's object in machine.json; `pool` as the study has it. */
json_t *row_to_json(const struct row *row, long long pool);

#endif
