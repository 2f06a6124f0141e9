#include "load/deadline.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/text.h"

void deadline_heap_init(struct deadline_heap *heap, uint32_t cap)
{
    heap->items = text_alloc(((size_t)cap + 1) * sizeof(struct deadline *));
    heap->count = 0;
    heap->cap = cap;
}

void deadline_heap_free(struct deadline_heap *heap)
{
    free(heap->items);
    heap->items = NULL;
}

static void put(struct deadline_heap *heap, uint32_t index, struct deadline *deadline)
{
    heap->items[index] = deadline;
    deadline->index = index;
}

static void sift_up(struct deadline_heap *heap, struct deadline *deadline, uint32_t index)
{
    while (index > 1 && heap->items[index / 2]->queued_ns > deadline->queued_ns) {
        put(heap, index, heap->items[index / 2]);
        index /= 2;
    }
    put(heap, index, deadline);
}

static void sift_down(struct deadline_heap *heap, struct deadline *deadline, uint32_t index)
{
    while (2 * index <= heap->count) {
        uint32_t child = 2 * index;

        if (child < heap->count && heap->items[child + 1]->queued_ns < heap->items[child]->queued_ns)
            child++;
        if (heap->items[child]->queued_ns >= deadline->queued_ns)
            break;
        put(heap, index, heap->items[child]);
        index = child;
    }
    put(heap, index, deadline);
}

void deadline_queue(struct deadline_heap *heap, struct deadline *deadline)
{
    if (deadline->due_ns == DEADLINE_NEVER)
        return;
    deadline->queued_ns = deadline->due_ns;
    if (deadline->index == 0) {
        if (heap->count == heap->cap)
            abort();
        deadline->index = ++heap->count;
    }
    sift_up(heap, deadline, deadline->index);
}

struct deadline *deadline_pop(struct deadline_heap *heap, int64_t now_ns)
{
    while (heap->count > 0 && heap->items[1]->queued_ns <= now_ns) {
        struct deadline *first = heap->items[1];

        if (first->due_ns > now_ns && first->due_ns != DEADLINE_NEVER) {
            first->queued_ns = first->due_ns;
            sift_down(heap, first, 1);
            continue;
        }
        first->index = 0;
        if (--heap->count > 0)
            sift_down(heap, heap->items[heap->count + 1], 1);
        if (first->due_ns == DEADLINE_NEVER)
            continue;
        first->due_ns = DEADLINE_NEVER;
        return first;
    }
    return NULL;
}
