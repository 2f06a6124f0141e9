#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "results/compare_parts.h"

static const char *row_id(const struct compare_run *run, uint32_t row)
{
    const struct machine_row *known = compare_run_machine_row(run, row);

    return known != NULL ? known->id : NULL;
}

static void add_row(struct compare *compare, uint32_t base, uint32_t head)
{
    const char *a = compare->base->titles.strings[base];
    const char *b = compare->head->titles.strings[head];

    compare->rows = text_realloc(compare->rows, compare->row_count + 1, sizeof *compare->rows);
    compare->rows[compare->row_count++] = (struct compare_row){
        .base = base,
        .head = head,
        .label = strcmp(a, b) == 0 ? text_dup(a) : text_format("%s -> %s", a, b),
    };
}

static bool is_paired(const struct compare *compare, uint32_t row, bool head)
{
    for (size_t i = 0; i < compare->row_count; i++)
        if ((head ? compare->rows[i].head : compare->rows[i].base) == row)
            return true;
    return false;
}

static const char *nearest(const struct compare_run *run, const char *key)
{
    const char *best = "nothing";
    size_t least = SIZE_MAX;

    for (uint32_t row = 0; row < run->titles.count; row++) {
        size_t distance = text_distance(run->titles.strings[row], key);

        if (distance < least) {
            least = distance;
            best = run->titles.strings[row];
        }
    }
    return best;
}

/* One --map. A title may hold '=': every place where it could be cut is tried. */
static int map_one(struct compare *compare, const char *map, bool *modes, struct err *err)
{
    const char *cut = strchr(map, '=');

    if (cut == NULL)
        return err_set(err, "--map %s: write BASE=HEAD, such as --map 'Rust 1.95 · axum=Rust 1.96 · axum'", map);
    for (; cut != NULL; cut = strchr(cut + 1, '=')) {
        char *a = text_dup_n(map, (size_t)(cut - map));
        uint32_t base = compare_run_row(compare->base, a);
        uint32_t head = compare_run_row(compare->head, cut + 1);
        bool is_modes = compare->base->mode != NULL && compare->head->mode != NULL &&
                        strcmp(compare->base->mode, a) == 0 && strcmp(compare->head->mode, cut + 1) == 0;

        free(a);
        if (is_modes)
            *modes = true;
        else if (base != INTERN_NONE && head != INTERN_NONE)
            add_row(compare, base, head);
        if (is_modes || (base != INTERN_NONE && head != INTERN_NONE))
            return 0;
    }
    cut = strchr(map, '=');
    char *a = text_dup_n(map, (size_t)(cut - map));
    const struct compare_run *run = compare_run_row(compare->base, a) == INTERN_NONE ? compare->base : compare->head;
    const char *key = run == compare->base ? a : cut + 1;

    (void)err_set(err, "--map %s: %s has no row \"%s\"; nearest: %s", map, run->csv, key, nearest(run, key));
    free(a);
    return -1;
}

static void pair_rows(struct compare *compare)
{
    const struct compare_run *base = compare->base, *head = compare->head;

    for (uint32_t row = 0; row < base->titles.count; row++) {
        const char *id = row_id(base, row);
        uint32_t partner = INTERN_NONE;

        if (is_paired(compare, row, false))
            continue;
        for (uint32_t i = 0; id != NULL && i < head->titles.count && partner == INTERN_NONE; i++)
            if (row_id(head, i) != NULL && strcmp(row_id(head, i), id) == 0)
                partner = i;
        if (partner == INTERN_NONE)
            partner = intern_find(&head->titles, base->titles.strings[row]);
        if (partner != INTERN_NONE && !is_paired(compare, partner, true))
            add_row(compare, row, partner);
    }
}

/* What one side has, one line: "50, 200". */
static char *phases_of(const struct compare_run *run)
{
    struct text text = {0};
    int64_t last = 0;

    for (;;) {
        int64_t next = INT64_MAX;

        for (size_t i = 0; i < run->line_count; i++)
            if (run->lines[i].phase > last && run->lines[i].phase < next)
                next = run->lines[i].phase;
        if (next == INT64_MAX)
            break;
        text_addf(&text, "%s%lld", text.len > 0 ? ", " : "", (long long)next);
        last = next;
    }
    return text_take(&text);
}

static void put_aside(struct compare *compare)
{
    const struct intern *a = &compare->base->titles, *b = &compare->head->titles;
    size_t width = text_width(compare->base->csv);

    for (uint32_t i = 0; i < a->count; i++)
        width = text_width(a->strings[i]) > width ? text_width(a->strings[i]) : width;
    for (uint32_t i = 0; i < a->count + 1 || i < b->count + 1; i++) {
        const char *left = i == 0 ? compare->base->csv : i <= a->count ? a->strings[i - 1] : "";
        const char *right = i == 0 ? compare->head->csv : i <= b->count ? b->strings[i - 1] : "";

        text_addf(&compare->aside, "  %s%*s  %s\n", left, (int)(width - text_width(left)), "", right);
    }
}

static int nothing_in_common(struct compare *compare, bool modes, struct err *err)
{
    const struct compare_run *base = compare->base, *head = compare->head;
    char *phases_a = phases_of(base), *phases_b = phases_of(head);

    if (base->line_count == 0 || head->line_count == 0)
        (void)err_set(err, "no cell in common: %s holds only a header", base->line_count == 0 ? base->csv : head->csv);
    else if (!modes)
        (void)err_set(err,
                      "no cell in common: %s is a run with %s, %s one with %s; --map %s=%s compares them all the same",
                      base->csv, base->mode, head->csv, head->mode, base->mode, head->mode);
    else if (compare->row_count == 0)
        (void)err_set(err, "no cell in common: no row of %s is in %s; pair them with --map 'BASE=HEAD'", base->csv,
                      head->csv);
    else
        (void)err_set(
            err, "no cell in common: the rows are the same, but %s has connections %s and %s has %s, or other tests",
            base->csv, phases_a, head->csv, phases_b);
    put_aside(compare);
    free(phases_a);
    free(phases_b);
    return -1;
}

/* All cells of one row pair; lines are sorted, so the rounds of a cell follow each other. */
static void pair_cells(struct compare *compare, size_t index)
{
    const struct compare_run *base = compare->base, *head = compare->head;
    struct compare_row *row = &compare->rows[index];

    for (size_t i = 0; i < base->line_count; i++) {
        const struct compare_line *line = &base->lines[i];
        struct compare_pair pair = {.row = index, .base_test = line->test, .phase = line->phase};

        if (line->row != row->base ||
            (i > 0 && line[-1].row == line->row && line[-1].test == line->test && line[-1].phase == line->phase))
            continue;
        pair.head_test = intern_find(&head->tests, base->tests.strings[line->test]);
        if (pair.head_test == INTERN_NONE || !compare_run_has(head, row->head, pair.head_test, line->phase)) {
            row->tainted = true;
            compare_find(compare, COMPARE_FOUND_MISSING, true, "%s: %s, %lld connections is missing in %s", row->label,
                         base->tests.strings[line->test], (long long)line->phase, head->csv);
            continue;
        }
        compare->pairs = text_realloc(compare->pairs, compare->pair_count + 1, sizeof *compare->pairs);
        compare->pairs[compare->pair_count++] = pair;
    }
}

static size_t count_cells(const struct compare_run *run)
{
    size_t cells = 0;

    for (size_t i = 0; i < run->line_count; i++) {
        const struct compare_line *line = &run->lines[i];

        cells += i == 0 || line[-1].row != line->row || line[-1].test != line->test || line[-1].phase != line->phase;
    }
    return cells;
}

static void find_unpaired(struct compare *compare)
{
    const struct compare_run *base = compare->base, *head = compare->head;

    for (uint32_t row = 0; row < base->titles.count; row++) {
        if (is_paired(compare, row, false))
            continue;
        compare_find(compare, COMPARE_FOUND_MISSING, true, "%s is missing in %s", base->titles.strings[row], head->csv);
        for (size_t i = 0; i < head->machine.row_count; i++) {
            const struct machine_row *planned = &head->machine.rows[i];
            const char *id = row_id(base, row);

            if (planned->reason != NULL && ((id != NULL && strcmp(planned->id, id) == 0) ||
                                            strcmp(planned->title, base->titles.strings[row]) == 0))
                compare_find(compare, COMPARE_FOUND_FAILED, true, "%s: %s: %s", planned->title, planned->status,
                             planned->reason);
        }
    }
    for (uint32_t row = 0; row < head->titles.count; row++)
        if (!is_paired(compare, row, true))
            compare_find(compare, COMPARE_FOUND_UNPAIRED, false, "%s is only in %s", head->titles.strings[row],
                         head->csv);
    for (size_t i = 0; i < head->line_count; i++) {
        const struct compare_line *line = &head->lines[i];
        bool is_first =
            i == 0 || line[-1].row != line->row || line[-1].test != line->test || line[-1].phase != line->phase;

        for (size_t r = 0; is_first && r < compare->row_count; r++) {
            uint32_t test = intern_find(&base->tests, head->tests.strings[line->test]);

            if (compare->rows[r].head == line->row &&
                (test == INTERN_NONE || !compare_run_has(base, compare->rows[r].base, test, line->phase)))
                compare_find(compare, COMPARE_FOUND_UNPAIRED, false, "%s: %s, %lld connections is only in %s",
                             compare->rows[r].label, head->tests.strings[line->test], (long long)line->phase,
                             head->csv);
        }
    }
}

int compare_pair_up(struct compare *compare, struct err *err)
{
    const struct compare_run *base = compare->base, *head = compare->head;
    bool modes = base->mode == NULL || head->mode == NULL || strcmp(base->mode, head->mode) == 0;
    bool chosen;

    for (size_t i = 0; i < compare->options.map_count; i++)
        if (map_one(compare, compare->options.maps[i], &modes, err) != 0)
            return -1;
    /* Within one run only what was asked for is compared: a row against itself says nothing. */
    chosen = compare->design == INFER_PAIRED && compare->row_count > 0;
    if (!chosen)
        pair_rows(compare);
    compare->base_cells = count_cells(base);
    compare->head_cells = count_cells(head);
    if (!modes)
        return nothing_in_common(compare, modes, err);
    compare_choose_controls(compare);
    for (size_t i = 0; i < compare->row_count; i++)
        pair_cells(compare, i);
    if (compare->pair_count == 0)
        return nothing_in_common(compare, modes, err);
    if (!chosen)
        find_unpaired(compare);
    return 0;
}
