/* The connections to PostgreSQL: one thread, libpq in pipeline mode, nothing blocks.
 *
 * Nouns: a query (one statement of the three, sent for one HTTP connection), a link (one PostgreSQL connection and
 * the queries on their way through it, answered in the order in which they were sent).
 *
 * Calling sequence: db_open, db_on_event whenever epoll reports a link, db_on_tick about once a second, db_close.
 * Between them db_select_one, db_select_page and db_insert put a query on the link with the fewest; its answer comes
 * through the db_answer function given to db_open, exactly once, never from inside the call that sent it.
 * Each query is followed by a Sync of its own, so PostgreSQL runs and counts each as one transaction.
 *
 * A lost link answers its queries with 503 and dials again; when none is left, the calls return false.
 */
#ifndef DB_H
#define DB_H

#include "json.h"

struct epoll_event;

/* The part of an HTTP connection that the queue of a link needs; embedded in it. At most one query at a time. */
struct db_query {
    enum { QUERY_ONE, QUERY_PAGE, QUERY_INSERT } kind;
    struct db_query *next;
};

/* status is the HTTP status to answer with; body is borrowed for the call (JSON, also for errors). */
typedef void db_answer(struct db_query *q, int status, const struct buf *body);

/* Dials `links` connections; events are registered at epoll with a pointer whose first int is event_kind. Returns NULL
 * or what is wrong. */
const char *db_open(const char *url, int links, int epoll, int event_kind, db_answer *answer, int64_t now_ms);
void db_close(void);

/* Links that are dialled and have their statements prepared. */
int db_ready(void);

/* What the server said when a link failed last, for the log; borrowed. */
const char *db_last_error(void);

bool db_select_one(struct db_query *q, int64_t id);
bool db_select_page(struct db_query *q, int64_t offset);
bool db_insert(struct db_query *q, const struct batch *b);

void db_on_event(void *link, unsigned events);
void db_on_tick(int64_t now_ms);

#endif
