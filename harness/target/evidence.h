/*
 * evidence - what PostgreSQL itself counted, read from a connection to another database so that looking is not counted.
 *
 * Where each figure comes from:
 *   commits, rollbacks, rows_*, deadlocks  pg_stat_database of the table's database. A backend publishes them with a
 *                          delay (up to a second while it works, up to ten when it idles, at once when it ends), so
 *                          that the figures of one cell are near, and those of a whole server run exact.
 *   statements             pg_stat_statements, when it is loaded and installed in the database that is looked from
 *   checkpoints            pg_stat_checkpointer (17 and later), pg_stat_bgwriter before
 *   wal_bytes              pg_current_wal_lsn(): exact, at once
 *   dead_tuples            pg_stat_user_tables, from a connection to the table's database
 *   rows_in_table          count(*) of the table, less the seeded rows
 *   backends               pg_stat_activity
 * A server's backends are the client backends of its role in the table's database that began after
 * evidence_server_begin(); where we share that role (--database), those named "restbench ..." are ours.
 */
#ifndef TARGET_EVIDENCE_H
#define TARGET_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "target/database.h"
#include "target/pq.h"

struct evidence {
    struct pq *look;  /* borrowed: to another database */
    struct pq *pq;    /* borrowed: to the table's database */
    bool look_counts; /* `look` is connected to the table's database after all */
    const char *database;
    const char *role; /* of servers */
    bool shares_role; /* with our own connections */
    const char *table;
    int64_t rows;
    bool no_statements;          /* pg_stat_statements is not there */
    char since[40];              /* the server's time at evidence_server_begin(); "" before it */
    int64_t own;                 /* transactions of our closed connections to the table's database */
    int own_pid;                 /* the backend of the last one */
    int64_t own_begin;           /* as it was at evidence_server_begin() */
    struct database_counts base; /* counters at evidence_server_begin() */
};

int evidence_counts(struct evidence *evidence, bool count_rows, struct database_counts *counts, struct err *err);

/*
 * Both close `pq`: what it did is complete in the counters only then. evidence_server_end() waits until no backend of
 * the server is left, ends those that stay, and waits for the counters until they show `expected` transactions.
 */
int evidence_server_begin(struct evidence *evidence, struct err *err);
int evidence_server_end(struct evidence *evidence, int64_t expected, struct database_reconciliation *result,
                        struct err *err);
/* pq_close() that keeps account of what the connection did. */
void evidence_close_own(struct evidence *evidence);

/* The condition on pg_stat_activity that finds the server's backends; the caller's. */
char *evidence_backends_where(const struct evidence *evidence);

#endif
