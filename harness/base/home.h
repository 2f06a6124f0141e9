/*
 * home - where restbench keeps its state, and where the files that belong to it are.
 *
 * The state folder (database cluster, build cache, locks, logs) is, in this order: the --state option,
 * $RESTBENCH_STATE, /var/lib/restbench for root, $XDG_STATE_HOME/restbench, ~/.local/state/restbench. It lies outside
 * the checkout, where the database's unprivileged user can reach it. Files that belong to restbench (sql/, config/,
 * servers/) are looked for in the working directory, then beside the running program (a checkout), then in
 * ../share/restbench from there and in PREFIX/share/restbench (installed).
 */
#ifndef BASE_HOME_H
#define BASE_HOME_H

#include "base/err.h"

/* The absolute path of the state folder, made when it is missing (mode 0755); the caller's. NULL: err says why.
 * `option`: the value of --state, NULL when it was not given. */
char *home_state(const char *option, struct err *err);

/* The path of `name` ("sql/schema.sql"), the caller's; NULL: err lists where it was looked for. */
char *home_file(const char *name, struct err *err);

#endif
