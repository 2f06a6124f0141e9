/*
 * pq - connections to PostgreSQL through libpq that depend on nothing but what we say, and that always end.
 *
 * libpq takes what it is not told from PG* variables, service files and ~/.pgpass: the first pq_address_* call takes
 * those variables away from this process (so make it before other threads run), and a password comes from the address
 * only. Every statement has a limit: the server's statement_timeout, and behind it our own for a server that hangs.
 * Errors are one line: where (never with a password), what PostgreSQL said and its SQLSTATE.
 *
 * A struct pq is used by one thread. Its session: application_name `restbench ...`, UTF8, ISO dates, UTC, untranslated
 * messages where allowed, no parallel workers (they need room in /dev/shm that small machines lack).
 */
#ifndef TARGET_PQ_H
#define TARGET_PQ_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Where and who: everything of a connection but the database's name may differ between two of them. */
struct pq_address {
    char *host;
    char *port;
    char *user;
    char *password; /* NULL: none */
    char *database;
    char *rest; /* further parameters of the URL, as they stand behind its '?'; NULL: none */
};

/* From a URL (postgresql://user:password@host:port/database?...). The error never quotes the URL. */
int pq_address_parse(const char *url, struct pq_address *address, struct err *err);
void pq_address_copy(const struct pq_address *from, struct pq_address *to);
void pq_address_free(struct pq_address *address);
/* postgresql://... with the password, percent-encoded; the caller's. */
char *pq_address_url(const struct pq_address *address);
/* "user@host:port/database" for messages; the caller's. */
char *pq_address_shown(const struct pq_address *address);
/* True when it names this machine: a socket folder, localhost, 127.0.0.0/8, ::1. */
bool pq_address_is_local(const struct pq_address *address);
/* Overwrites the password inside a URL by 'x', in place: for argv, which every user of the machine can read. */
void pq_hide_password(char *url);

struct pq {
    PGconn *conn;
    char *shown;          /* for messages */
    char sqlstate[6];     /* of the last error; "" when PostgreSQL said none */
    int64_t transactions; /* that this connection has caused at least, its start included */
    int64_t limit_ms;     /* the session's statement_timeout */
    bool lost;            /* the connection broke: only pq_close() is of use */
};

/* `database` NULL: the address's. `purpose`: ends the application name. */
int pq_open(const struct pq_address *address, const char *database, const char *purpose, struct pq *pq,
            struct err *err);
void pq_close(struct pq *pq); /* a zeroed one is allowed */

/* False when it is closed, or the server has closed it since the last statement. */
bool pq_alive(struct pq *pq);

/* One statement with text parameters; `*result` may be NULL; else the caller clears it. */
int pq_query(struct pq *pq, int64_t limit_ns, const char *sql, int count, const char *const *params, PGresult **result,
             struct err *err);
int pq_run(struct pq *pq, int64_t limit_ns, const char *sql, struct err *err);
/* The single value, the caller's; NULL in *value for SQL NULL or no row. */
int pq_value(struct pq *pq, int64_t limit_ns, const char *sql, int count, const char *const *params, char **value,
             struct err *err);
/* A whole number of a result; `unknown` where it is NULL or the column is missing. */
int64_t pq_int(const PGresult *result, int row, const char *column, int64_t unknown);

/* Adds the size of /dev/shm to an error about shared memory: containers give it little. */
void pq_explain_shm(struct err *err);

/* "Quoted ""name""", the caller's. */
char *pq_identifier(const char *name);
/* 'it''s', the caller's (standard_conforming_strings is on in our sessions). */
char *pq_literal(const char *string);

#endif
