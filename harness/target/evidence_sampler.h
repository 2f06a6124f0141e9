/*
 * evidence_sampler - what the server's backends are doing, asked 20 times a second by a thread of its own.
 *
 * Has its own connection, to another database than the table's. It asks only between begin and end, so that outside a
 * window it costs nothing. A sample that fails is counted, and the connection opened again: nothing here can stop a
 * run. The thread runs on the CPUs it is given; its backend on PostgreSQL's, which is part of the database's CPU time.
 */
#ifndef TARGET_EVIDENCE_SAMPLER_H
#define TARGET_EVIDENCE_SAMPLER_H

#include "base/err.h"
#include "target/database.h"
#include "target/pq.h"

struct cpus;
struct evidence_sampler;

/* `address` and `cpus` (NULL: anywhere) are copied. */
int evidence_sampler_start(const struct pq_address *address, const struct cpus *cpus, struct evidence_sampler **sampler,
                           struct err *err);
/* `where`: the condition on pg_stat_activity that finds the backends, copied. */
void evidence_sampler_begin(struct evidence_sampler *sampler, const char *where);
void evidence_sampler_end(struct evidence_sampler *sampler, struct database_samples *samples);
void evidence_sampler_stop(struct evidence_sampler *sampler); /* NULL is allowed */

#endif
