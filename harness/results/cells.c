#include "results/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint32_t cells_seed_row(struct cells *cells, const char *title)
{
    uint32_t row = intern_add(&cells->titles, title);

    if (row >= cells->row_cap) {
        cells->row_cap = cells->row_cap > 0 ? cells->row_cap * 2 : 16;
        cells->rows = text_realloc(cells->rows, cells->row_cap, sizeof *cells->rows);
    }
    if (cells->titles.count > cells->row_count) {
        cells->rows[row] = (struct cells_row){.working_set_mb = NAN, .private_mb = NAN, .startup_s = NAN};
        cells->row_count = cells->titles.count;
    }
    return row;
}

uint32_t cells_seed_test(struct cells *cells, const char *name)
{
    return intern_add(&cells->tests, name);
}

uint32_t cells_seed_phase(struct cells *cells, int64_t connections)
{
    for (uint32_t i = 0; i < cells->phase_count; i++)
        if (cells->phases[i] == connections)
            return i;
    cells->phases = text_realloc(cells->phases, cells->phase_count + 1, sizeof *cells->phases);
    cells->phases[cells->phase_count] = connections;
    return cells->phase_count++;
}

static uint32_t *slot_of(const struct cells *cells, uint32_t row, uint32_t test, uint32_t phase)
{
    /* The groups of a row are neighbours: reports walk them together. */
    uint64_t h = ((uint64_t)row << 8 ^ test >> 2) * 0x9e3779b97f4a7c15ULL;
    uint32_t i = ((uint32_t)(h >> 32) * 8 + (test & 3) * 2 + phase) & (cells->slot_count - 1);

    for (; cells->slots[i] != 0; i = (i + 1) & (cells->slot_count - 1)) {
        const struct cells_group *group = &cells->groups[cells->slots[i] - 1];

        if (group->row == row && group->test == test && group->phase == phase)
            break;
    }
    return &cells->slots[i];
}

struct cells_group *cells_find(const struct cells *cells, uint32_t row, uint32_t test, uint32_t phase)
{
    uint32_t slot = cells->slot_count > 0 ? *slot_of(cells, row, test, phase) : 0;

    return slot > 0 ? &cells->groups[slot - 1] : NULL;
}

static void grow_slots(struct cells *cells)
{
    free(cells->slots);
    cells->slot_count = cells->slot_count > 0 ? cells->slot_count * 2 : 256;
    cells->slots = text_alloc(cells->slot_count * sizeof *cells->slots);
    for (uint32_t i = 0; i < cells->group_count; i++)
        *slot_of(cells, cells->groups[i].row, cells->groups[i].test, cells->groups[i].phase) = i + 1;
}

static struct cells_group *add_group(struct cells *cells, uint32_t row, uint32_t test, uint32_t phase)
{
    struct cells_group *group = cells_find(cells, row, test, phase);

    if (group != NULL)
        return group;
    if (cells->group_count * 2 >= cells->slot_count)
        grow_slots(cells);
    if (cells->group_count == cells->group_cap) {
        cells->group_cap = cells->group_cap > 0 ? cells->group_cap * 2 : 64;
        cells->groups = text_realloc(cells->groups, cells->group_cap, sizeof *cells->groups);
    }
    group = &cells->groups[cells->group_count++];
    *group = (struct cells_group){.row = row, .test = test, .phase = phase, .working_set_mb = NAN, .private_mb = NAN};
    *slot_of(cells, row, test, phase) = cells->group_count;
    return group;
}

/* fmax, but for NaN: what is known wins, and the compiler may inline it. */
static void raise_to(double *highest, double value)
{
    if (!(*highest >= value) && !isnan(value))
        *highest = value;
}

static double per_request_us(double cpu_s, double answers)
{
    return answers > 0 ? cpu_s * 1e6 / answers : NAN;
}

/* Small first: most groups hold three rounds; larger later: few chunks to walk. */
static struct cells_chunk *add_chunk(struct cells_group *group)
{
    uint32_t cap = group->last == NULL ? 4 : group->last->cap < 512 ? group->last->cap * 2 : 512;
    struct cells_chunk *chunk = text_realloc(NULL, 1, sizeof *chunk + cap * sizeof chunk->samples[0]);

    chunk->next = NULL;
    chunk->count = 0;
    chunk->cap = cap;
    if (group->last == NULL)
        group->first = chunk;
    else
        group->last->next = chunk;
    group->last = chunk;
    return chunk;
}

static void add_sample(struct cells *cells, struct cells_group *group, const struct csv_line *line)
{
    struct cells_chunk *chunk = group->last;

    if (chunk == NULL || chunk->count == chunk->cap)
        chunk = add_chunk(group);
    chunk->samples[chunk->count++] = (struct cells_sample){
        .values = {line->requests_per_s, line->latency_p50_ms, line->latency_p99_ms,
                   per_request_us(line->cpu_server_user_s, line->responses_2xx),
                   per_request_us(line->cpu_server_kernel_s, line->responses_2xx),
                   per_request_us(line->cpu_postgres_s, line->responses_2xx)},
        .round = (double)line->round,
    };
    group->samples++;
    cells->sample_count++;
}

static void add_line(struct cells *cells, const struct csv_line *line)
{
    uint32_t row_index = cells_seed_row(cells, line->server);
    struct cells_row *row = &cells->rows[row_index];
    struct cells_group *group =
        add_group(cells, row_index, cells_seed_test(cells, line->test), cells_seed_phase(cells, line->connections));
    double share_pct;

    add_sample(cells, group, line);
    raise_to(&group->working_set_mb, line->working_set_mb);
    raise_to(&group->private_mb, line->private_mb);
    raise_to(&row->working_set_mb, line->working_set_mb);
    raise_to(&row->private_mb, line->private_mb);
    raise_to(&row->startup_s, line->startup_s);
    row->lines++;
    if (isnan(line->errors)) {
        row->errors_unknown++;
    } else {
        row->errors += line->errors;
        group->errors += line->errors;
        share_pct = 100 * line->errors / (line->errors + (line->responses_2xx > 0 ? line->responses_2xx : 0));
        if (line->errors > 0 && mark_exceeded(MARK_ERRORS, share_pct))
            cells_mark(cells, group, MARK_ERRORS, (uint32_t)line->round, share_pct);
    }
    group->ok += line->responses_2xx > 0 ? line->responses_2xx : 0;
    if (cells->first_utc[0] == '\0' || strcmp(line->utc, cells->first_utc) < 0)
        (void)memcpy(cells->first_utc, line->utc, sizeof cells->first_utc);
    if (strcmp(line->utc, cells->last_utc) > 0)
        (void)memcpy(cells->last_utc, line->utc, sizeof cells->last_utc);
}

/* `values` and `scratch` have room for all samples of the group. */
static void finish_group(struct cells *cells, struct cells_group *group, double *values, double *scratch)
{
    const struct cells_chunk *chunk;
    size_t n;

    for (size_t figure = 0; figure < CELLS_FIGURES; figure++) {
        for (chunk = group->first, n = 0; chunk != NULL; chunk = chunk->next)
            for (uint32_t i = 0; i < chunk->count; i++)
                values[n++] = chunk->samples[i].values[figure];
        group->spread[figure] = stats_spread(values, n, scratch);
    }
    for (chunk = group->first, n = 0; chunk != NULL; chunk = chunk->next)
        for (uint32_t i = 0; i < chunk->count; i++)
            values[n++] = chunk->samples[i].round;
    group->rounds = (uint32_t)stats_distinct(values, n);
    cells->duplicates += group->samples - group->rounds;
    if (group->rounds > cells->round_count)
        cells->round_count = group->rounds;
}

static void finish(struct cells *cells)
{
    uint32_t most = 0;
    double *values;

    for (uint32_t i = 0; i < cells->group_count; i++)
        most = cells->groups[i].samples > most ? cells->groups[i].samples : most;
    values = text_realloc(NULL, 2 * (size_t)most, sizeof *values);
    cells->duplicates = 0;
    for (uint32_t i = 0; i < cells->group_count; i++)
        finish_group(cells, &cells->groups[i], values, values + most);
    free(values);
}

int cells_read(const char *path, struct cells *cells, struct err *err)
{
    struct csv_reader reader;
    struct csv_line line;
    uint32_t before = cells->sample_count;
    int got;

    if (csv_open(path, &reader, err) != 0)
        return -1;
    while ((got = csv_next(&reader, &line, err)) == 1) {
        if (cells->sample_count == UINT32_MAX - 1 || cells->tests.count > 10000 || cells->phase_count > 10000) {
            got = csv_fault(&reader, 0, err, "more cells, tests or phases than a report can hold");
            break;
        }
        add_line(cells, &line);
    }
    csv_close(&reader);
    if (got < 0)
        return -1;
    if (cells->sample_count == before)
        return err_set(err, "%s: only a header: nothing was measured", path);
    finish(cells);
    return 0;
}

void cells_free(struct cells *cells)
{
    intern_free(&cells->titles);
    intern_free(&cells->tests);
    for (uint32_t i = 0; i < cells->group_count; i++)
        for (struct cells_chunk *chunk = cells->groups[i].first, *next; chunk != NULL; chunk = next) {
            next = chunk->next;
            free(chunk);
        }
    free(cells->phases);
    free(cells->rows);
    free(cells->groups);
    free(cells->incidents);
    free(cells->slots);
    *cells = (struct cells){0};
}

bool cells_has_round(const struct cells_group *group, int64_t round)
{
    for (const struct cells_chunk *chunk = group->first; chunk != NULL; chunk = chunk->next)
        for (uint32_t i = 0; i < chunk->count; i++)
            if (chunk->samples[i].round == (double)round)
                return true;
    return false;
}

bool cells_has_phase(const struct cells *cells, uint32_t test, uint32_t phase)
{
    for (uint32_t row = 0; row < cells->titles.count; row++)
        if (cells_find(cells, row, test, phase) != NULL)
            return true;
    return false;
}

bool cells_has_test(const struct cells *cells, uint32_t test)
{
    for (uint32_t phase = 0; phase < cells->phase_count; phase++)
        if (cells_has_phase(cells, test, phase))
            return true;
    return false;
}

bool cells_has_any(const struct cells *cells, uint32_t phase)
{
    for (uint32_t i = 0; i < cells->group_count; i++)
        if (cells->groups[i].phase == phase)
            return true;
    return false;
}

void cells_mark(struct cells *cells, struct cells_group *group, enum mark_id mark, uint32_t round, double value)
{
    uint32_t index = (uint32_t)(group - cells->groups);

    if ((group->marks & 1U << mark) && cells->incident_count < CELLS_INCIDENTS)
        for (uint32_t i = 0; i < cells->incident_count; i++)
            if (cells->incidents[i].mark == mark && cells->incidents[i].group == index &&
                cells->incidents[i].round == round)
                return;
    group->marks |= 1U << mark;
    cells->mark_counts[mark]++;
    if (cells->incident_count == CELLS_INCIDENTS)
        return;
    if (cells->incidents == NULL)
        cells->incidents = text_realloc(NULL, CELLS_INCIDENTS, sizeof *cells->incidents);
    cells->incidents[cells->incident_count++] =
        (struct cells_incident){.mark = mark, .group = index, .round = round, .value = value};
}

bool cells_is_barred(const struct cells_group *group)
{
    for (int i = 0; i < MARK_COUNT; i++)
        if ((group->marks & 1U << i) && mark_kinds[i].forbids_bold)
            return true;
    return false;
}
