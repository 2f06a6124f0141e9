/*
 * names - what the tests of a study are called, which use the database, and which rows are references.
 *
 * A run's machine.json says it; for a lone CSV the study that is installed with restbench (config/study.json) does. A
 * name that nobody knows is printed as it is, and is taken to use the database.
 */
#ifndef RESULTS_NAMES_H
#define RESULTS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "results/machine_file.h"

struct names_test {
    char *name;
    char *title;
    bool database;
};

struct names {
    struct names_test *tests;
    size_t test_count;
    char **references; /* titles; from the installed study with {version} for any version */
    size_t reference_count;
};

void names_from_machine(const struct machine_file *machine, struct names *names);
/* Reads what is installed; what cannot be read is as if it were not there. */
void names_from_installed(struct names *names);
void names_free(struct names *names);

/* NULL when the study has no such test. */
const struct names_test *names_find_test(const struct names *names, const char *name);
bool names_is_reference(const struct names *names, const char *title);

#endif
