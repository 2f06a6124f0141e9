/* config_database - a study's database as target/ wants it. */
#ifndef STUDY_CONFIG_DATABASE_H
#define STUDY_CONFIG_DATABASE_H

#include "study/config.h"
#include "target/database.h"

/* Borrows from all three; CPUs and cgroups are left to the caller. `url` NULL: the private cluster in `state_dir`. */
struct database_spec config_database_spec(const struct study *study, const char *url, const char *state_dir);

#endif
