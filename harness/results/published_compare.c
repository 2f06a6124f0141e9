#include "results/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "results/conclude.h"
#include "results/published_figure.h"

/* A row that both have. */
struct pair {
    uint32_t here;
    size_t there;
};

struct pairs {
    struct pair *items;
    size_t count;
    size_t reference;
};

bool published_is_rate(const char *figure)
{
    return strcmp(figure, "requests_per_s") == 0;
}

static struct stats_spread sum_of(const struct cells_group *group)
{
    /* User and kernel of each round added, as the study adds the medians that it prints. */
    const struct stats_spread *user = &group->spread[CELLS_USER_US];
    const struct stats_spread *kernel = &group->spread[CELLS_KERNEL_US];

    return (struct stats_spread){user->count, user->median + kernel->median, user->min + kernel->min,
                                 user->max + kernel->max};
}

bool published_measure(const struct record *record, const char *figure, uint32_t row, uint32_t test, uint32_t phase,
                       struct published_measure *measure)
{
    const struct cells_group *group = test != INTERN_NONE ? cells_find(&record->cells, row, test, phase) : NULL;
    struct stats_spread spread = {0, NAN, NAN, NAN};

    if (strcmp(figure, "working_set_mb") == 0)
        spread.median = spread.min = spread.max = record->cells.rows[row].working_set_mb;
    else if (group == NULL)
        return false;
    else if (strcmp(figure, "requests_per_s") == 0)
        spread = group->spread[CELLS_RATE];
    else if (strcmp(figure, "latency_p99_ms") == 0)
        spread = group->spread[CELLS_P99];
    else if (strcmp(figure, "cpu_server_us") == 0)
        spread = sum_of(group);
    else if (strcmp(figure, "cpu_postgres_us") == 0)
        spread = group->spread[CELLS_POSTGRES_US];
    *measure = (struct published_measure){spread.median, spread.min, spread.max};
    return !isnan(spread.median) && spread.median >= 0;
}

uint32_t published_find_row(const struct record *record, const char *key)
{
    for (uint32_t row = 0; row < record->cells.titles.count; row++) {
        char *own = published_key(record->cells.titles.strings[row]);
        bool same = strcmp(own, key) == 0 && record->cells.rows[row].lines > 0;

        free(own);
        if (same)
            return row;
    }
    return INTERN_NONE;
}

static int pair_up(const struct record *record, const struct published *published, const char *reference,
                   struct pairs *pairs, struct err *err)
{
    char *wanted = reference != NULL ? published_key(reference) : NULL;
    bool found = wanted == NULL;

    pairs->items = text_realloc(NULL, published->row_count, sizeof *pairs->items);
    for (size_t i = 0; i < published->row_count; i++) {
        uint32_t here = published_find_row(record, published->rows[i].key);

        if (here == INTERN_NONE)
            continue;
        if (wanted != NULL && strcmp(wanted, published->rows[i].key) == 0) {
            pairs->reference = pairs->count;
            found = true;
        }
        pairs->items[pairs->count++] = (struct pair){here, i};
    }
    free(wanted);
    if (pairs->count == 0)
        return err_set(err, "%s: no row of the published study in it; titles are compared without version numbers",
                       record->csv);
    return found ? 0 : err_set(err, "--reference \"%s\": no row that this run and the study have in common", reference);
}

/* Ranks from 1 for the best. */
static void rank(const char *figure, double *values, size_t count, double *ranks)
{
    double sign = published_is_rate(figure) ? -1 : 1;

    for (size_t i = 0; i < count; i++)
        values[i] *= sign;
    stats_ranks(values, count, ranks);
    for (size_t i = 0; i < count; i++)
        values[i] *= sign;
}

/* Rows of which both know the figure, with ratios to the reference row; NULL when there are none. */
static json_t *table_of(const struct record *record, const struct published *published, const struct pairs *pairs,
                        const char *figure, uint32_t test, uint32_t phase)
{
    const char *test_name = test != INTERN_NONE ? record->cells.tests.strings[test] : "";
    int64_t connections = record->cells.phases[phase];
    double *values = text_realloc(NULL, 4 * pairs->count, sizeof *values);
    double *theirs = values + pairs->count;
    double reference = NAN, their_reference = NAN;
    size_t *of = text_realloc(NULL, pairs->count, sizeof *of);
    json_t *rows = json_array();
    json_t *table = json_object();
    size_t count = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        double there = published_value(published, figure, pairs->items[i].there, test_name, connections);
        struct published_measure here;

        if (isnan(there) || !published_measure(record, figure, pairs->items[i].here, test, phase, &here))
            continue;
        if (i == pairs->reference) {
            reference = here.median;
            their_reference = there;
        }
        values[count] = here.median;
        theirs[count] = there;
        of[count++] = i;
    }
    rank(figure, values, count, values + 2 * pairs->count);
    rank(figure, theirs, count, values + 3 * pairs->count);
    for (size_t k = 0; k < count; k++) {
        json_t *row = json_object();

        json_put(row, "row", json_string(record->cells.titles.strings[pairs->items[of[k]].here]));
        json_put(row, "published", json_number(theirs[k], 2));
        json_put(row, "here", json_number(values[k], 2));
        json_put(row, "published_ratio", json_number(theirs[k] / their_reference, 4));
        json_put(row, "ratio", json_number(values[k] / reference, 4));
        json_put(row, "published_rank", json_number(values[3 * pairs->count + k], 1));
        json_put(row, "rank", json_number(values[2 * pairs->count + k], 1));
        (void)json_array_append_new(rows, row);
    }
    json_put(table, "figure", json_string(figure));
    json_put(table, "test", test != INTERN_NONE ? json_string(test_name) : json_null());
    json_put(table, "title", test != INTERN_NONE ? json_string(record_test_title(record, test)) : json_null());
    json_put(table, "connections", test != INTERN_NONE ? json_integer(connections) : json_null());
    json_put(table, "spearman", json_number(stats_spearman(values, theirs, count), 3));
    json_put(table, "rows", rows);
    free(values);
    free(of);
    if (count > 0)
        return table;
    json_decref(table);
    return NULL;
}

static json_t *tables_of(const struct record *record, const struct published *published, const struct pairs *pairs)
{
    static const char *const by_phase[] = {"requests_per_s", "latency_p99_ms"};
    static const char *const once[] = {"cpu_server_us", "cpu_postgres_us"};
    json_t *tables = json_array();

    for (uint32_t test = 0; test < record->cells.tests.count; test++) {
        for (size_t i = 0; i < 2; i++)
            for (uint32_t phase = 0; phase < record->cells.phase_count; phase++)
                (void)json_array_append_new(tables, table_of(record, published, pairs, by_phase[i], test, phase));
        for (size_t i = 0; i < 2; i++)
            (void)json_array_append_new(tables,
                                        table_of(record, published, pairs, once[i], test, conclude_phase(record)));
    }
    (void)json_array_append_new(tables, table_of(record, published, pairs, "working_set_mb", INTERN_NONE, 0));
    return tables;
}

static json_t *unpaired(const struct record *record, const struct published *published, const struct pairs *pairs,
                        bool here)
{
    json_t *list = json_array();
    size_t count = here ? record->cells.titles.count : published->row_count;

    for (size_t i = 0; i < count; i++) {
        bool paired = here && record->cells.rows[i].lines == 0;

        for (size_t k = 0; k < pairs->count; k++)
            paired |= here ? pairs->items[k].here == i : pairs->items[k].there == i;
        if (!paired)
            (void)json_array_append_new(list,
                                        json_string(here ? record->cells.titles.strings[i] : published->rows[i].title));
    }
    return list;
}

int published_compare(const struct record *record, const char *reference, json_t **comparison, struct err *err)
{
    struct published published;
    struct pairs pairs = {0};
    int result = -1;

    if (published_load(published_mode(record), &published, err) != 0)
        return -1;
    if (pair_up(record, &published, reference, &pairs, err) == 0) {
        const struct pair *pair = &pairs.items[pairs.reference];

        *comparison = json_object();
        json_put(*comparison, "study", json_string(published.name));
        json_put(*comparison, "reference", json_string(record->cells.titles.strings[pair->here]));
        json_put(*comparison, "only_published", unpaired(record, &published, &pairs, false));
        json_put(*comparison, "only_here", unpaired(record, &published, &pairs, true));
        json_put(*comparison, "tables", tables_of(record, &published, &pairs));
        json_put(*comparison, "conclusions", published_conclude(record, &published));
        result = 0;
    }
    free(pairs.items);
    published_free(&published);
    return result;
}
