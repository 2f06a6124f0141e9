/*
 * tls - the layer between an engine's bytes and HTTP where the URL says https: OpenSSL without sockets of its own.
 *
 * A worker has a context (nothing is shared between threads), a connection a struct tls. What arrives goes in with
 * tls_receive(), which hands out what it says; what is to be sent lies in tls->out afterwards, the engine sends it.
 *
 *   tls_context_new(&options, &context, &err)          one a worker
 *   tls_new(context)                                   one a connection, for all its lives
 *   tls_begin(tls)                                     a new TCP connection: the first flight is in tls->out
 *   tls_receive(tls, bytes, len, plain, size, &got)    until TLS_MORE; TLS_OPEN once: the handshake is done
 *   tls_write(tls, bytes, len)                         encrypts into tls->out
 *   tls_end(tls)                                       the connection is gone; its session is kept for the next
 */
#ifndef LOAD_TLS_H
#define LOAD_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct tls_options {
    const char *host;
    const char *ca_file; /* NULL: the system's */
    bool insecure;       /* any certificate will do */
    bool many;           /* give buffers back between records: memory for time */
};

struct tls_context;
struct tls;

enum tls_result {
    TLS_MORE,   /* needs more bytes */
    TLS_OPEN,   /* the handshake is done */
    TLS_DATA,   /* `got` bytes of plain text; there may be more */
    TLS_CLOSED, /* the peer ended it in order (close_notify) */
    TLS_FAILED, /* tls_why() says how */
};

int tls_context_new(const struct tls_options *options, struct tls_context **context, struct err *err);
void tls_context_free(struct tls_context *context);

struct tls *tls_new(struct tls_context *context);
void tls_free(struct tls *tls);

int tls_begin(struct tls *tls);
/* The given bytes are taken whole by the calls up to the one that says TLS_MORE; later calls pass len 0. */
enum tls_result tls_receive(struct tls *tls, const char *bytes, size_t len, char *plain, size_t size, size_t *got);
/* 0, or -1 when the connection is broken. */
int tls_write(struct tls *tls, const char *bytes, size_t len);
void tls_end(struct tls *tls);

/* What lies ready to be sent; borrowed until the next tls_write(), tls_receive() or tls_sent_all(). */
const char *tls_out(const struct tls *tls, size_t *len);
/* All of it has been sent. */
void tls_sent_all(struct tls *tls);
/* While the kernel reads tls->out it stays where it is: what comes meanwhile follows with tls_sent_all(). */
void tls_hold_out(struct tls *tls);
/* One line; for the last TLS_FAILED of this thread's context. */
const char *tls_why(const struct tls *tls);

#endif
