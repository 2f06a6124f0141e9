/*
 * make simulate: false alarms, detection and coverage of results/infer on comparisons whose truth is known.
 * usage: simulate-compare [COMPARISONS [SEED]]
 */
#include <stdio.h>

#include "simulate.h"

static const struct scenario scenarios[] = {
#include "scenarios.h"
};

int main(int argc, char **argv)
{
    int comparisons = argc > 1 ? atoi(argv[1]) : 2000;
    uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
    int bad = 0;

    printf("%d comparisons each, seed %llu\n", comparisons, (unsigned long long)seed);
    printf("%-64s %8s %8s %8s\n", "", "alarm %", "found %", "cover %");
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        const struct scenario *s = &scenarios[i];
        struct outcome o = sim_run(s, comparisons, seed + i);
        double alarm = 100.0 * o.alarms / o.comparisons;
        double cover = 100.0 * o.covering / o.intervals;
        /* 5 %, and two standard errors of the share that was seen */
        bool fault = alarm > 5 + 200 * sqrt(0.05 * 0.95 / o.comparisons) || cover < 93 || cover > 97 ||
                     (s->must_find && o.found < 0.9 * o.planted);

        bad += fault;
        printf("%-64s %8.1f ", s->name, alarm);
        if (o.planted > 0)
            printf("%8.1f ", 100.0 * o.found / o.planted);
        else
            printf("%8s ", "-");
        printf("%8.1f%s%s\n", cover, fault ? "  outside the bounds" : "", o.wrong ? "  WRONG DIRECTION" : "");
        fflush(stdout);
    }
    return bad > 0;
}
