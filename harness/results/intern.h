/* intern - distinct strings, numbered in the order of their first appearance. Start with {0}, end with intern_free().
 */
#ifndef RESULTS_INTERN_H
#define RESULTS_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern {
    char **strings; /* [count] */
    uint32_t count;
    uint32_t cap;
    uint32_t *slots; /* number + 1; 0: free */
    uint32_t slot_count;
    uint32_t last; /* the number given last: the same string often comes again at once */
};

#define INTERN_NONE UINT32_MAX

/* The number of `string`, new or old. */
uint32_t intern_add(struct intern *intern, const char *string);
/* INTERN_NONE when it is not there. */
uint32_t intern_find(const struct intern *intern, const char *string);
void intern_free(struct intern *intern);

#endif
