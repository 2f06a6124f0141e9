/* postgres - PostgreSQL as a database under measurement: the private cluster, or one that already runs. */
#ifndef TARGET_POSTGRES_H
#define TARGET_POSTGRES_H

#include "target/database.h"

extern const struct database_ops postgres_ops;

#endif
