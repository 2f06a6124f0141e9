#include "load/tally.h"

#include <string.h>

const char *const load_error_names[LOAD_ERRORS] = {"connect",   "timeout", "closed",  "truncated",
                                                   "malformed", "status",  "mismatch"};

const char *const load_error_texts[LOAD_ERRORS] = {
    "connection refused, reset or timed out while connecting",
    "no complete answer within the timeout",
    "connection closed before an answer",
    "connection closed inside an answer",
    "malformed answer",
    "answer other than 2xx",
    "answer other than the expected one",
};

void tally_clear(struct tally *tally)
{
    memset(tally, 0, sizeof *tally);
}

void tally_merge(struct tally *into, const struct tally *from)
{
    into->started += from->started;
    into->bytes_read += from->bytes_read;
    into->bytes_written += from->bytes_written;
    into->reconnects += from->reconnects;
    into->interim += from->interim;
    into->unasked += from->unasked;
    into->ended_first += from->ended_first;
    into->missed += from->missed;
    for (int i = 0; i < 6; i++)
        into->classes[i] += from->classes[i];
    for (int i = 0; i < LOAD_ERRORS; i++)
        into->errors[i] += from->errors[i];
    histogram_merge(&into->latency, &from->latency);
}
