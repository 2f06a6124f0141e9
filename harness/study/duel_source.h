/* duel_source - where an arm's folder comes from: a folder, a git revision of one, or one with another command. */
#ifndef STUDY_DUEL_SOURCE_H
#define STUDY_DUEL_SOURCE_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Puts the folder into `into`, which must not exist. `row_dir` is the folder of the row that the duel is about (NULL:
 * `what` names a folder). `*label` is the caller's: "a1b2c3d4", "folder x", "command y"; `*key` a short form of it for
 * file names.
 */
int duel_source(const char *what, bool is_command, const char *row_dir, const char *into, char **label, char **key,
                struct err *err);

#endif
