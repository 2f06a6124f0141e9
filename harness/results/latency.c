#include "results/latency.h"

#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "results/details.h"
#include "results/evidence.h"

static bool is_rising(const json_t *histogram)
{
    double before = -1;
    const json_t *item;
    size_t i;

    json_array_foreach (histogram, i, item) {
        const json_t *upper = json_array_get(item, 0);

        if (!json_is_number(upper) || !json_is_number(json_array_get(item, 1)) || json_number_value(upper) <= before ||
            json_number_value(json_array_get(item, 1)) < 0)
            return false;
        before = json_number_value(upper);
    }
    return i > 0;
}

void latency_add(struct latency *latency, const json_t *latency_us)
{
    const json_t *histogram = json_object_get(latency_us, "histogram");
    double max_us = json_get_number(latency_us, "max");
    size_t more = json_array_size(histogram);
    struct latency_bucket *merged;
    size_t n = 0;

    if (!is_rising(histogram))
        return;
    merged = text_realloc(NULL, latency->count + more, sizeof *merged);
    for (size_t i = 0, k = 0; i < latency->count || k < more;) {
        const json_t *item = json_array_get(histogram, k);
        double upper = k < more ? json_number_value(json_array_get(item, 0)) : INFINITY;
        double own = i < latency->count ? latency->buckets[i].upper_us : INFINITY;

        merged[n] = (struct latency_bucket){.upper_us = fmin(upper, own)};
        if (own <= upper)
            merged[n].count += latency->buckets[i++].count;
        if (upper <= own) {
            merged[n].count += json_number_value(json_array_get(item, 1));
            latency->total += json_number_value(json_array_get(item, 1));
            k++;
        }
        n++;
    }
    free(latency->buckets);
    latency->buckets = merged;
    latency->count = n;
    latency->cells++;
    if (max_us > latency->max_us)
        latency->max_us = max_us;
}

static double capped(const struct latency *latency, double us)
{
    return latency->max_us > 0 && us > latency->max_us ? latency->max_us : us;
}

double latency_at_us(const struct latency *latency, double fraction)
{
    double rank = fmax(1, ceil(fraction * latency->total - 1e-9));
    double sum = 0;

    for (size_t i = 0; i < latency->count; i++) {
        sum += latency->buckets[i].count;
        if (sum >= rank)
            return capped(latency, latency->buckets[i].upper_us);
    }
    return NAN;
}

double latency_mean_us(const struct latency *latency)
{
    double sum = 0;

    for (size_t i = 0; i < latency->count; i++)
        sum += latency->buckets[i].count * capped(latency, latency->buckets[i].upper_us);
    return latency->total > 0 ? sum / latency->total : NAN;
}

void latency_free(struct latency *latency)
{
    free(latency->buckets);
    *latency = (struct latency){0};
}

int latency_read(const char *details, const struct cells *cells, struct latency **latencies, struct err *err)
{
    struct details_reader reader;
    struct details_line line;
    int got;

    if (details_open(details, &reader, err) != 0)
        return -1;
    *latencies = text_alloc(cells->group_count * sizeof **latencies);
    while ((got = details_next(&reader, &line, err)) == 1) {
        const struct cells_group *group = line.kind == DETAILS_CELL ? evidence_group(cells, &line) : NULL;

        if (group != NULL)
            latency_add(&(*latencies)[group - cells->groups], details_at(line.json, "load.restbench.latency_us"));
    }
    if (got < 0 && reader.cut) { /* named where the evidence is read */
        err_clear(err);
        got = 0;
    }
    details_close(&reader);
    if (got < 0) {
        latency_free_all(*latencies, cells);
        *latencies = NULL;
    }
    return got;
}

void latency_free_all(struct latency *latencies, const struct cells *cells)
{
    for (uint32_t i = 0; latencies != NULL && i < cells->group_count; i++)
        latency_free(&latencies[i]);
    free(latencies);
}

static void add_padded(struct text *text, double value, int decimals, size_t width)
{
    struct text number = {0};

    text_add_double(&number, value, decimals);
    for (size_t i = number.len; i < width; i++)
        text_add_char(text, ' ');
    text_add(text, text_string(&number));
    text_free(&number);
}

static void add_row(struct text *text, double us, double fraction, double sum)
{
    add_padded(text, us / 1000, 3, 12);
    text_add_char(text, ' ');
    add_padded(text, fraction, 12, 14);
    add_padded(text, sum, 0, 11);
    if (fraction < 1) {
        text_add_char(text, ' ');
        add_padded(text, 1 / (1 - fraction), 2, 14);
    }
    text_add_char(text, '\n');
}

/* As HdrHistogram's outputPercentileDistribution(): five steps for each halving of the distance to 100 %. */
static void add_rows(const struct latency *latency, struct text *text)
{
    double level = 0;
    double sum = 0;

    for (size_t i = 0; i < latency->count; i++) {
        double us = capped(latency, latency->buckets[i].upper_us);

        if (latency->buckets[i].count == 0)
            continue;
        sum += latency->buckets[i].count;
        while (sum < latency->total && 100 * sum / latency->total >= level) {
            double halvings = floor(log2(100 / (100 - level))) + 1;

            add_row(text, us, level / 100, sum);
            level += 100 / (5 * exp2(halvings));
        }
    }
    add_row(text, latency_at_us(latency, 1), 1, sum);
}

void latency_write_hgrm(const struct latency *latency, struct text *text)
{
    double mean = latency_mean_us(latency);
    double squares = 0;

    for (size_t i = 0; i < latency->count; i++)
        squares += latency->buckets[i].count * pow(capped(latency, latency->buckets[i].upper_us) - mean, 2);
    text_add(text, "       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
    add_rows(latency, text);
    text_add(text, "#[Mean    = ");
    add_padded(text, mean / 1000, 3, 12);
    text_add(text, ", StdDeviation   = ");
    add_padded(text, sqrt(squares / latency->total) / 1000, 3, 12);
    text_add(text, "]\n#[Max     = ");
    add_padded(text, latency_at_us(latency, 1) / 1000, 3, 12);
    text_add(text, ", Total count    = ");
    add_padded(text, latency->total, 0, 12);
    text_addf(text, "]\n#[Buckets = %12zu, SubBuckets     = %12d]\n", latency->count, 1);
}
