#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "load/load.h"

/* A worker may publish a second so much later than another one and still be part of its percentiles. */
#define PENDING_SECONDS 10

static void settle(struct load_second *second)
{
    if (second->pending == NULL)
        return;
    second->p50_us = histogram_percentile_ns(second->pending, 50) / 1000;
    second->p99_us = histogram_percentile_ns(second->pending, 99) / 1000;
    free(second->pending);
    second->pending = NULL;
}

static struct load_second *second_at(struct load_result *result, size_t index)
{
    while (result->second_count <= index) {
        size_t added = result->second_count;

        result->seconds = text_realloc(result->seconds, added + 1, sizeof *result->seconds);
        result->seconds[added] = (struct load_second){0, 0, NAN, NAN, NULL};
        result->second_count++;
        if (added >= PENDING_SECONDS)
            settle(&result->seconds[added - PENDING_SECONDS]);
    }
    return &result->seconds[index];
}

static void take(struct load_result *result, const struct tally *tally)
{
    struct load_second *second = second_at(result, (size_t)tally->second);

    second->ok += tally->latency.count;
    second->errors += tally_errors(tally);
    if ((size_t)tally->second + PENDING_SECONDS >= result->second_count && tally->latency.count > 0) {
        if (second->pending == NULL)
            second->pending = text_alloc(sizeof *second->pending);
        histogram_merge(second->pending, &tally->latency);
    }
    tally_merge(&result->total, tally);
}

void load_result_collect(struct load *load)
{
    for (unsigned i = 0; i < load->worker_count; i++) {
        struct worker *worker = load->workers[i];
        uint32_t published = atomic_load_explicit(&worker->published, memory_order_acquire);
        uint32_t consumed = atomic_load_explicit(&worker->consumed, memory_order_relaxed);

        for (; consumed != published; consumed++) {
            struct tally *tally = &worker->slots[consumed % WORKER_SLOTS];

            take(&load->result, tally);
            tally_clear(tally);
            atomic_store_explicit(&worker->consumed, consumed + 1, memory_order_release);
        }
    }
}

static int by_count(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

static void connections(struct load *load)
{
    size_t total = (size_t)load->options.connections;
    uint64_t *counts = text_alloc(total * sizeof *counts);
    size_t n = 0;

    for (unsigned i = 0; i < load->worker_count; i++)
        for (uint32_t k = 0; k < load->workers[i]->conn_count; k++)
            counts[n++] = load->workers[i]->conns[k].ok;
    qsort(counts, n, sizeof *counts, by_count);
    load->result.connection_min = counts[0];
    load->result.connection_p50 = counts[(n + 1) / 2 - 1];
    load->result.connection_max = counts[n - 1];
    free(counts);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

void load_result_finish(struct load *load)
{
    struct load_result *result = &load->result;
    bool complete = true;

    load_result_collect(load);
    for (unsigned i = 0; i < load->worker_count; i++) {
        const struct worker *worker = load->workers[i];

        result->in_flight += worker->in_flight;
        result->carried += worker->carried;
        result->warmup_ok += worker->warmup.latency.count;
        result->drained_ok += worker->drain.latency.count;
        if (worker->oldest_ns > result->oldest_in_flight_ns)
            result->oldest_in_flight_ns = worker->oldest_ns;
        if (worker->end_ns > result->end_ns)
            result->end_ns = worker->end_ns;
        result->cpu_user_s += seconds_of(worker->cpu_user);
        result->cpu_kernel_s += seconds_of(worker->cpu_kernel);
        histogram_merge(&result->connect, &worker->connect);
        complete = complete && worker->complete;
    }
    result->complete = complete && !load->stopping;
    result->begin_ns = load->plan.begin_ns;
    if (result->end_ns < result->begin_ns)
        result->end_ns = result->begin_ns;
    /* Every started second of the window has its entry, also one in which nothing came. */
    if (result->end_ns > result->begin_ns)
        (void)second_at(result, (size_t)((result->end_ns - result->begin_ns - 1) / CLOCK_NS_PER_S));
    for (size_t i = 0; i < result->second_count; i++)
        settle(&result->seconds[i]);
    connections(load);
    assert(result->total.started == result->total.latency.count + tally_errors(&result->total) + result->in_flight);
}

void load_result_free(struct load_result *result)
{
    for (size_t i = 0; i < result->second_count; i++)
        free(result->seconds[i].pending);
    free(result->seconds);
    free(result->engine_reason);
    result->engine_reason = NULL;
    result->seconds = NULL;
}
