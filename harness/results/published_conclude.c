#include "results/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "results/conclude.h"
#include "results/published_figure.h"

enum outcome { HOLDS, FAILS, OPEN };

/* A conclusion while it is being decided. */
struct question {
    const struct record *record;
    const json_t *json;
    const char *figure;
    uint32_t test;
    uint32_t phase;
    struct text why;
};

static const char *title_of(const struct question *question, uint32_t row)
{
    return question->record->cells.titles.strings[row];
}

/* The row that a key of the conclusion names; INTERN_NONE, with the reason, when the run lacks it. */
static uint32_t row_at(struct question *question, const char *key)
{
    const char *name = json_get_string(question->json, key);
    uint32_t row = name != NULL ? published_find_row(question->record, name) : INTERN_NONE;

    if (row == INTERN_NONE)
        text_addf(&question->why, "%s was not measured", name != NULL ? name : "the row");
    return row;
}

static bool measure(const struct question *question, uint32_t row, struct published_measure *measure)
{
    const struct cells_group *group = question->test != INTERN_NONE
                                          ? cells_find(&question->record->cells, row, question->test, question->phase)
                                          : NULL;

    if (group != NULL && (cells_is_barred(group) || group->rounds < 2))
        return false;
    return published_measure(question->record, question->figure, row, question->test, question->phase, measure);
}

static void add_measure(struct question *question, const struct published_measure *measure)
{
    text_add_double(&question->why, measure->min, measure->min < 100 ? 1 : 0);
    if (measure->max > measure->min) {
        text_add(&question->why, " to ");
        text_add_double(&question->why, measure->max, measure->max < 100 ? 1 : 0);
    }
}

/* Rounds that do not overlap decide. */
static enum outcome compare(struct question *question, uint32_t row, uint32_t other)
{
    struct published_measure a, b;
    bool rate = published_is_rate(question->figure);
    bool better, worse;

    if (!measure(question, row, &a) || !measure(question, other, &b)) {
        text_addf(&question->why, "fewer than two usable rounds of %s or %s", title_of(question, row),
                  title_of(question, other));
        return OPEN;
    }
    better = rate ? a.min > b.max : a.max < b.min;
    worse = rate ? a.max < b.min : a.min > b.max;
    text_addf(&question->why, "%s ", title_of(question, row));
    add_measure(question, &a);
    text_addf(&question->why, ", %s ", title_of(question, other));
    add_measure(question, &b);
    if (!better && !worse)
        text_add(&question->why, ": the rounds overlap");
    return better ? HOLDS : worse ? FAILS : OPEN;
}

static enum outcome decide_better(struct question *question)
{
    uint32_t row = row_at(question, "row");
    uint32_t other = row != INTERN_NONE ? row_at(question, "than") : INTERN_NONE;

    return row != INTERN_NONE && other != INTERN_NONE ? compare(question, row, other) : OPEN;
}

/* Better than every row that the study measured too and that may be compared; another that is better decides. */
static enum outcome decide_best(struct question *question, const struct published *published)
{
    uint32_t row = row_at(question, "row");
    enum outcome outcome = HOLDS;
    struct text open = {0};
    size_t rivals = 0;

    if (row == INTERN_NONE)
        return OPEN;
    for (size_t i = 0; i < published->row_count; i++) {
        uint32_t other = published_find_row(question->record, published->rows[i].key);
        enum outcome one;

        if (other == INTERN_NONE || other == row)
            continue;
        rivals++;
        text_clear(&question->why);
        one = compare(question, row, other);
        if (one == FAILS) {
            text_free(&open);
            return FAILS;
        }
        if (one == OPEN && outcome == HOLDS) {
            outcome = OPEN;
            text_add(&open, text_string(&question->why));
        }
    }
    text_clear(&question->why);
    if (rivals == 0) {
        text_add(&question->why, "no other row of the study was measured");
        outcome = OPEN;
    } else if (outcome == HOLDS) {
        text_addf(&question->why, "against %zu other row%s", rivals, rivals == 1 ? "" : "s");
    }
    text_add(&question->why, text_string(&open));
    text_free(&open);
    return outcome;
}

static bool is_listed(const json_t *list, const char *title)
{
    char *key = published_key(title);
    const json_t *item;
    bool found = false;
    size_t i;

    json_array_foreach (list, i, item) {
        found |= json_is_string(item) && strcmp(json_string_value(item), key) == 0;
    }
    free(key);
    return found;
}

static enum outcome decide_within(struct question *question, const struct published *published)
{
    double factor = json_get_number(question->json, "factor");
    double low = INFINITY, high = 0;
    size_t count = 0;

    for (size_t i = 0; i < published->row_count; i++) {
        uint32_t row = published_find_row(question->record, published->rows[i].key);
        struct published_measure one;

        if (row == INTERN_NONE || is_listed(json_object_get(question->json, "without"), title_of(question, row)) ||
            !measure(question, row, &one))
            continue;
        low = fmin(low, one.median);
        high = fmax(high, one.median);
        count++;
    }
    if (count < 2) {
        text_add(&question->why, "fewer than two of the study's rows were measured");
        return OPEN;
    }
    text_addf(&question->why, "%zu rows, the highest median is ", count);
    text_add_double(&question->why, high / low, 2);
    text_add(&question->why, " times the lowest");
    return high / low < factor ? HOLDS : FAILS;
}

/* More than half of the rows decide, by the verdicts of their cells. */
static enum outcome decide_limit(struct question *question, bool wanted)
{
    const struct record *record = question->record;
    const char *limit = json_get_string(question->json, "limit");
    size_t votes = 0, count = 0;

    for (uint32_t row = 0; row < record->cells.titles.count && limit != NULL; row++) {
        const struct cells_group *group = cells_find(&record->cells, row, question->test, question->phase);
        const struct evidence_group *evidence =
            group != NULL ? evidence_of(&record->evidence, &record->cells, group) : NULL;

        if (evidence == NULL || evidence->limit == EVIDENCE_UNKNOWN || record_is_reference(record, row))
            continue;
        count++;
        votes += (strcmp(evidence_limit_names[evidence->limit], limit) == 0) == wanted;
    }
    if (count == 0) {
        text_add(&question->why, "no verdicts: the details are missing");
        return OPEN;
    }
    text_addf(&question->why, "%zu of %zu rows", votes, count);
    return 2 * votes > count ? HOLDS : 2 * votes < count ? FAILS : OPEN;
}

static enum outcome decide_errors(struct question *question)
{
    const struct cells *cells = &question->record->cells;
    uint32_t row = row_at(question, "row");

    if (row == INTERN_NONE)
        return OPEN;
    for (uint32_t i = 0; i < cells->titles.count; i++)
        if (i != row && cells->rows[i].errors > 0) {
            text_addf(&question->why, "%s had %.0f", title_of(question, i), cells->rows[i].errors);
            return FAILS;
        }
    text_addf(&question->why, "%s had %.0f", title_of(question, row), cells->rows[row].errors);
    return HOLDS;
}

static enum outcome decide(struct question *question, const struct published *published)
{
    const char *rule = json_get_string(question->json, "rule");
    const char *test = json_get_string(question->json, "test");

    question->figure = json_get_string(question->json, "figure");
    question->test = test != NULL ? intern_find(&question->record->cells.tests, test) : INTERN_NONE;
    if (test != NULL && question->test == INTERN_NONE) {
        text_addf(&question->why, "the test %s was not measured", test);
        return OPEN;
    }
    if (rule == NULL)
        return OPEN;
    if (strcmp(rule, "limited_by") == 0 || strcmp(rule, "not_limited_by") == 0)
        return decide_limit(question, rule[0] == 'l');
    if (strcmp(rule, "errors_only") == 0)
        return decide_errors(question);
    if (question->figure == NULL)
        return OPEN;
    if (strcmp(rule, "within") == 0)
        return decide_within(question, published);
    return strcmp(rule, "best") == 0 ? decide_best(question, published) : decide_better(question);
}

json_t *published_conclude(const struct record *record, const struct published *published)
{
    static const char *const words[] = {"holds", "does not hold", "cannot be decided"};
    json_t *list = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach (json_object_get(published->conclusions.root, "conclusions"), i, item) {
        struct question question = {.record = record, .json = item, .phase = conclude_phase(record)};
        const json_t *modes = json_object_get(item, "modes");
        json_t *conclusion;
        enum outcome outcome;

        if (modes != NULL && !is_listed(modes, published_mode(record)))
            continue;
        outcome = decide(&question, published);
        conclusion = json_object();
        json_put(conclusion, "text", json_deep_copy(json_object_get(item, "text")));
        json_put(conclusion, "rule", json_deep_copy(json_object_get(item, "rule")));
        json_put(conclusion, "outcome", json_string(words[outcome]));
        json_put(conclusion, "why", json_string(text_string(&question.why)));
        (void)json_array_append_new(list, conclusion);
        text_free(&question.why);
    }
    return list;
}
