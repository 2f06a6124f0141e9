/*
 * request - the bytes of a request, made before the clock starts.
 *
 * request_build() checks method and headers (RFC 9110) and writes the head as given: Host and User-Agent are ours
 * unless a header of that name is given, Content-Length always is. request_free() ends it.
 */
#ifndef LOAD_REQUEST_H
#define LOAD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "load/url.h"

/* A header as given on the command line ("Name: value") or in a file. */
struct request_header {
    char *name;
    char *value;
};

struct request_headers {
    struct request_header *items;
    size_t count;
};

struct request_spec {
    const char *method;
    const char *target; /* NULL: that of the URL */
    const struct request_headers *headers;
    const char *body; /* NULL: none */
    size_t body_len;
    bool close; /* ask for the connection to be closed */
};

struct request {
    char *bytes;
    size_t len;
    bool head;           /* the method is HEAD: its answers have no body */
    int expected_status; /* 0: any of 2xx */
    char *expected_body; /* NULL: any */
    size_t expected_len;
};

/* Reads "Name: value"; blanks around the value are not part of it. */
int request_headers_add_line(struct request_headers *headers, const char *line, struct err *err);
int request_headers_add(struct request_headers *headers, const char *name, const char *value, struct err *err);
/* True when a header Connection holds the token close. */
bool request_headers_ask_close(const struct request_headers *headers);
void request_headers_free(struct request_headers *headers);

/* The next of many requests in the order given (indices, `len` of them, round and round); NULL: there is only one. */
static inline const struct request *request_next(const struct request *requests, const uint32_t *order, size_t len,
                                                 size_t *next)
{
    const struct request *request = requests;

    if (order != NULL) {
        request += order[*next];
        if (++*next == len)
            *next = 0;
    }
    return request;
}

int request_build(const struct url *url, const struct request_spec *spec, struct request *request, struct err *err);
void request_free(struct request *request);

#endif
