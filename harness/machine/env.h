/*
 * env - the environment that a child gets: a list made from nothing, name by name, and its record as JSON.
 *
 * struct env starts as {0}. env_basic() adds what every child has; env_build() what a build needs to reach its
 * registries; then come the values of a folder or a study. Nothing of the caller's environment comes along by itself.
 * A later value of a name replaces the earlier one. env_free() ends it.
 */
#ifndef MACHINE_ENV_H
#define MACHINE_ENV_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct env {
    char **items; /* "NAME=value", NULL-terminated when not NULL: what execve(2) takes */
    bool *hidden; /* not shown in records: the value is a secret or is the caller's own business */
    size_t count;
};

void env_free(struct env *env);
void env_set(struct env *env, const char *name, const char *value);
/* The same, but records show only that it was set: passwords, tokens. */
void env_set_hidden(struct env *env, const char *name, const char *value);
/* Takes the caller's value, recorded by name only; false when the caller has none. */
bool env_pass(struct env *env, const char *name);
void env_unset(struct env *env, const char *name);
/* Borrowed; NULL: not set. */
const char *env_get(const struct env *env, const char *name);
void env_copy(const struct env *from, struct env *to);
/* Adds all of `from`, hidden ones stay hidden. */
void env_add(struct env *to, const struct env *from);

/* PATH and HOME of the caller (defaults where it has none), recorded by name; LANG=C.UTF-8. */
void env_basic(struct env *env);
/* The caller's proxy and certificate variables, recorded by name. */
void env_build(struct env *env);

/* {"NAME": "value" | true for a hidden one} */
json_t *env_to_json(const struct env *env);

#endif
