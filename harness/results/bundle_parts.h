/* bundle_parts - the steps of bundle_write(), and what they share. */
#ifndef RESULTS_BUNDLE_PARTS_H
#define RESULTS_BUNDLE_PARTS_H

#include "base/tarball.h"
#include "results/bundle.h"
#include "results/intern.h"
#include "results/record.h"

struct bundle_writing {
    const struct bundle_options *options;
    const struct record *record;
    struct tarball *tarball;
    json_t *notes;
    json_t *servers;     /* of bundle.json */
    struct intern files; /* members under config/files */
    char *config_dir;    /* where the configuration's relative names start; NULL: unknown */
    json_t *study;       /* with the names that it has in the bundle */
};

/* The configuration and the files that it names. */
int bundle_add_config(struct bundle_writing *w, struct err *err);
/* The rows' folders, and the hashes of what was built from them. */
int bundle_add_servers(struct bundle_writing *w, struct err *err);

/* Something that the bundle lacks. */
void bundle_note(struct bundle_writing *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "run" of machine.json. */
const json_t *bundle_run(const struct bundle_writing *w);

#endif
