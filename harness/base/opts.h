/*
 * opts - commands and their options as tables. --help, the man pages and the shell completion come from the same rows.
 *
 * A subcommand has a struct of arguments, a table of options whose rows name fields of it by offset, and a
 * `const struct command cmd_NAME`. Its main calls opts_parse(), then validates in sentences.
 * Short options take their value glued or separate (-c50, -c 50), long ones after '=' or separate. `--` ends options.
 */
#ifndef BASE_OPTS_H
#define BASE_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum opt_kind {
    OPT_FLAG,     /* bool */
    OPT_STRING,   /* const char *, borrowed from argv */
    OPT_LIST,     /* struct opt_list: may be given several times, in order */
    OPT_COUNT,    /* int64_t, at least 0: plain decimal */
    OPT_NUMBER,   /* double, plain decimal */
    OPT_DURATION, /* int64_t nanoseconds, written as in Go; a bare number is refused */
    OPT_SECONDS,  /* int64_t nanoseconds: a bare number means seconds, or a duration */
    OPT_PCT,      /* double: 5 or 5% */
};

struct opt_list {
    const char **items; /* free() it; the strings are borrowed from argv */
    size_t count;
};

struct opt {
    char short_name;       /* 0: none */
    const char *long_name; /* NULL: none */
    const char *argument;  /* what --help calls the value: "N", "URL"; NULL for flags */
    enum opt_kind kind;
    size_t offset;    /* offsetof(struct X_args, field) */
    const char *help; /* one line; more after '\n' */
};

struct command {
    const char *name;
    const char *summary;                /* one line, lower case, no full stop */
    const char *usage;                  /* what follows the name: "[OPTIONS] URL" */
    const char *description;            /* paragraphs for --help and the man page */
    const struct opt *opts;             /* ends with a row of zeros; NULL: none */
    int (*main)(int argc, char **argv); /* argv[0] is the subcommand's name; returns the exit status */
};

enum opts_result { OPTS_OK, OPTS_HELP, OPTS_BAD };

/*
 * Fills `args`. Operands are moved to the front of argv[1..], *operands counts them. OPTS_HELP: --help was printed to
 * stdout, exit 0. OPTS_BAD: err says what; nothing was printed.
 */
enum opts_result opts_parse(const struct command *command, void *args, int argc, char **argv, int *operands,
                            struct err *err);

/* Prints the help of a command to stdout. */
void opts_print_help(const struct command *command);

/* For cli/: prints "restbench: ..." and returns the exit status of err->kind. */
int opts_exit(const struct err *err);

#endif
