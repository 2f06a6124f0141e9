/*
 * life - one life of a server inside a run: started, checked against its contract, made ready for each test in turn,
 * stopped, and its work reconciled with what the database counted.
 *
 *   life_begin(); for each test life_prepare(), then windows; life_end()
 *
 * life_prepare() puts the table back before a writing test and runs the warm-up. A life that failed is ended by the
 * caller; a new one may follow. Sums of answers are kept per test (for the rows in the table) and for the whole life
 * (for the transactions).
 */
#ifndef STUDY_LIFE_H
#define STUDY_LIFE_H

#include "study/run_state.h"
#include "study/window.h"
#include "target/server.h"

#define LIFE_NO_TEST SIZE_MAX

struct life {
    struct run *run;
    struct row *row;
    size_t round;
    bool alive;
    struct server server;
    double startup_s;
    size_t test;            /* that it is ready for; LIFE_NO_TEST */
    char *expect_path;      /* of that test; NULL */
    double test_ok;         /* 2xx answers since the table was put back: warm-up, windows and drains */
    double test_unanswered; /* requests since then whose fate is not known */
    double database_ok;     /* 2xx answers of tests that use the database, of the whole life */
    bool has_warmup;
    double warmup_requests;
    double warmup_slope_pct;
    struct database_counts at_start; /* of the test, after its warm-up */
    bool has_counts;
};

/* `log_path`: the server's. Fails (ERR_FAILED) with what it did instead of being ready or right. */
int life_begin(struct run *run, struct row *row, size_t round, const char *log_path, struct life *life,
               struct err *err);
int life_prepare(struct life *life, size_t test, struct err *err);
/* Adds a window's answers to the sums. */
void life_count(struct life *life, const struct tool_result *result);
/* Stops, reconciles, writes the reconciliation into the details. A zeroed life is fine. */
int life_end(struct life *life, struct err *err);

/* What the rows in the table say against the answers, the caller's; NULL: they agree, or it cannot be told. */
char *life_rows_disagree(const struct life *life, int64_t rows_in_table);

#endif
