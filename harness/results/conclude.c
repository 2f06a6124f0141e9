#include "results/conclude.h"

#include <math.h>
#include <stdlib.h>

static const struct cells_group *competitor(const struct record *record, uint32_t row, uint32_t test, uint32_t phase)
{
    const struct cells_group *group = cells_find(&record->cells, row, test, phase);

    if (group == NULL || isnan(group->spread[CELLS_RATE].median) || cells_is_barred(group) ||
        record_is_reference(record, row))
        return NULL;
    return group;
}

void conclude_test(const struct record *record, uint32_t test, uint32_t phase, struct conclude_test *conclusion)
{
    const struct cells_group *first = NULL;
    double second = NAN;

    *conclusion = (struct conclude_test){.lead_pct = NAN};
    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        const struct cells_group *group = competitor(record, row, test, phase);

        conclusion->competitors += group != NULL;
        if (group != NULL && (first == NULL || group->spread[CELLS_RATE].median > first->spread[CELLS_RATE].median))
            first = group;
    }
    if (first == NULL)
        return;
    conclusion->leader = first->row;
    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        const struct cells_group *group = competitor(record, row, test, phase);

        if (group == NULL || group == first)
            continue;
        conclusion->rivals += group->spread[CELLS_RATE].max >= first->spread[CELLS_RATE].min;
        if (!(group->spread[CELLS_RATE].median <= second))
            second = group->spread[CELLS_RATE].median;
    }
    if (second > 0)
        conclusion->lead_pct = 100 * (first->spread[CELLS_RATE].median / second - 1);
    conclusion->decided = conclusion->competitors > 1 && conclusion->rivals == 0 && first->rounds > 1;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

double conclude_resolution_pct(const struct record *record)
{
    const struct cells *cells = &record->cells;
    double *widths = text_realloc(NULL, cells->group_count, sizeof *widths);
    size_t count = 0;
    double result;

    for (uint32_t i = 0; i < cells->group_count; i++) {
        const struct stats_spread *rate = &cells->groups[i].spread[CELLS_RATE];

        if (rate->count > 1 && !isnan(stats_width_pct(rate)))
            widths[count++] = stats_width_pct(rate);
    }
    qsort(widths, count, sizeof *widths, compare);
    result = count > 0 ? widths[(count - 1) * 3 / 4] : NAN;
    free(widths);
    return result;
}

uint32_t conclude_phase(const struct record *record)
{
    uint32_t phase = 0;

    while (phase + 1 < record->cells.phase_count && !cells_has_any(&record->cells, phase))
        phase++;
    return phase;
}

static void add_decided(const struct record *record, uint32_t test, const struct conclude_test *conclusion,
                        struct text *can)
{
    const struct cells *cells = &record->cells;

    if (can->len == 0)
        text_addf(can, "At %lld connections, faster than every other in all rounds: ",
                  (long long)cells->phases[conclude_phase(record)]);
    else
        text_add(can, "; ");
    text_addf(can, "%s in %s", cells->titles.strings[conclusion->leader], record_test_title(record, test));
    if (!isnan(conclusion->lead_pct))
        text_addf(can, " (by %.0f %%)", conclusion->lead_pct);
}

static void add_open(const struct record *record, uint32_t test, const struct conclude_test *conclusion,
                     struct text *cannot)
{
    text_add(cannot, cannot->len == 0 ? "Not decided, because the rounds of the fastest overlap: " : "; ");
    text_addf(cannot, "%s (%s and %u more)", record_test_title(record, test),
              record->cells.titles.strings[conclusion->leader], conclusion->rivals);
}

void conclude_write(const struct record *record, struct text *can, struct text *cannot)
{
    double resolution = conclude_resolution_pct(record);
    uint32_t phase = conclude_phase(record);
    const json_t *run = json_object_get(record->machine.doc.root, "run");
    unsigned bound = record->cells.mark_counts[MARK_GENERATOR_BOUND];
    uint32_t most = 0;

    for (uint32_t test = 0; test < record->cells.tests.count; test++) {
        struct conclude_test conclusion;

        conclude_test(record, test, phase, &conclusion);
        most = conclusion.competitors > most ? conclusion.competitors : most;
        if (conclusion.decided)
            add_decided(record, test, &conclusion, can);
        else if (conclusion.competitors > 1 && !isnan(resolution))
            add_open(record, test, &conclusion, cannot);
    }
    text_add(can, can->len > 0 ? "." : "");
    text_add(cannot, cannot->len > 0 ? ". " : "");
    if (most < 2)
        text_add(cannot, most == 0 ? "No row competes here: there is nothing to compare. "
                                   : "One row competes here: there is nothing to compare it with. ");
    if (isnan(resolution))
        text_add(cannot,
                 "With one round nothing is known of how much the figures move: no difference can be told apart.");
    else
        text_addf(cannot, "%u rounds: differences below about %.0f %% cannot be told apart here.",
                  record->cells.round_count, fmax(1, ceil(resolution)));
    if (bound > 0)
        text_addf(cannot, " In %u cell%s the load generator was the limit: %s nothing about the server.", bound,
                  bound == 1 ? "" : "s", bound == 1 ? "it says" : "they say");
    if (json_is_false(json_object_get(json_object_get(run, "cpus"), "pinned")))
        text_add(cannot, " The run was not pinned: servers and load generator shared the CPUs.");
}
