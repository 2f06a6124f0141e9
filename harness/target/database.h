/*
 * database - the third party of a measurement, as a struct of operations. PostgreSQL is its only value today; `none`
 * is for studies without a database.
 *
 * The calling sequence of a run:
 *   1. database_open(spec): finds it or starts it. `spec` and its strings are borrowed until close.
 *   2. ops->prepare(): the table is made, seeded and verified; put right where it differs.
 *   3. for each server: ops->server_begin(), start it with database->url as DATABASE_URL, and while it runs:
 *        ops->reset() before a writing test;
 *        ops->counts() at each phase's start and end;
 *        ops->samples_begin() and ops->samples_end() at the window's borders;
 *      when it has ended: ops->server_end(), which waits for its backends and reads the late counters.
 *   4. ops->describe() for machine.json; database_close() stops what this process started.
 *
 * Operations marked (may be NULL) are absent in `none`. Every operation has a limit, and then an error that names who
 * is in the way. A count that could not be read is DATABASE_UNKNOWN, never 0. Not thread-safe.
 */
#ifndef TARGET_DATABASE_H
#define TARGET_DATABASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define DATABASE_UNKNOWN INT64_MIN

struct cgroup;
struct cpus;

struct database_spec {
    const char *kind;      /* "postgresql" or "none" */
    const char *url;       /* one that already runs (--database); NULL: the private cluster */
    const char *state_dir; /* of the private cluster */
    const char *table;
    int64_t rows; /* seeded ones: ids 1 to rows */
    const char *schema_path;
    const char *seed_path;
    const char *reset_path;
    const char *checksum_path;
    const struct cpus *cpus;         /* of the private cluster: those of the servers; NULL: unpinned */
    const struct cgroup *cgroup;     /* of the private cluster; NULL: none */
    const struct cpus *sampler_cpus; /* where our own sampling thread runs; NULL: anywhere */
    bool detached;                   /* a cluster that open() starts stays when this process ends */
};

/* Counters since the database began (two of them give what happened in between), and three states. */
struct database_counts {
    int64_t mono_ns; /* when they were read */
    int64_t commits; /* transactions of the table's database */
    int64_t rollbacks;
    int64_t statements; /* where pg_stat_statements is installed */
    int64_t rows_inserted;
    int64_t rows_fetched;  /* by index */
    int64_t rows_returned; /* by any scan */
    int64_t deadlocks;
    int64_t checkpoints;
    int64_t wal_bytes;
    int64_t dead_tuples;   /* state of the table: an estimate that comes late */
    int64_t unremovable;   /* state: dead rows that the last reset could not remove; exact */
    int64_t rows_in_table; /* state: rows behind the seeded ones; only when asked for */
    int64_t backends;      /* state: connections of the server under test */
};

extern const struct database_counts database_counts_unknown;

/* What the backends of the server under test were doing, 20 times a second. */
struct database_samples {
    int64_t count;
    int64_t failed;          /* samples that could not be taken */
    int64_t active;          /* backends found active, summed over the samples */
    int64_t commit;          /* of those: waiting until a commit's log is written */
    int64_t lock;            /* of those: waiting for a lock */
    int64_t other;           /* of those: waiting for something else */
    int64_t connections_min; /* DATABASE_UNKNOWN without a sample */
    int64_t connections_max;
};

/* What one server did in all, read when its counters are complete. */
struct database_reconciliation {
    int64_t transactions;   /* of the table's database, our own taken off */
    int64_t rows_inserted;  /* into any table of it: a few of the system's own are in it */
    int64_t waited_ms;      /* for its backends and counters */
    int64_t ended_by_force; /* backends that had to be ended */
    bool shared;            /* the counters may hold work of others, who were connected too */
};

struct database;

struct database_ops {
    const char *kind;
    int (*open)(const struct database_spec *spec, struct database **database, struct err *err);
    void (*close)(struct database *database);
    int (*prepare)(struct database *database, struct err *err);
    int (*reset)(struct database *database, struct err *err);
    int (*server_begin)(struct database *database, struct err *err); /* (may be NULL), as all that follow */
    /* `expected`: transactions that the answers stand for; counters are waited for until they show them, or a limit. */
    int (*server_end)(struct database *database, int64_t expected, struct database_reconciliation *result,
                      struct err *err);
    /* `count_rows`: fill rows_in_table too, a query on the table itself. */
    int (*counts)(struct database *database, bool count_rows, struct database_counts *counts, struct err *err);
    int (*samples_begin)(struct database *database, struct err *err);
    int (*samples_end)(struct database *database, struct database_samples *samples, struct err *err);
    /* The single value of a query, the caller's; no row or NULL is an error. */
    int (*value)(struct database *database, const char *sql, char **value, struct err *err);
    /* Runs one statement. */
    int (*execute)(struct database *database, const char *sql, struct err *err);
    /* The "database" object of machine.json; NULL when it cannot be read. */
    json_t *(*describe)(struct database *database, struct err *err);
    /* True from when it crashed, went away or hung: what was under way is void. Close it, open another. Never waits. */
    bool (*lost)(struct database *database);
    /* Fails when its disk is full: what it refuses then is not the server's fault. Only where that can be seen. */
    int (*room)(struct database *database, struct err *err);
    /* Who, that is neither the server under test nor us, lets somebody wait for a lock: "process 17 (psql, ...): LOCK
     * TABLE ..."; NULL: nobody, or it cannot be told. The caller's. */
    char *(*stranger)(struct database *database);
};

struct database {
    const struct database_ops *ops;
    const char *url; /* DATABASE_URL of servers; it holds a password: never log it; NULL without a database */
    bool local;      /* its processes are on this machine */
    pid_t pid;       /* the root of its process tree; 0: unknown (another host, another user's) */
    bool started;    /* by this process: close() stops it */
};

/* An unknown kind is ERR_CANNOT. */
int database_open(const struct database_spec *spec, struct database **database, struct err *err);
void database_close(struct database *database); /* NULL is allowed */

/* later - earlier for the counters; the states are the later ones. What went back (a crash, a reset) is unknown. */
struct database_counts database_counts_since(const struct database_counts *earlier,
                                             const struct database_counts *later);

/* The "database" object of a cell in details.jsonl; each of the three may be NULL. */
json_t *database_to_json(const struct database_counts *begin, const struct database_counts *end,
                         const struct database_samples *samples);

#endif
