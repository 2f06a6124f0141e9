#include "machine/cpus.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

#define WORD_BITS ((int)(8 * sizeof(unsigned long)))

static unsigned long word_of(const struct cpus *cpus, size_t index)
{
    return index < cpus->bytes / sizeof(unsigned long) ? cpus->mask[index] : 0;
}

static size_t words_of(const struct cpus *a, const struct cpus *b)
{
    size_t bytes = a->bytes > b->bytes ? a->bytes : b->bytes;

    return bytes / sizeof(unsigned long);
}

void cpus_free(struct cpus *cpus)
{
    free(cpus->mask);
    *cpus = (struct cpus){0};
}

void cpus_copy(const struct cpus *from, struct cpus *to)
{
    struct cpus copy = {.bytes = from->bytes};

    if (from->bytes > 0) {
        copy.mask = text_alloc(from->bytes);
        memcpy(copy.mask, from->mask, from->bytes);
    }
    cpus_free(to);
    *to = copy;
}

void cpus_add(struct cpus *cpus, int cpu)
{
    size_t words = (size_t)(cpu / WORD_BITS) + 1;
    size_t had = cpus->bytes / sizeof(unsigned long);

    if (words > had) {
        cpus->mask = text_realloc(cpus->mask, words, sizeof(unsigned long));
        memset(cpus->mask + had, 0, (words - had) * sizeof(unsigned long));
        cpus->bytes = words * sizeof(unsigned long);
    }
    cpus->mask[cpu / WORD_BITS] |= 1UL << (cpu % WORD_BITS);
}

void cpus_remove(struct cpus *cpus, int cpu)
{
    if (cpus_has(cpus, cpu))
        cpus->mask[cpu / WORD_BITS] &= ~(1UL << (cpu % WORD_BITS));
}

bool cpus_has(const struct cpus *cpus, int cpu)
{
    return cpu >= 0 && (word_of(cpus, (size_t)(cpu / WORD_BITS)) >> (cpu % WORD_BITS) & 1) != 0;
}

int cpus_count(const struct cpus *cpus)
{
    int count = 0;

    for (size_t i = 0; i < cpus->bytes / sizeof(unsigned long); i++)
        count += __builtin_popcountl(cpus->mask[i]);
    return count;
}

int cpus_next(const struct cpus *cpus, int after)
{
    int most = (int)(8 * cpus->bytes);

    for (int cpu = after + 1; cpu < most; cpu++)
        if (cpus_has(cpus, cpu))
            return cpu;
    return -1;
}

bool cpus_equal(const struct cpus *a, const struct cpus *b)
{
    return cpus_contains(a, b) && cpus_contains(b, a);
}

bool cpus_contains(const struct cpus *all, const struct cpus *part)
{
    for (size_t i = 0; i < words_of(all, part); i++)
        if ((word_of(part, i) & ~word_of(all, i)) != 0)
            return false;
    return true;
}

bool cpus_overlap(const struct cpus *a, const struct cpus *b)
{
    for (size_t i = 0; i < words_of(a, b); i++)
        if ((word_of(a, i) & word_of(b, i)) != 0)
            return true;
    return false;
}

/* One number of a list; `*at` is moved behind it. */
static int parse_number(const char **at, int *cpu)
{
    int value = 0;

    if (**at < '0' || **at > '9')
        return -1;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        value = value * 10 + (**at - '0');
        if (value >= CPUS_MOST)
            return -1;
    }
    *cpu = value;
    return 0;
}

int cpus_parse(const char *list, struct cpus *cpus, struct err *err)
{
    struct cpus parsed = {0};
    const char *at = list;

    for (;;) {
        int first;
        int last;

        if (parse_number(&at, &first) != 0)
            break;
        last = first;
        if (*at == '-') {
            at++;
            if (parse_number(&at, &last) != 0 || last < first)
                break;
        }
        for (int cpu = first; cpu <= last; cpu++)
            cpus_add(&parsed, cpu);
        if (*at == '\0') {
            cpus_free(cpus);
            *cpus = parsed;
            return 0;
        }
        if (*at++ != ',')
            break;
    }
    cpus_free(&parsed);
    return err_set(err, "\"%s\" is no list of CPUs; write it as 0-2,5", list);
}

char *cpus_format(const struct cpus *cpus)
{
    struct text text = {0};

    for (int first = cpus_next(cpus, -1); first >= 0;) {
        int last = first;

        while (cpus_has(cpus, last + 1))
            last++;
        text_addf(&text, text.len > 0 ? ",%d" : "%d", first);
        if (last > first)
            text_addf(&text, "-%d", last);
        first = cpus_next(cpus, last);
    }
    return text_take(&text);
}

int cpus_allowed(struct cpus *cpus, struct err *err)
{
    /* The call refuses a buffer smaller than the kernel's mask and tells the mask's size when it is large enough. */
    for (size_t bytes = 128; bytes <= CPUS_MOST / 8; bytes *= 2) {
        struct cpus found = {.mask = text_alloc(bytes), .bytes = bytes};
        long size = syscall(SYS_sched_getaffinity, 0, bytes, found.mask);

        if (size > 0) {
            found.bytes = (size_t)size;
            cpus_free(cpus);
            *cpus = found;
            return 0;
        }
        cpus_free(&found);
        if (errno != EINVAL)
            break;
    }
    return err_sys(err, "cannot read the CPUs that this process may use");
}

int cpus_apply(const struct cpus *cpus, struct err *err)
{
    char *list;

    if (syscall(SYS_sched_setaffinity, 0, cpus->bytes, cpus->mask) == 0)
        return 0;
    list = cpus_format(cpus);
    (void)err_sys(err, "cannot run on CPUs %s", list);
    free(list);
    return -1;
}
