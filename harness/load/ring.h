/*
 * ring - a file of requests, built before the clock, and the order in which they are drawn.
 *
 * One JSON object a line: {"method", "path", "headers": {name: value}, "body": text or any JSON, "weight": 1,
 * "expect": {"status": 2xx, "body": text}}; only "path" is needed. A request appears as often as its weight says, in
 * an order that the seed fixes. Faults of the file are file:line:column.
 */
#ifndef LOAD_RING_H
#define LOAD_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "load/request.h"

struct ring {
    struct request *requests;
    size_t count;
    uint32_t *order; /* indices of requests */
    size_t order_len;
    bool expects_bodies;
};

struct ring_options {
    const char *file;
    const char *method;                    /* where a line gives none */
    const struct request_headers *headers; /* in every request */
    bool close;
    uint64_t seed;
};

int ring_load(const struct url *url, const struct ring_options *options, struct ring *ring, struct err *err);
/* The same from bytes; options->file is then only what faults call them. */
int ring_parse(const struct url *url, const struct ring_options *options, const char *data, size_t len,
               struct ring *ring, struct err *err);
void ring_free(struct ring *ring);

#endif
