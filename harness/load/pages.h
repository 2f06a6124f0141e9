/*
 * pages - memory that is walked through at random: on huge pages where the kernel gives them, so that neither its first
 * use nor finding its pages costs much.
 */
#ifndef LOAD_PAGES_H
#define LOAD_PAGES_H

#include <stddef.h>

/* `size` bytes, not cleared, aligned to at least 64; the caller's to free(). NULL: out of memory. */
void *pages_alloc(size_t size);

#endif
