/* expand - ${VAR} in a recipe's commands, from the environment that the child will have. */
#ifndef TARGET_EXPAND_H
#define TARGET_EXPAND_H

#include "machine/env.h"

/* A new NULL-terminated argv; an unset variable expands to nothing. End with expand_free(). */
char **expand_argv(const char *const *argv, const struct env *env);
void expand_free(char **argv);

#endif
