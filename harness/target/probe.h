/*
 * probe - one HTTP request through libcurl: readiness and the contract's checks, never a measurement.
 *
 * It depends on nothing of the caller's environment: no proxy, no .netrc, no cookies, no redirects, HTTP/1.1 only, and
 * no header that was not asked for but Host, User-Agent and Accept. A name with several addresses is tried in order.
 *
 * Calling sequence: probe_open(), probe_request() as often as wanted, probe_close(). A probe keeps its connection
 * alive, so that the next request shows whether the server does (probe_answer.reused). One thread at a time.
 */
#ifndef TARGET_PROBE_H
#define TARGET_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct probe;

struct probe_request {
    const char *method;         /* NULL: GET */
    const char *path;           /* sent as it stands */
    const char *const *headers; /* "Name: value", NULL-terminated; NULL: none */
    const char *body;           /* NULL: none */
    size_t body_len;
};

struct probe_answer {
    int status;
    char *headers; /* as received, of the last head */
    char *body;    /* NUL-terminated behind body_len bytes */
    size_t body_len;
    bool reused; /* came over the connection of the probe's last request */
};

/* `base_url`: http://host:port, a path behind it is put before every request's. */
int probe_open(const char *base_url, int64_t timeout_ns, struct probe **probe, struct err *err);
void probe_close(struct probe *probe); /* NULL is allowed */

/*
 * 0 and an answer (probe_answer_free) of any status; -1 without an answer: kind ERR_CANNOT when nobody listens,
 * ERR_FAILED when the connection was made but no whole answer came.
 */
int probe_request(struct probe *probe, const struct probe_request *request, struct probe_answer *answer,
                  struct err *err);

/* Sends the same request `count` times at once, each over a connection of its own; *ok counts the 2xx answers. */
int probe_at_once(struct probe *probe, const struct probe_request *request, int count, int *ok, struct err *err);

/* The value of a header, the caller's; NULL: none. `name` without a colon, any case. */
char *probe_answer_header(const struct probe_answer *answer, const char *name);
void probe_answer_free(struct probe_answer *answer);

#endif
