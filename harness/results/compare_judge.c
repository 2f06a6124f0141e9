#include <math.h>
#include <stdlib.h>

#include "results/compare_parts.h"
#include "results/marks.h"

#define ROUNDS_WORTH_SAYING 200

static const char *rounds_word(const struct compare *compare)
{
    return compare->design == INFER_PAIRED ? "pairs" : "rounds";
}

/* "worse: 20 % slower" */
static char *words_for_change(const struct compare_result *result)
{
    const struct compare_metric_kind *kind = &compare_metrics[result->metric];
    struct text text = {0};

    text_addf(&text, "%s: ", compare_verdict_names[result->verdict]);
    compare_add_size(&text, infer_pct(result->infer.change));
    text_addf(&text, " %s", result->infer.change > 0 ? kind->more : kind->less);
    return text_take(&text);
}

static char *words_for_doubt(const struct compare *compare, const struct compare_result *result, int more)
{
    if (result->zero && isfinite(result->base) && isfinite(result->head))
        return text_dup("cannot tell: zero");
    if (result->zero)
        return text_dup("cannot tell: failed");
    if (result->infer.state == INFER_EMPTY)
        return text_dup("cannot tell: not measured on both sides");
    if (result->infer.state == INFER_NO_NOISE)
        return text_dup("cannot tell: one round shows no noise");
    /* What two sittings differ by does not shrink with rounds. */
    if (more < 0 && result->infer.fixed_se > 0)
        return text_dup("cannot tell; needs a control");
    if (more < 0 || more > ROUNDS_WORTH_SAYING)
        return text_format("cannot tell: too much noise for any sensible number of %s", rounds_word(compare));
    if (compare->design == INFER_PAIRED)
        return text_format("cannot tell; about %d more pairs: --resume --pairs %zu", more,
                           result->infer.head_used + (size_t)more);
    return text_format("cannot tell; about %d more %s", more, rounds_word(compare));
}

static void judge_result(const struct compare *compare, struct compare_result *result)
{
    const struct compare_row *row = &compare->rows[result->row];
    bool is_tainted = result->pair == SIZE_MAX ? row->tainted : compare->pairs[result->pair].tainted;
    struct infer_judgement judgement = infer_judge(&result->infer, compare->design, compare->options.bound_pct);
    bool higher = judgement.verdict == INFER_HIGHER;
    struct text text = {0};

    if (row->control) {
        result->verdict = COMPARE_CONTROL;
        result->words = text_dup("control");
        return;
    }
    switch (judgement.verdict) {
    case INFER_HIGHER:
    case INFER_LOWER:
        result->verdict = higher == compare_metrics[result->metric].higher_is_better ? COMPARE_BETTER : COMPARE_WORSE;
        if (result->verdict == COMPARE_BETTER && is_tainted)
            result->verdict = COMPARE_NO_IMPROVEMENT;
        result->words = words_for_change(result);
        result->fails =
            result->verdict == COMPARE_WORSE && fabs(infer_pct(result->infer.change)) > compare->options.fail_above_pct;
        return;
    case INFER_EQUAL:
        result->verdict = COMPARE_EQUAL;
        result->bound_pct = judgement.bound_pct;
        text_add(&text, "no difference of more than ");
        compare_add_size(&text, judgement.bound_pct);
        result->words = text_take(&text);
        return;
    case INFER_CANNOT_TELL:
        if (fabs(result->base) <= 0 && fabs(result->head) <= 0) {
            result->verdict = COMPARE_EQUAL;
            result->words = text_dup("zero on both sides");
            return;
        }
        result->verdict = COMPARE_CANNOT_TELL;
        result->words = words_for_doubt(compare, result, judgement.rounds_more);
    }
}

/*
 * Errors where a side has none have no ratio: then the bound of the mark `errors` decides. Below it a handful of
 * failed requests is no verdict.
 */
static void judge_errors_from_zero(const struct compare *compare, struct compare_result *result)
{
    bool base = mark_exceeded(MARK_ERRORS, result->base / 1e4);
    bool head = mark_exceeded(MARK_ERRORS, result->head / 1e4);

    if (compare->rows[result->row].control || base == head)
        return;
    free(result->words);
    result->verdict = head ? COMPARE_WORSE : COMPARE_BETTER;
    result->words = text_dup(head ? "worse: more errors" : "better: fewer errors");
    result->fails = head && isfinite(compare->options.fail_above_pct);
}

void compare_judge(struct compare *compare)
{
    for (size_t i = 0; i < compare->result_count; i++) {
        struct compare_result *result = &compare->results[i];

        judge_result(compare, result);
        if (result->metric == COMPARE_ERRORS && result->zero)
            judge_errors_from_zero(compare, result);
        compare->verdicts[result->verdict]++;
        compare->concluded = compare->concluded || result->infer.state == INFER_OK;
        compare->fails = compare->fails || result->fails;
    }
    for (size_t i = 0; isfinite(compare->options.fail_above_pct) && i < compare->finding_count; i++)
        compare->fails = compare->fails || compare->findings[i].fails;
    if (isfinite(compare->options.fail_above_pct) && !compare->concluded)
        compare->fails = true;
}

char *compare_cell_name(const struct compare *compare, const struct compare_result *result)
{
    const struct compare_pair *pair = result->pair == SIZE_MAX ? NULL : &compare->pairs[result->pair];

    if (pair == NULL)
        return text_dup("");
    return text_format("%s, %lld", compare->base->tests.strings[pair->base_test], (long long)pair->phase);
}

char *compare_interval(const struct compare_result *result)
{
    struct text text = {0};

    if (result->infer.state != INFER_OK) {
        text_add(&text, "n/a");
        return text_take(&text);
    }
    for (int side = 0; side < 2; side++) {
        double pct = infer_pct(side == 0 ? result->infer.low : result->infer.high);

        text_addf(&text, "%s%s", side == 0 ? "" : " .. ", pct < 0 ? "-" : "+");
        text_add_double(&text, fabs(pct), fabs(pct) >= 9.95 ? 0 : 1);
    }
    return text_take(&text);
}

double compare_mean_pct(const struct compare *compare, enum compare_metric metric, size_t *used, size_t *of,
                        char **left_out)
{
    struct text names = {0};
    double sum = 0;

    *used = *of = 0;
    for (size_t i = 0; i < compare->result_count; i++) {
        const struct compare_result *result = &compare->results[i];

        if (result->metric != metric || compare->rows[result->row].control)
            continue;
        ++*of;
        if (isfinite(result->infer.change) && !result->zero) {
            ++*used;
            sum += result->infer.change;
            continue;
        }
        char *cell = compare_cell_name(compare, result);

        text_addf(&names, "%s%s%s%s", names.len > 0 ? "; " : "", compare->rows[result->row].label,
                  *cell != '\0' ? " " : "", cell);
        free(cell);
    }
    *left_out = text_take(&names);
    return *used > 0 ? infer_pct(sum / (double)*used) : (double)NAN;
}
