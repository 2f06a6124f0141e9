/*
 * bundle - one archive with everything that is needed to check a run and to repeat it elsewhere.
 *
 * NAME.tar.gz holds, under NAME/:
 *   README.txt  bundle.json (format 1: run, command, versions, hashes)  SHA256SUMS
 *   data/       the CSV, its details and machine.json, its ceiling, the calibrations of its day
 *   reports/    the tables
 *   config/     study.json: the configuration used, its files beside it under files/
 *   servers/    the folders of its rows, where they still are what was measured
 * `sha256sum -c SHA256SUMS` checks it without restbench; `restbench verify` and `restbench run --from` take it as it
 * is.
 *
 * bundle_write() reads files only. What cannot be put in (a server that has changed since, a binary that is gone) is
 * named in bundle.json and given back as notes; only a run without machine.json is refused.
 */
#ifndef RESULTS_BUNDLE_H
#define RESULTS_BUNDLE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

struct bundle_options {
    const char *csv;
    const char *out;         /* NULL: NAME.tar.gz beside the CSV */
    const char *servers_dir; /* NULL: as the configuration says */
    const char *state_dir;   /* where builds are kept; NULL: no hashes of binaries */
};

/* `*path` (the caller's) is the archive, `*notes` (the caller's array of strings) what it lacks. */
int bundle_write(const struct bundle_options *options, char **path, json_t **notes, struct err *err);

/* A bundle that was taken apart. */
struct bundle {
    char *dir;    /* .../NAME */
    char *csv;    /* in it */
    char *config; /* NULL: it holds none */
    char *servers;
    char *tool; /* NULL: unknown */
};

/* True when the path looks like a bundle (.tar.gz). */
bool bundle_is(const char *path);
/* Takes it apart into `into`, which must exist, and checks every hash: ERR_FAILED names the member that is not right.
 */
int bundle_open(const char *path, const char *into, struct bundle *bundle, struct err *err);
void bundle_free(struct bundle *bundle);
/*
 * Rows whose source it does not hold (never measured, or changed before it was bundled) are taken out of the unpacked
 * configuration, and named in *names, the caller's; "": none. An error when no row is left.
 */
int bundle_keep_what_it_holds(const struct bundle *bundle, char **names, struct err *err);

#endif
