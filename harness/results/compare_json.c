#include <math.h>
#include <stdlib.h>

#include "results/compare.h"

static json_t *text_or_null(const char *string)
{
    return string != NULL ? json_string(string) : json_null();
}

static json_t *side(const struct compare_run *run, size_t cells)
{
    json_t *object = json_object();

    json_put(object, "csv", json_string(run->csv));
    json_put(object, "mode", text_or_null(run->mode));
    json_put(object, "rounds", json_integer((json_int_t)run->round_count));
    json_put(object, "cells", json_integer((json_int_t)cells));
    return object;
}

static json_t *result_json(const struct compare *compare, const struct compare_result *result)
{
    const struct infer_cell *cell = &result->infer;
    const struct compare_row *row = &compare->rows[result->row];
    const struct compare_pair *pair = result->pair == SIZE_MAX ? NULL : &compare->pairs[result->pair];
    const struct machine_row *known = compare_run_machine_row(compare->base, row->base);
    struct infer_judgement judgement = infer_judge(cell, compare->design, compare->options.bound_pct);
    bool is_open = result->verdict == COMPARE_CANNOT_TELL && judgement.rounds_more != 0;
    json_t *object = json_object();

    json_put(object, "metric", json_string(compare_metrics[result->metric].name));
    json_put(object, "unit", json_string(compare_metrics[result->metric].unit));
    json_put(object, "better", json_string(compare_metrics[result->metric].higher_is_better ? "higher" : "lower"));
    json_put(object, "row", json_string(row->label));
    json_put(object, "id", text_or_null(known != NULL ? known->id : NULL));
    json_put(object, "base_title", json_string(compare->base->titles.strings[row->base]));
    json_put(object, "head_title", json_string(compare->head->titles.strings[row->head]));
    json_put(object, "test", pair != NULL ? json_string(compare->base->tests.strings[pair->base_test]) : json_null());
    json_put(object, "connections", pair != NULL ? json_integer(pair->phase) : json_null());
    json_put(object, "base", json_number(result->base, 6));
    json_put(object, "head", json_number(result->head, 6));
    json_put(object, "base_rounds", json_integer((json_int_t)cell->base_used));
    json_put(object, "head_rounds", json_integer((json_int_t)cell->head_used));
    json_put(object, "change_pct", json_number(infer_pct(cell->change), 4));
    json_put(object, "low_pct", json_number(cell->state == INFER_OK ? infer_pct(cell->low) : (double)NAN, 4));
    json_put(object, "high_pct", json_number(cell->state == INFER_OK ? infer_pct(cell->high) : (double)NAN, 4));
    json_put(object, "noise_pct", json_number(infer_pct(cell->noise_sd), 4));
    json_put(object, "p", json_number(cell->state == INFER_OK ? cell->p : (double)NAN, 6));
    json_put(object, "p_exact", json_number(cell->state == INFER_OK ? cell->p_exact : (double)NAN, 6));
    json_put(object, "p_adjusted",
             json_number(cell->state == INFER_OK && !row->control ? cell->p_adjusted : (double)NAN, 6));
    json_put(object, "verdict", json_string(compare_verdict_names[result->verdict]));
    json_put(object, "words", json_string(result->words));
    json_put(object, "bound_pct", json_number(result->verdict == COMPARE_EQUAL ? result->bound_pct : (double)NAN, 4));
    json_put(object, "rounds_more",
             is_open && judgement.rounds_more > 0 ? json_integer(judgement.rounds_more) : json_null());
    json_put(object, "fails", json_boolean(result->fails));
    return object;
}

static json_t *summary_json(const struct compare *compare)
{
    json_t *array = json_array();

    for (enum compare_metric metric = 0; metric < COMPARE_METRICS; metric++) {
        size_t used, of;
        char *left_out = NULL;
        double pct = compare_mean_pct(compare, metric, &used, &of, &left_out);
        json_t *object = json_object();

        json_put(object, "metric", json_string(compare_metrics[metric].name));
        json_put(object, "geometric_mean_pct", json_number(pct, 4));
        json_put(object, "used", json_integer((json_int_t)used));
        json_put(object, "of", json_integer((json_int_t)of));
        json_put(object, "left_out", json_string(left_out));
        free(left_out);
        if (of > 0)
            (void)json_array_append_new(array, object);
        else
            json_decref(object);
    }
    return array;
}

static const char *const control_names[] = {
    [COMPARE_NO_CONTROL] = "none",
    [COMPARE_SAME_SITTING] = "same sitting",
    [COMPARE_REFERENCE] = "reference",
    [COMPARE_CALIBRATION] = "calibration",
};

json_t *compare_json(const struct compare *compare)
{
    json_t *object = json_object(), *results = json_array(), *findings = json_array(), *notes = json_array();

    for (size_t i = 0; i < compare->result_count; i++)
        (void)json_array_append_new(results, result_json(compare, &compare->results[i]));
    for (size_t i = 0; i < compare->finding_count; i++) {
        json_t *finding = json_object();

        json_put(finding, "kind", json_string(compare_kind_names[compare->findings[i].kind]));
        json_put(finding, "text", json_string(compare->findings[i].text));
        json_put(finding, "fails", json_boolean(compare->findings[i].fails));
        (void)json_array_append_new(findings, finding);
    }
    for (size_t i = 0; i < compare->notes.count; i++)
        (void)json_array_append_new(notes, json_string(compare->notes.items[i]));
    json_put(object, "base", side(compare->base, compare->base_cells));
    json_put(object, "head", side(compare->head, compare->head_cells));
    json_put(object, "pairs", json_integer((json_int_t)compare->pair_count));
    json_put(object, "design", json_string(compare->design == INFER_PAIRED ? "paired" : "two sittings"));
    json_put(object, "control", json_string(control_names[compare->control]));
    json_put(object, "drift_pct", json_number(compare->drift_pct, 4));
    json_put(object, "concluded", json_boolean(compare->concluded));
    json_put(object, "fails", json_boolean(compare->fails));
    json_put(object, "notes", notes);
    json_put(object, "findings", findings);
    json_put(object, "results", results);
    json_put(object, "summary", summary_json(compare));
    return object;
}
