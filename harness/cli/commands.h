/* commands - the table of subcommands that main.c dispatches; each is defined in its own cli/cmd_NAME.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/opts.h"

extern const struct command cmd_run;
extern const struct command cmd_check;
extern const struct command cmd_load;
extern const struct command cmd_report;
extern const struct command cmd_compare;
extern const struct command cmd_duel;
extern const struct command cmd_verify;
extern const struct command cmd_export;
extern const struct command cmd_bundle;
extern const struct command cmd_ceiling;
extern const struct command cmd_status;
extern const struct command cmd_list;
extern const struct command cmd_db;
extern const struct command cmd_calibrate;
extern const struct command cmd_docs;

extern const struct command *const commands[]; /* ends with NULL, in the order of --help */

/* Versions of restbench and of the libraries it runs with, to stdout. */
void commands_print_version(void);

#endif
