/*
 * deadline - when each connection must be looked at, exactly, for next to nothing per request.
 *
 * A binary heap of struct deadline ordered by `queued_ns`. Moving a deadline to later, as each answered request does,
 * only writes `due_ns`: the entry stays where it is and is put right when its old time comes up. So a busy connection
 * costs one heap operation per timeout, not one per request. Moving it to earlier sifts it up at once.
 *
 *   deadline_set(heap, d, when)        any number of times; DEADLINE_NEVER: nothing is due
 *   deadline_next_ns(heap)             when to look again, at the latest (may be early, never late)
 *   while ((d = deadline_pop(heap, now)) != NULL)  handle what is due: its due_ns is DEADLINE_NEVER then
 */
#ifndef LOAD_DEADLINE_H
#define LOAD_DEADLINE_H

#include <stdint.h>

#include "base/err.h"

#define DEADLINE_NEVER INT64_MAX

struct deadline {
    int64_t due_ns;    /* what was asked for */
    int64_t queued_ns; /* its key in the heap, at most due_ns */
    uint32_t index;    /* its place in the heap, from 1; 0: not in it */
};

struct deadline_heap {
    struct deadline **items; /* from 1 */
    uint32_t count;
    uint32_t cap;
};

/* Room for `cap` deadlines; nothing is allocated later. */
void deadline_heap_init(struct deadline_heap *heap, uint32_t cap);
void deadline_heap_free(struct deadline_heap *heap);

void deadline_queue(struct deadline_heap *heap, struct deadline *deadline);

static inline void deadline_set(struct deadline_heap *heap, struct deadline *deadline, int64_t due_ns)
{
    deadline->due_ns = due_ns;
    if (deadline->index == 0 || due_ns < deadline->queued_ns)
        deadline_queue(heap, deadline);
}

static inline int64_t deadline_next_ns(const struct deadline_heap *heap)
{
    return heap->count > 0 ? heap->items[1]->queued_ns : DEADLINE_NEVER;
}

/* Takes out one deadline that is due at `now_ns`; NULL: none is. */
struct deadline *deadline_pop(struct deadline_heap *heap, int64_t now_ns);

#endif
