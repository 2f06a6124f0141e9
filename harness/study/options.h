/* options - what a run was asked for on the command line, over what its study file says. Strings are borrowed. */
#ifndef STUDY_OPTIONS_H
#define STUDY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Not given: NULL for strings, -1 for numbers. */
struct run_options {
    const char *from;   /* a bundle that is repeated here */
    const char *config; /* NULL: the installed config/study.json */
    const char *servers;
    const char *tests;
    int64_t rounds;
    int64_t window_ns;
    int64_t warmup_ns;
    const char *connections; /* "50,200" */
    const char *security;    /* "none" or "jwt" */
    const char *tool;        /* NULL: our own generator */
    const char *database;    /* URL */
    const char *url;         /* of a server that listens already */
    const char *cpus;
    const char *affinity;
    const char *ceiling; /* "yes" or "no" */
    const char *name;
    const char *data;    /* NULL: data/ */
    const char *reports; /* NULL: reports/ */
    const char *state;
    const char *servers_dir;
    double until_pct;
    bool resume;
    bool force_mixed;
    bool strict;
    bool dry_run;
    const char *log;
    const char *on_finish;
    /* Asked between rounds, when `rounds` of them are whole and there are more to come: true ends the run there. */
    bool (*is_enough)(const char *csv, int64_t rounds, void *context);
    void *context;
    char **argv; /* the whole command, for the record */
    int argc;
};

#endif
