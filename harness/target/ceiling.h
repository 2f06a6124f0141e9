/*
 * ceiling - what the database alone does: pgbench with the statement of a test, as many clients as a server has
 * connections, prepared statements, as the servers' own role.
 *
 * A test NAME has a script DIR/NAME.sql for pgbench and, when it sends values that pgbench cannot make, a query
 * DIR/NAME.values.sql with one row whose columns become variables. The password goes through a file.
 */
#ifndef TARGET_CEILING_H
#define TARGET_CEILING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "target/database.h"

struct ceiling_job {
    struct database *database;
    const char *program;  /* pgbench */
    const char *script;   /* NAME.sql */
    const char *work_dir; /* for the password file; made private by its mode */
    int64_t clients;
    int64_t threads;
    double seconds;
};

struct ceiling_result {
    double transactions;
    double transactions_per_s; /* without the time to connect */
    double latency_mean_ms;
    double failed; /* transactions; NAN: this version does not count them */
};

/* The newest pgbench of this machine, the caller's, and its version. */
char *ceiling_find_pgbench(char **version, struct err *err);
/* One pgbench of job->seconds. */
int ceiling_run(const struct ceiling_job *job, struct ceiling_result *result, struct err *err);

/* pgbench's report; a figure that is missing is NAN. -1: no rate in it. */
int ceiling_parse(const char *text, struct ceiling_result *result);

#endif
