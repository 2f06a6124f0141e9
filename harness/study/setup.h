/*
 * setup - from a study file and the command line to a plan: everything that can be said before anything is started.
 *
 * struct setup is what a run is about: the study with the command line applied, its rows with what the machine has of
 * their requirements, the chosen tests, and every cell in order. Two runs may be continued or mixed only when their
 * setups have one hash.
 */
#ifndef STUDY_SETUP_H
#define STUDY_SETUP_H

#include "base/fsx.h"
#include "study/config.h"
#include "study/options.h"
#include "study/plan.h"
#include "target/row.h"

struct setup {
    struct study study;
    struct rows rows;
    bool *tests; /* chosen, by index */
    struct plan plan;
    json_t *effective;          /* the configuration used: the file with the command line applied */
    json_t *file_hashes;        /* SHA-256 of the files that it names */
    char hash[FSX_SHA256_SIZE]; /* of both: machine_file_hash() */
};

int setup_load(const struct run_options *options, struct setup *setup, struct err *err);
void setup_free(struct setup *setup);

/* Every cell in order and how long all takes, with what comes after the cells, to stdout (--dry-run). */
int setup_print(const struct setup *setup, double afterwards_s, struct err *err);

/* "no-auth" or "jwt". */
const char *setup_mode(const struct setup *setup);

#endif
