/*
 * run_state - what the parts of a run share: the parties, the files, and how far it is. For study/ only.
 *
 * run.c makes and frees it; parties.c fills the parties; life.c, window.c and cell.c borrow it.
 */
#ifndef STUDY_RUN_STATE_H
#define STUDY_RUN_STATE_H

#include "machine/place.h"
#include "study/drift.h"
#include "study/lock.h"
#include "study/progress.h"
#include "study/setup.h"
#include "study/store.h"
#include "target/contract.h"
#include "target/database.h"
#include "tools/tool.h"

/* What a test sends and must get back; files lie in the run's work folder. */
struct run_request {
    char *body_path;      /* NULL: no body */
    char *ring_path;      /* many requests, a line each; NULL: always the same one */
    char *expect_json;    /* what a right answer's body means; NULL: anything */
    int64_t expect_every; /* one answer in so many is compared under load */
    char **headers;       /* with the token, NULL-terminated */
};

struct run {
    const struct run_options *options;
    struct setup setup;
    char *state_dir;
    char *data_dir;
    char *work_dir; /* STATE/run/work: emptied at start and end */
    char *log_dir;  /* servers' logs: STATE/logs/BASE */

    struct lock lock;
    struct machine parts; /* of this machine: who runs on which CPUs */
    struct place server_place;
    struct place database_place;
    struct place generator_place;

    struct database_spec database_spec; /* borrowed by the database while it is open */
    struct database *database;          /* NULL before it is opened */
    json_t *database_facts;             /* of machine.json; NULL without a database */
    int losses;                         /* of the database, since the last finished cell */
    const char *not_durable;            /* which of fsync and synchronous_commit is off; NULL: none */
    struct contract contract;
    bool has_contract;
    char *secret; /* NULL: no security */
    const struct tool *tool;
    char *tool_version;           /* NULL: unknown */
    struct run_request *requests; /* one a test */

    struct store store;
    json_t *machine; /* machine.json */
    struct progress progress;
    bool *finished; /* one a cell of the plan */
    size_t cells_measured;
    size_t cells_failed;
    size_t marks;
    double errors;
    struct drift drift;       /* the machine's speed between cells */
    struct drift_probe probe; /* the last of it; NaN: none yet */
    int64_t contract_checked; /* cases of the last server's contract */
};

#endif
