/*
 * postgres_bin - PostgreSQL's programs on this machine: where they are and what version they have.
 *
 * Looked for in $RESTBENCH_PG_BIN alone when it is set; else in PATH, in the folders where distributions put a version
 * each, and where pg_config says. Versions 13 to 18 are used, the newest first.
 */
#ifndef TARGET_POSTGRES_BIN_H
#define TARGET_POSTGRES_BIN_H

#include "base/err.h"

#define POSTGRES_OLDEST 13
#define POSTGRES_NEWEST 18

struct postgres_bin {
    char *dir; /* holds postgres and initdb */
    int major;
    char *version; /* "15.18" */
};

/* The newest, or the one of `major` when it is not 0. */
int postgres_bin_find(int major, struct postgres_bin *bin, struct err *err);
void postgres_bin_free(struct postgres_bin *bin);
/* The path of one of its programs, the caller's; NULL when it is not there. */
char *postgres_bin_program(const struct postgres_bin *bin, const char *name);

/* "postgres (PostgreSQL) 15.18 (Debian ...)": the version, the caller's, and its major; NULL when it is none. */
char *postgres_bin_parse_version(const char *line, int *major);

#endif
