/*
 * judge - from the evidence of a cell: what held its rate (the verdict), and which marks it carries.
 *
 * Pure: no clock, no file, no process. Everything unknown is NaN and decides nothing. Thresholds of marks stand in
 * results/marks.h; those of the verdict here. Percentages are of the window.
 */
#ifndef STUDY_JUDGE_H
#define STUDY_JUDGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The verdict's thresholds. */
#define JUDGE_GENERATOR_PCT 85.0
#define JUDGE_WAIT_PCT 50.0
#define JUDGE_BUSY_PCT 90.0

struct judge_evidence {
    double window_s;
    double generator_pct; /* of its CPUs, busy with it */
    double shared_pct;    /* of the CPUs of server and database, busy with anything */
    double server_cpu_s;
    double database_cpu_s; /* NaN: another machine, or none */
    double generator_cpu_s;
    double shared_cpus; /* how many */
    bool all_share;     /* an unpinned run: the generator's CPUs are those of server and database */
    bool uses_database;
    bool single_threaded; /* each of the server's processes can use one CPU at most */
    double processes;
    double samples_active; /* active backends seen */
    double samples_commit; /* of those: waiting for a commit */
    double samples_lock;   /* of those: waiting for a lock */

    /* for the marks */
    double responses_2xx;
    double errors;
    double mismatches;
    double per_connection_min; /* requests of the connection that got the fewest */
    double per_connection_mean;
    const double *per_second; /* 2xx answers of each whole second of the window */
    size_t per_second_count;
    double steal_pct_max;
    double cpu_difference_s; /* between the two sources of the server's CPU */
    double cpu_resolution_s; /* of the coarser one */
    bool accounting_broken;  /* a source could not see everything, or figures contradict each other */
    const char *accounting_text;
    double wrong_threads; /* on CPUs of another side */
    bool listener_foreign;
    const char *listener_text;   /* who; NULL: not known */
    bool roams;                  /* a party may use the other side's CPUs: others_pct is of all CPUs */
    double others_pct;           /* of the CPUs of server and database, used by nobody who takes part */
    double others_generator_pct; /* of the generator's */
    double connections_max;      /* of the server to the database */
    double pool;                 /* declared */
    double drift_pct;            /* of a fixed job around the cell, against the whole run */
    const char *unconfirmed;     /* what the database says against it; NULL: nothing */
    const char *not_durable;     /* what was off, as a sentence; NULL: nothing */
    double suspended_s;
    bool paused; /* restbench itself was stopped (SIGTSTP) and went on */
    double clock_step_s;
    double dead_rows; /* that a writing test began with */
};

enum judge_limit { LIMIT_GENERATOR, LIMIT_DATABASE, LIMIT_SERVER, LIMIT_LATENCY };

struct judge_verdict {
    enum judge_limit limit;
    double generator_pct;
    double shared_pct;
    double wait_pct;     /* of active backends, waiting for a commit or a lock */
    double server_pct;   /* share of the shared CPUs' time */
    double database_pct; /* the same */
    char text[160];      /* "server (98 %)" */
};

/* The generator was the limit: its own CPUs were full, or it took more than the others of those that all share. */
bool judge_generator_bound(const struct judge_evidence *evidence);
void judge_verdict(const struct judge_evidence *evidence, struct judge_verdict *verdict);
const char *judge_limit_name(enum judge_limit limit);
json_t *judge_verdict_to_json(const struct judge_verdict *verdict);

/* The array "marks" of the details. */
json_t *judge_marks(const struct judge_evidence *evidence, const struct judge_verdict *verdict);

/*
 * How far a straight line through the whole seconds of a window moves from its first to its last second, in percent
 * of the mean; NaN with fewer than four seconds.
 */
double judge_slope_pct(const double *per_second, size_t count);

#endif
