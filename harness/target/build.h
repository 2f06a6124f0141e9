/*
 * build - a server made from its folder, once: STATE/build/FOLDER/HASH, where HASH is of the folder's content.
 *
 * The folder's files are copied there and its build command runs in the copy, so that a checkout is never written and
 * an older build stays for comparison. The file `ok` says that a build is whole; without it the folder is made anew.
 * STATE/cache/FOLDER (BUILD_CACHE) keeps what compilers reuse between different contents.
 */
#ifndef TARGET_BUILD_H
#define TARGET_BUILD_H

#include <stdbool.h>

#include "base/err.h"
#include "target/row.h"

struct cpus;

/*
 * Builds what the row needs and fills row->build_hash and build_dir. `cpus`: those that a build may use. Sets *built
 * when something was built (not found ready). On failure err (ERR_FAILED) names the log and its last lines are in it;
 * the caller decides what becomes of the row. Two restbenches building one folder wait for each other.
 */
int build_row(struct row *row, const char *state_dir, const struct cpus *cpus, bool *built, struct err *err);

/* True when build_row() would find it ready; fills row->build_hash. */
bool build_is_ready(struct row *row, const char *state_dir);

#endif
