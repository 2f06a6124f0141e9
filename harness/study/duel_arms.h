/* duel_arms - the folders and the study that a duel's run is made of. */
#ifndef STUDY_DUEL_ARMS_H
#define STUDY_DUEL_ARMS_H

#include "study/duel.h"

struct duel_arms {
    char *dir;     /* STATE/duel/HASH */
    char *config;  /* its study.json */
    char *servers; /* its servers/ */
    char *name;    /* for the run: duel-SERVER-BASE-HEAD */
    char *base;    /* what BASE was: "a1b2c3d", "folder x", "command y" */
    char *head;
};

/* Makes them, or finds them made. */
int duel_arms_make(const struct duel_options *options, const char *state_dir, struct duel_arms *arms, struct err *err);
void duel_arms_free(struct duel_arms *arms);

#endif
