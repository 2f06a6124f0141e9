/*
 * tally - what one thread counted in one stretch of a run: a second of the window, the warm-up, the drain.
 *
 * Identity of a window, asserted by result: started = ok + errors + in flight. `ok` is latency.count: every 2xx answer
 * is in the histogram and nothing else is.
 */
#ifndef LOAD_TALLY_H
#define LOAD_TALLY_H

#include <stdint.h>

#include "load/histogram.h"

enum load_error {
    LOAD_CONNECT,   /* refused, reset or timed out while connecting */
    LOAD_TIMEOUT,   /* no complete answer within the timeout */
    LOAD_CLOSED,    /* the connection ended before any byte of an answer */
    LOAD_TRUNCATED, /* it ended inside an answer */
    LOAD_MALFORMED, /* no HTTP, or bytes behind a complete answer */
    LOAD_STATUS,    /* an answer other than 2xx */
    LOAD_MISMATCH,  /* a 2xx answer with another body or status than the expected one */
    LOAD_ERRORS,
};

/* "connect", "timeout", ...: the keys of the JSON output. */
extern const char *const load_error_names[LOAD_ERRORS];
/* Sentences for people. */
extern const char *const load_error_texts[LOAD_ERRORS];

struct tally {
    int64_t second; /* of the window, from 0 */
    uint64_t started;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t reconnects;  /* connections opened again */
    uint64_t interim;     /* 1xx answers passed over */
    uint64_t unasked;     /* bytes that came while no request was open */
    uint64_t ended_first; /* connections that this side had to end first: their ports stay in TIME_WAIT */
    uint64_t missed;      /* open loop: requests that could not start in time */
    uint64_t classes[6];  /* answers other than 2xx by class: classes[5] are 5xx */
    uint64_t errors[LOAD_ERRORS];
    struct histogram latency; /* of 2xx answers */
};

static inline uint64_t tally_errors(const struct tally *tally)
{
    uint64_t sum = 0;

    for (int i = 0; i < LOAD_ERRORS; i++)
        sum += tally->errors[i];
    return sum;
}

void tally_clear(struct tally *tally);
/* Adds `from` to `into` (whose second stays). */
void tally_merge(struct tally *into, const struct tally *from);

#endif
