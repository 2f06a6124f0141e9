#include "results/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* FNV-1a. */
static uint32_t hash(const char *string)
{
    uint32_t h = 2166136261U;

    for (; *string != '\0'; string++)
        h = (h ^ (unsigned char)*string) * 16777619U;
    return h ^ h >> 15;
}

/* The slot that holds `string`, or the free one where it belongs. */
static uint32_t *slot_of(const struct intern *intern, const char *string)
{
    uint32_t i = hash(string) & (intern->slot_count - 1);

    while (intern->slots[i] != 0 && strcmp(intern->strings[intern->slots[i] - 1], string) != 0)
        i = (i + 1) & (intern->slot_count - 1);
    return &intern->slots[i];
}

static void grow(struct intern *intern)
{
    free(intern->slots);
    intern->slot_count = intern->slot_count > 0 ? intern->slot_count * 2 : 64;
    intern->slots = text_alloc(intern->slot_count * sizeof *intern->slots);
    for (uint32_t i = 0; i < intern->count; i++)
        *slot_of(intern, intern->strings[i]) = i + 1;
}

uint32_t intern_find(const struct intern *intern, const char *string)
{
    if (intern->count == 0)
        return INTERN_NONE;
    if (strcmp(intern->strings[intern->last], string) == 0)
        return intern->last;
    return *slot_of(intern, string) - 1; /* a free slot's 0 becomes INTERN_NONE */
}

uint32_t intern_add(struct intern *intern, const char *string)
{
    uint32_t found = intern_find(intern, string);

    if (found == INTERN_NONE) {
        if (intern->count * 2 >= intern->slot_count)
            grow(intern);
        if (intern->count == intern->cap) {
            intern->cap = intern->cap > 0 ? intern->cap * 2 : 16;
            intern->strings = text_realloc(intern->strings, intern->cap, sizeof *intern->strings);
        }
        found = intern->count++;
        intern->strings[found] = text_dup(string);
        *slot_of(intern, string) = intern->count;
    }
    intern->last = found;
    return found;
}

void intern_free(struct intern *intern)
{
    for (uint32_t i = 0; i < intern->count; i++)
        free(intern->strings[i]);
    free(intern->strings);
    free(intern->slots);
    *intern = (struct intern){0};
}
