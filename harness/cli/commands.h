/* commands - the table of subcommands that main.c dispatches; each is defined in its own cli/cmd_NAME.c. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/opts.h"

extern const struct command *const commands[]; /* ends with NULL, in the order of --help */

/* Versions of restbench and of the libraries it runs with, to stdout. */
void commands_print_version(void);

#endif
