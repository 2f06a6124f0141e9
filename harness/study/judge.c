#include "study/judge.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "results/marks.h"

static double pct(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

/* Comparisons with NaN are false: what is unknown decides nothing. */
static bool is_single_thread_full(const struct judge_evidence *evidence)
{
    double cpus = fmin(evidence->processes, evidence->shared_cpus);

    return evidence->single_threaded && pct(evidence->server_cpu_s, evidence->window_s * cpus) >= JUDGE_BUSY_PCT;
}

/* CPUs that are busy with strangers are no limit of ours; the mark `others` tells of them. */
static bool are_cpus_full(const struct judge_evidence *evidence)
{
    double capacity_s = evidence->window_s * evidence->shared_cpus;
    double largest_s = fmax(evidence->server_cpu_s, evidence->database_cpu_s);

    if (evidence->all_share)
        largest_s = fmax(largest_s, evidence->generator_cpu_s);
    return evidence->shared_pct >= JUDGE_BUSY_PCT && !(evidence->others_pct > pct(largest_s, capacity_s));
}

bool judge_generator_bound(const struct judge_evidence *evidence)
{
    return evidence->generator_pct >= JUDGE_GENERATOR_PCT ||
           (evidence->all_share && are_cpus_full(evidence) && evidence->generator_cpu_s > evidence->server_cpu_s &&
            !(evidence->generator_cpu_s <= evidence->database_cpu_s));
}

static enum judge_limit decide(const struct judge_evidence *evidence, const struct judge_verdict *verdict)
{
    bool database_larger = evidence->uses_database && evidence->database_cpu_s > evidence->server_cpu_s;
    bool busy = are_cpus_full(evidence);

    if (judge_generator_bound(evidence))
        return LIMIT_GENERATOR;
    if (evidence->uses_database && (verdict->wait_pct >= JUDGE_WAIT_PCT || (busy && database_larger)))
        return LIMIT_DATABASE;
    if ((busy && !database_larger) || is_single_thread_full(evidence))
        return LIMIT_SERVER;
    return LIMIT_LATENCY;
}

static void add_share(struct text *text, const char *name, double value)
{
    text_addf(text, "%s%s ", text->len > 0 ? ", " : "", name);
    if (isnan(value))
        text_add(text, "unknown");
    else
        text_addf(text, "%.0f %%", value);
}

const char *judge_limit_name(enum judge_limit limit)
{
    static const char *const names[] = {"generator", "database", "server", "latency"};

    return names[limit];
}

static void describe(struct judge_verdict *verdict, bool uses_database)
{
    struct text shares = {0};

    switch (verdict->limit) {
    case LIMIT_GENERATOR:
        add_share(&shares, "its CPUs", verdict->generator_pct);
        break;
    case LIMIT_DATABASE:
        add_share(&shares, "waits", verdict->wait_pct);
        add_share(&shares, "CPU", verdict->database_pct);
        break;
    case LIMIT_SERVER:
        add_share(&shares, "CPU", verdict->server_pct);
        break;
    case LIMIT_LATENCY:
        add_share(&shares, "server", verdict->server_pct);
        if (uses_database)
            add_share(&shares, "database", verdict->database_pct);
        break;
    }
    (void)snprintf(verdict->text, sizeof verdict->text, "%s (%s)", judge_limit_name(verdict->limit),
                   text_string(&shares));
    text_free(&shares);
}

void judge_verdict(const struct judge_evidence *evidence, struct judge_verdict *verdict)
{
    double capacity_s = evidence->window_s * evidence->shared_cpus;

    *verdict = (struct judge_verdict){
        .generator_pct = evidence->generator_pct,
        .shared_pct = evidence->shared_pct,
        .wait_pct = evidence->uses_database
                        ? pct(evidence->samples_commit + evidence->samples_lock, evidence->samples_active)
                        : NAN,
        .server_pct = pct(evidence->server_cpu_s, capacity_s),
        .database_pct = pct(evidence->database_cpu_s, capacity_s),
    };
    verdict->limit = decide(evidence, verdict);
    describe(verdict, evidence->uses_database);
}

json_t *judge_verdict_to_json(const struct judge_verdict *verdict)
{
    json_t *object = json_object();

    json_put(object, "limited_by", json_string(judge_limit_name(verdict->limit)));
    json_put(object, "text", json_string(verdict->text));
    json_put(object, "generator_pct", json_number(verdict->generator_pct, 1));
    json_put(object, "database_wait_pct", json_number(verdict->wait_pct, 1));
    json_put(object, "shared_pct", json_number(verdict->shared_pct, 1));
    json_put(object, "server_pct", json_number(verdict->server_pct, 1));
    json_put(object, "database_pct", json_number(verdict->database_pct, 1));
    return object;
}

double judge_slope_pct(const double *per_second, size_t count)
{
    double mean_t = ((double)count - 1) / 2;
    double mean = 0;
    double covariance = 0;
    double variance = 0;

    if (count < 4)
        return NAN;
    for (size_t i = 0; i < count; i++)
        mean += per_second[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        covariance += ((double)i - mean_t) * (per_second[i] - mean);
        variance += ((double)i - mean_t) * ((double)i - mean_t);
    }
    return mean > 0 ? 100 * covariance / variance * ((double)count - 1) / mean : NAN;
}

static void add_mark(json_t *marks, enum mark_id id, double value, const char *text)
{
    const struct mark_kind *kind = &mark_kinds[id];
    json_t *mark = json_object();

    json_put(mark, "name", json_string(kind->name));
    json_put(mark, "value", json_number(value, 3));
    json_put(mark, "threshold", json_number(kind->threshold, 3));
    json_put(mark, "text", json_string(text != NULL ? text : kind->sentence));
    (void)json_array_append_new(marks, mark);
}

static void mark_beyond(json_t *marks, enum mark_id id, double value)
{
    if (mark_exceeded(id, value))
        add_mark(marks, id, value, NULL);
}

/* Ticks of 10 ms land on whoever runs at that moment: allow for several of them, and 5 % (spec: a stated rule). */
static bool sources_disagree(const struct judge_evidence *evidence)
{
    double allowed_s = 5 * evidence->cpu_resolution_s + 0.05 * evidence->server_cpu_s;

    return fabs(evidence->cpu_difference_s) > fmax(allowed_s, 0.1);
}

static void mark_generator_bound(json_t *marks, double generator_pct)
{
    if (mark_exceeded(MARK_GENERATOR_BOUND, generator_pct))
        add_mark(marks, MARK_GENERATOR_BOUND, generator_pct, NULL);
    else
        add_mark(marks, MARK_GENERATOR_BOUND, NAN, "of the CPUs that all share, the load generator used the most");
}

static void mark_others(json_t *marks, const struct judge_evidence *evidence)
{
    bool generator = evidence->others_generator_pct > evidence->others_pct || isnan(evidence->others_pct);
    double value = generator ? evidence->others_generator_pct : evidence->others_pct;
    char text[160];

    if (!mark_exceeded(MARK_OTHERS, value))
        return;
    (void)snprintf(text, sizeof text, "programs that take no part in the measurement used %.0f %% of the CPUs of %s",
                   value,
                   evidence->roams ? "the measurement"
                   : generator     ? "the load generator"
                                   : "server and database");
    add_mark(marks, MARK_OTHERS, value, text);
}

static void mark_pool(json_t *marks, const struct judge_evidence *evidence)
{
    char text[160];

    if (!(evidence->connections_max > evidence->pool))
        return;
    (void)snprintf(text, sizeof text, "the server held %.0f connections to the database, its pool is declared as %.0f",
                   evidence->connections_max, evidence->pool);
    add_mark(marks, MARK_POOL, evidence->connections_max, text);
}

json_t *judge_marks(const struct judge_evidence *evidence, const struct judge_verdict *verdict)
{
    json_t *marks = json_array();
    double all = evidence->responses_2xx + evidence->errors;

    if (verdict->limit == LIMIT_GENERATOR)
        mark_generator_bound(marks, verdict->generator_pct);
    mark_beyond(marks, MARK_STEAL, evidence->steal_pct_max);
    mark_beyond(marks, MARK_DRIFT, fabs(evidence->drift_pct));
    mark_beyond(marks, MARK_ERRORS, pct(evidence->errors, all));
    if (evidence->per_connection_mean >= 10)
        mark_beyond(marks, MARK_STARVED, evidence->per_connection_min / evidence->per_connection_mean);
    mark_beyond(marks, MARK_SLOPE, fabs(judge_slope_pct(evidence->per_second, evidence->per_second_count)));
    if (evidence->mismatches > 0)
        add_mark(marks, MARK_MISMATCH, evidence->mismatches, NULL);
    if (evidence->unconfirmed != NULL)
        add_mark(marks, MARK_UNCONFIRMED, NAN, evidence->unconfirmed);
    if (evidence->accounting_broken || sources_disagree(evidence))
        add_mark(marks, MARK_ACCOUNTING, evidence->cpu_difference_s, evidence->accounting_text);
    if (evidence->wrong_threads > 0)
        add_mark(marks, MARK_AFFINITY, evidence->wrong_threads, NULL);
    if (evidence->listener_foreign)
        add_mark(marks, MARK_LISTENER, NAN, evidence->listener_text);
    if (evidence->not_durable)
        add_mark(marks, MARK_SETTINGS, NAN, evidence->not_durable);
    if (evidence->suspended_s > 0.05)
        add_mark(marks, MARK_SUSPENDED, evidence->suspended_s, NULL);
    else if (evidence->paused)
        add_mark(marks, MARK_SUSPENDED, NAN, "restbench was stopped and continued during the cell");
    if (fabs(evidence->clock_step_s) > 0.5)
        add_mark(marks, MARK_CLOCK, evidence->clock_step_s, NULL);
    mark_beyond(marks, MARK_DEAD_ROWS, evidence->dead_rows);
    mark_others(marks, evidence);
    mark_pool(marks, evidence);
    return marks;
}
