/*
 * postgres_table - the one table that is measured: made, verified and put back by the study's SQL files.
 *
 * A table is ours when its comment begins with "restbench"; one of that name without it is never touched. Every
 * statement has a limit, and an error by it names who is in the way.
 */
#ifndef TARGET_POSTGRES_TABLE_H
#define TARGET_POSTGRES_TABLE_H

#include <stdbool.h>

#include "base/err.h"
#include "target/database.h"
#include "target/pq.h"

#define POSTGRES_TABLE_CHECKSUM_SIZE 129

struct postgres_table {
    const struct database_spec *spec; /* borrowed */
    struct pq *pq;                    /* borrowed: who owns the table */
    struct pq *admin;                 /* borrowed: for what pq has no right to */
    int64_t rows;                     /* as verified last; -1: not yet */
    char checksum[POSTGRES_TABLE_CHECKSUM_SIZE];
    int64_t unremovable;   /* dead rows that the VACUUM of the last file could not remove; DATABASE_UNKNOWN: none ran */
    bool reseeded;         /* by the last prepare */
    bool checkpoint_lacks; /* nobody of us may CHECKPOINT: said once */
};

/* Makes, verifies, puts right; ends in the state that a writing test begins with. */
int postgres_table_prepare(struct postgres_table *table, struct err *err);
/* Runs the reset file. */
int postgres_table_reset(struct postgres_table *table, struct err *err);

/* "process 17 (psql, user restbench, idle in transaction): LOCK TABLE ..." of who holds the table; "" when nobody does;
 * the caller's. */
char *postgres_table_blocker(struct postgres_table *table);
/* The same of whoever lets a backend of `role` wait and is none of them; NULL when nobody does. */
char *postgres_table_stranger(struct postgres_table *table, const char *role);

#endif
