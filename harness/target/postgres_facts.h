/* postgres_facts - what a run's machine.json keeps of its PostgreSQL: version, settings, and what could not be seen. */
#ifndef TARGET_POSTGRES_FACTS_H
#define TARGET_POSTGRES_FACTS_H

#include <jansson.h>
#include <sys/types.h>

#include "base/err.h"
#include "target/pq.h"

/*
 * {"version": "15.18", "settings": {...}}: all settings that are not PostgreSQL's own default, and those that decide
 * what a commit costs or how text sorts, whatever their value. `database`: whose collation and encoding are meant.
 */
json_t *postgres_facts(struct pq *pq, const char *database, struct err *err);

/* Puts into `settings` what a session of a server would get where its role or its database has settings of its own. */
int postgres_facts_session(const char *url, json_t *settings, struct err *err);

/*
 * The postmaster of the server behind a connection when it runs on this machine and can be seen from here, else 0.
 * Found by the title of the connection's backend, which holds our own port: not fooled by a container's process
 * numbers.
 */
pid_t postgres_facts_postmaster(struct pq *pq);

#endif
