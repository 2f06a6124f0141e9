#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "results/compare_parts.h"
#include "results/marks.h"

/* Rounds of one cell, and its requests over all of them. */
struct tally {
    struct text failed; /* rounds, "2, 3" */
    struct text missing;
    size_t rounds;
    double ok;
    double errors;
};

static void add_round(struct text *text, int64_t round)
{
    text_addf(text, "%s%lld", text->len > 0 ? ", " : "", (long long)round);
}

/* `run` has the cell in some round; a round that the run has elsewhere and not here is missing. */
static void tally(const struct compare_run *run, uint32_t row, uint32_t test, int64_t phase, struct tally *t)
{
    *t = (struct tally){0};
    for (size_t r = 0; r < run->round_count; r++) {
        const struct compare_line *line = compare_run_find(run, row, test, phase, run->rounds[r]);

        if (line == NULL) {
            add_round(&t->missing, run->rounds[r]);
            continue;
        }
        t->rounds++;
        if (compare_line_failed(line))
            add_round(&t->failed, run->rounds[r]);
        t->ok += isfinite(line->ok) ? line->ok : 0;
        t->errors += isfinite(line->errors) ? line->errors : 0;
    }
}

static void tally_free(struct tally *t)
{
    text_free(&t->failed);
    text_free(&t->missing);
}

static double error_pct(const struct tally *t)
{
    return t->ok + t->errors > 0 ? 100 * t->errors / (t->ok + t->errors) : 0;
}

static void look_at_pair(struct compare *compare, struct compare_pair *pair)
{
    struct compare_row *row = &compare->rows[pair->row];
    const char *test = compare->base->tests.strings[pair->base_test];
    struct tally base, head;
    char *cell = text_format("%s: %s, %lld connections", row->label, test, (long long)pair->phase);

    tally(compare->base, row->base, pair->base_test, pair->phase, &base);
    tally(compare->head, row->head, pair->head_test, pair->phase, &head);
    if (head.failed.len > 0) {
        pair->tainted = true;
        compare_find(compare, COMPARE_FOUND_FAILED, true, "%s failed in round %s of %s: no answer", cell,
                     text_string(&head.failed), compare->head->csv);
    }
    if (head.missing.len > 0) {
        /* Rounds that base lacks too are no loss. */
        bool loss = head.rounds < base.rounds;

        pair->tainted = pair->tainted || loss;
        compare_find(compare, COMPARE_FOUND_MISSING, loss, "%s is missing in round %s of %s", cell,
                     text_string(&head.missing), compare->head->csv);
    }
    if (base.failed.len > 0)
        compare_find(compare, COMPARE_FOUND_FAILED, false, "%s failed in round %s of %s: no answer", cell,
                     text_string(&base.failed), compare->base->csv);
    if (base.missing.len > 0)
        compare_find(compare, COMPARE_FOUND_MISSING, false, "%s is missing in round %s of %s", cell,
                     text_string(&base.missing), compare->base->csv);
    if (mark_exceeded(MARK_ERRORS, error_pct(&head)) || mark_exceeded(MARK_ERRORS, error_pct(&base))) {
        struct text text = {0};

        pair->tainted = pair->tainted || mark_exceeded(MARK_ERRORS, error_pct(&head));
        text_add_double(&text, error_pct(&head), 1);
        text_add(&text, " % of the requests failed, in base ");
        text_add_double(&text, error_pct(&base), 1);
        compare_find(compare, COMPARE_FOUND_ERRORS,
                     mark_exceeded(MARK_ERRORS, error_pct(&head)) && !mark_exceeded(MARK_ERRORS, error_pct(&base)),
                     "%s: %s %%", cell, text_string(&text));
        text_free(&text);
    }
    row->tainted = row->tainted || pair->tainted;
    tally_free(&base);
    tally_free(&head);
    free(cell);
}

void compare_find_faults(struct compare *compare)
{
    for (size_t i = 0; i < compare->pair_count; i++)
        look_at_pair(compare, &compare->pairs[i]);
    if (compare->base->duplicates + compare->head->duplicates > 0)
        compare_note(compare, "%zu cells stand twice in %s, %zu in %s: the later line counts",
                     compare->base->duplicates, compare->base->csv, compare->head->duplicates, compare->head->csv);
}

static bool is_unchanged(const struct compare *compare, const struct compare_row *row)
{
    const struct machine_row *a = compare_run_machine_row(compare->base, row->base);
    const struct machine_row *b = compare_run_machine_row(compare->head, row->head);
    static const char *const keys[] = {"build_hash", "processes", "pool"};

    for (size_t i = 0; a != NULL && b != NULL && i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *x = json_object_get(a->json, keys[i]), *y = json_object_get(b->json, keys[i]);

        if (x != NULL && y != NULL && !json_equal(x, y))
            return false;
    }
    return true;
}

void compare_choose_controls(struct compare *compare)
{
    struct compare_row *sorted;
    size_t controls = 0, kept = 0;

    for (size_t i = 0; i < compare->row_count && compare->design == INFER_TWO_SITTINGS; i++) {
        struct compare_row *row = &compare->rows[i];

        row->control =
            compare_run_is_reference(compare->base, row->base) && compare_run_is_reference(compare->head, row->head);
        if (row->control && !is_unchanged(compare, row)) {
            row->control = false;
            compare_note(compare, "%s was built or set up differently: no control", row->label);
        }
        controls += row->control;
    }
    if (controls == 0 || controls == compare->row_count) {
        for (size_t i = 0; i < compare->row_count; i++)
            compare->rows[i].control = false;
        return;
    }
    sorted = text_alloc(compare->row_count * sizeof *sorted);
    for (int control = 0; control < 2; control++)
        for (size_t i = 0; i < compare->row_count; i++)
            if (compare->rows[i].control == control)
                sorted[kept++] = compare->rows[i];
    free(compare->rows);
    compare->rows = sorted;
}
