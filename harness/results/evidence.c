#include "results/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

const char *const evidence_limit_names[EVIDENCE_LIMITS] = {"unknown", "generator", "database", "server", "latency"};

const char *const evidence_error_names[EVIDENCE_ERROR_KINDS] = {"connect",   "timeout", "closed",  "truncated",
                                                                "malformed", "status",  "mismatch"};

static const char *const share_names[EVIDENCE_SHARES] = {"generator_pct", "database_wait_pct", "shared_pct",
                                                         "server_pct", "database_pct"};

static void add_sample(struct evidence_group *group, const json_t *verdict)
{
    const char *limit = json_get_string(verdict, "limited_by");
    struct evidence_sample *sample;

    if (limit == NULL)
        return;
    if (group->count == group->cap) {
        group->cap = group->cap > 0 ? group->cap * 2 : 4;
        group->samples = text_realloc(group->samples, group->cap, sizeof *group->samples);
    }
    sample = &group->samples[group->count++];
    sample->limit = EVIDENCE_UNKNOWN;
    for (int i = 1; i < EVIDENCE_LIMITS; i++)
        if (strcmp(evidence_limit_names[i], limit) == 0)
            sample->limit = (enum evidence_limit)i;
    for (int i = 0; i < EVIDENCE_SHARES; i++)
        sample->shares[i] = json_get_number(verdict, share_names[i]);
}

static void add_cell(const struct details_line *line, struct cells *cells, struct cells_group *group,
                     struct evidence_group *evidence)
{
    const json_t *errors = details_at(line->json, "load.restbench.errors");
    const json_t *mark;
    size_t i;

    add_sample(evidence, json_object_get(line->json, "verdict"));
    for (i = 0; i < EVIDENCE_ERROR_KINDS; i++) {
        double count = json_get_number(errors, evidence_error_names[i]);

        evidence->errors[i] += isnan(count) ? 0 : count;
    }
    json_array_foreach (json_object_get(line->json, "marks"), i, mark) {
        const char *name = json_get_string(mark, "name");
        enum mark_id id = name != NULL ? mark_find(name) : MARK_COUNT;

        if (id != MARK_COUNT)
            cells_mark(cells, group, id, (uint32_t)line->round, json_get_number(mark, "value"));
    }
}

static char *copy(const json_t *json, const char *key)
{
    const char *string = json_get_string(json, key);

    return text_dup(string != NULL ? string : "");
}

static void add_failure(const struct details_line *line, struct evidence *evidence)
{
    evidence->failures = text_realloc(evidence->failures, evidence->failure_count + 1, sizeof *evidence->failures);
    evidence->failures[evidence->failure_count++] = (struct evidence_failure){
        .title = text_dup(line->title[0] != '\0' ? line->title : line->row),
        .test = text_dup(line->test),
        .phase = text_dup(line->phase),
        .reason = copy(line->json, "reason"),
        .log = copy(line->json, "log"),
        .round = line->round,
    };
}

struct cells_group *evidence_group(const struct cells *cells, const struct details_line *line)
{
    uint32_t row = intern_find(&cells->titles, line->title);
    uint32_t test = intern_find(&cells->tests, line->test);

    if (row == INTERN_NONE || test == INTERN_NONE)
        return NULL;
    for (uint32_t phase = 0; phase < cells->phase_count; phase++)
        if (cells->phases[phase] == line->connections)
            return cells_find(cells, row, test, phase);
    return NULL;
}

/* Transactions are counted for a server's whole life: which of its cells claimed too many cannot be told. */
static void add_unconfirmed(const struct details_line *line, struct cells *cells)
{
    uint32_t row = intern_find(&cells->titles, line->title);

    for (uint32_t i = 0; row != INTERN_NONE && i < cells->group_count; i++) {
        struct cells_group *group = &cells->groups[i];

        if (group->row == row && cells_has_round(group, line->round))
            cells_mark(cells, group, MARK_UNCONFIRMED, (uint32_t)line->round, NAN);
    }
}

static void add_line(const struct details_line *line, struct cells *cells, struct evidence *evidence)
{
    struct cells_group *group;

    switch (line->kind) {
    case DETAILS_CELL:
        group = evidence_group(cells, line);
        if (group != NULL)
            add_cell(line, cells, group, &evidence->groups[group - cells->groups]);
        else
            evidence->unknown_cells++;
        break;
    case DETAILS_FAILED: /* a resumed run may have measured it since */
        group = evidence_group(cells, line);
        if (group == NULL || !cells_has_round(group, line->round))
            add_failure(line, evidence);
        break;
    case DETAILS_RECONCILIATION:
        if (json_is_false(json_object_get(line->json, "ok"))) {
            evidence->unreconciled++;
            add_unconfirmed(line, cells);
        } else {
            evidence->reconciled++;
        }
        break;
    case DETAILS_OTHER:
        break;
    }
}

static void finish(struct evidence_group *group)
{
    double *values = text_realloc(NULL, 2 * (size_t)group->count, sizeof *values);
    uint32_t votes[EVIDENCE_LIMITS] = {0};

    for (uint32_t i = 0; i < group->count; i++)
        votes[group->samples[i].limit]++;
    for (uint32_t i = 0; i < group->count; i++)
        if (votes[group->samples[i].limit] >= votes[group->limit])
            group->limit = group->samples[i].limit;
    for (int share = 0; share < EVIDENCE_SHARES; share++) {
        for (uint32_t i = 0; i < group->count; i++)
            values[i] = group->samples[i].shares[share];
        group->shares[share] = stats_spread(values, group->count, values + group->count).median;
    }
    free(values);
}

int evidence_read(const char *path, struct cells *cells, struct evidence *evidence, struct err *err)
{
    struct details_reader reader;
    struct details_line line;
    int got;

    if (details_open(path, &reader, err) != 0)
        return -1;
    evidence->group_count = cells->group_count;
    evidence->groups = text_alloc(cells->group_count * sizeof *evidence->groups);
    while ((got = details_next(&reader, &line, err)) == 1)
        add_line(&line, cells, evidence);
    if (got < 0 && reader.cut) {
        /* The run was killed while it wrote; what was finished counts, and the report says what it left out. */
        (void)memcpy(evidence->fault, err->text, sizeof evidence->fault);
        err_clear(err);
        got = 0;
    }
    details_close(&reader);
    for (uint32_t i = 0; i < evidence->group_count; i++)
        finish(&evidence->groups[i]);
    return got;
}

void evidence_free(struct evidence *evidence)
{
    for (uint32_t i = 0; i < evidence->group_count; i++)
        free(evidence->groups[i].samples);
    for (uint32_t i = 0; i < evidence->failure_count; i++) {
        free(evidence->failures[i].title);
        free(evidence->failures[i].test);
        free(evidence->failures[i].phase);
        free(evidence->failures[i].reason);
        free(evidence->failures[i].log);
    }
    free(evidence->groups);
    free(evidence->failures);
    *evidence = (struct evidence){0};
}

const struct evidence_group *evidence_of(const struct evidence *evidence, const struct cells *cells,
                                         const struct cells_group *group)
{
    size_t index = (size_t)(group - cells->groups);

    return evidence->groups != NULL && evidence->groups[index].count > 0 ? &evidence->groups[index] : NULL;
}

static void add_pct(struct text *text, const char *before, double pct, const char *unit)
{
    text_add(text, before);
    if (isnan(pct))
        text_add(text, "unknown");
    else
        text_addf(text, "%.0f%s", pct, unit);
}

void evidence_add_verdict(const struct evidence_group *group, struct text *text)
{
    if (group->limit == EVIDENCE_UNKNOWN)
        return;
    text_addf(text, "%s (", evidence_limit_names[group->limit]);
    if (group->limit == EVIDENCE_GENERATOR) {
        add_pct(text, "its CPU ", group->shares[EVIDENCE_GENERATOR_PCT], " %");
    } else {
        if (group->limit == EVIDENCE_DATABASE)
            add_pct(text, "waits ", group->shares[EVIDENCE_WAIT_PCT], " %");
        add_pct(text, group->limit == EVIDENCE_DATABASE ? ", CPU " : "CPU ", group->shares[EVIDENCE_SHARED_PCT], " %");
        add_pct(text, ": server ", group->shares[EVIDENCE_SERVER_PCT], "");
        if (!isnan(group->shares[EVIDENCE_DATABASE_PCT]))
            add_pct(text, ", db ", group->shares[EVIDENCE_DATABASE_PCT], "");
    }
    text_add_char(text, ')');
}
