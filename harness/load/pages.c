#include "load/pages.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *pages_alloc(size_t size)
{
    size_t unit = size < HUGE_PAGE ? 64 : HUGE_PAGE;
    size_t whole = (size + unit - 1) / unit * unit;
    void *memory = aligned_alloc(unit, whole);

    if (memory == NULL)
        return NULL;
    if (unit == HUGE_PAGE)
        (void)madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}
