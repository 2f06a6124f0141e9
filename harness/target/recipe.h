/*
 * recipe - what servers/FOLDER/server.json says (format 1, harness/schema/server.schema.json): how a test server is
 * built, run, and recognised, what it requires, and its variants. Adding a server is adding such a folder.
 *
 * recipe_load() checks the file; it runs nothing. All strings belong to the recipe; free with recipe_free().
 */
#ifndef TARGET_RECIPE_H
#define TARGET_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* An argv and what it adds to the child's environment. */
struct recipe_command {
    const char **argv; /* NULL-terminated; strings may hold ${VAR}, expanded from the child's environment; NULL: none */
    json_t *env;       /* object of strings, borrowed; NULL: none */
    double timeout_s;  /* builds only */
};

/* Something that must be there: a tool of at least some version, or one of some variables of the caller. */
struct recipe_need {
    const char *name;       /* of the tool, and of its version in titles; NULL for variables */
    const char **variables; /* the caller's, of which exactly one must be set and is passed on; NULL for a tool */
    const char **search;    /* folders to try first: "$VAR" or a glob; NULL: PATH */
    const char **argv;      /* prints the version */
    const char *pattern;    /* PCRE2; group 1 is the version */
    const char *at_least;   /* dotted version; NULL: any */
    const char *set_env;    /* variable that build and run get, with the folder found by `search` */
    const char *hint;       /* what to do when it is missing */
};

/* Where a version shown in titles and machine.json comes from: a command's output or a file of the folder. */
struct recipe_version {
    const char *name;
    const char **argv; /* or */
    const char *file;
    const char *pattern;
};

struct recipe_variant {
    const char *name; /* "" when the folder has no variants */
    const char *title;
    int64_t processes;
    struct recipe_command run;
    json_t *env; /* added to run's; borrowed; NULL: none */
    struct recipe_need *needs;
    size_t need_count;
};

struct recipe {
    char *folder; /* name under servers/ */
    char *dir;
    struct json_doc doc;  /* owns the strings */
    const char *approach; /* "standard" or "tuned" */
    const char *caches;   /* a sentence, or NULL */
    bool reference;
    bool single_threaded; /* each process uses at most one CPU */
    const char *observed; /* the variable with the URL of a server that listens already, or NULL */
    struct recipe_need *needs;
    size_t need_count;
    struct recipe_command build; /* argv NULL: nothing to build */
    struct recipe_version *versions;
    size_t version_count;
    struct recipe_variant *variants;
    size_t variant_count; /* at least 1 */
    double start_timeout_s;
    double stop_timeout_s;
    int64_t port;       /* 0: any free one */
    const char *run_as; /* NULL: restbench's choice */
};

int recipe_load(const char *servers_dir, const char *folder, struct recipe *recipe, struct err *err);
void recipe_free(struct recipe *recipe);

#endif
