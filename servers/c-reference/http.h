/* HTTP/1.1 (RFC 9112) connections of one thread, and the four endpoints.
 *
 * Nouns: a conn (one client's connection; at most one of its requests is being answered at a time, the ones behind it
 * wait in the socket or in its input buffer, so that answers keep their order).
 *
 * Input is read into one big buffer that all connections share; only the beginning of a request that is not complete
 * is copied to the connection. Answers are gathered in another shared buffer and written with one call when the
 * connection's input is used up; only what the socket does not take is copied. So an idle connection costs its struct.
 *
 * Calling sequence: http_init, http_accept with each socket, http_on_event for each event of it, http_on_tick about
 * once a second, http_reap after each round of events. http_drain closes what is
 * idle and the others after their answer.
 */
#ifndef HTTP_H
#define HTTP_H

#include "db.h"

struct conn;

/* secret: the key of HS256 tokens that every request must carry, or NULL. Returns NULL or what is wrong. */
const char *http_init(int epoll, int event_kind, const char *secret);

/* Takes the socket over. */
void http_accept(int fd);
void http_on_event(void *conn, unsigned events);

/* now_s: seconds since 1970, for the Date header and for "exp"; to be told once a round. */
void http_set_time(int64_t now_s);

/* Closes connections that have been silent too long. */
void http_on_tick(int64_t now_ms);

/* Frees what was closed in this round, when no event of the round can mean it any more. */
void http_reap(void);
void http_drain(void);
/* An answer is being made or written. */
bool http_busy(void);

db_answer http_db_answer;

#endif
