/*
 * check_row - one server of `restbench check`: built, started, held to the contract, looked at, stopped; every step a
 * line of TAP.
 */
#ifndef CLI_CHECK_ROW_H
#define CLI_CHECK_ROW_H

#include <stdbool.h>

#include "cli/tap.h"
#include "target/contract.h"
#include "target/database.h"
#include "target/row.h"

struct machine;
struct place;

struct check_row_env {
    const struct contract *contract;
    struct database *database; /* NULL: a study without one */
    const char *secret;        /* NULL: no security */
    int64_t pool;
    const struct machine *machine; /* whose CPUs builds may use */
    const struct place *place;     /* where servers live */
    const char *state_dir;
    bool prefix; /* names of cases begin with the row's */
    struct tap *tap;
};

/* -1 only when nothing more can be checked: the database failed us, or the user interrupted. */
int check_row(const struct check_row_env *env, struct row *row, struct err *err);

#endif
