#include "target/evidence_sampler.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/cpus.h"

#define PERIOD_NS (50 * CLOCK_NS_PER_MS)
#define SAMPLE_LIMIT_NS CLOCK_NS_PER_S
#define REOPEN_NS CLOCK_NS_PER_S

struct evidence_sampler {
    struct pq_address address;
    struct cpus cpus;
    bool pinned;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under the mutex: */
    bool stopping;
    bool active;
    char *where;
    int64_t window; /* number of begin() calls: a sample begun in one window does not count in another */
    struct database_samples samples;
};

/* Waits of a commit for its log: written and synced, or confirmed by a standby. 17 changed the letters' case. */
#define COMMIT "lower(wait_event) IN ('walsync', 'walwrite', 'walflush', 'syncrep')"

/* Prepared once a window: planning the view costs more than reading it. */
static char *prepare_sql(const char *where)
{
    return text_format(
        "PREPARE sample AS SELECT count(*) AS connections, count(*) FILTER (WHERE state = 'active') AS active, "
        "count(*) FILTER (WHERE state = 'active' AND " COMMIT ") AS commit, "
        "count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock') AS lock, "
        "count(*) FILTER (WHERE state = 'active' AND wait_event_type IS NOT NULL "
        "AND wait_event_type <> 'Lock' AND NOT " COMMIT ") AS other "
        "FROM pg_stat_activity WHERE %s",
        where);
}

static void add_sample(struct database_samples *samples, const PGresult *result)
{
    int64_t connections = pq_int(result, 0, "connections", 0);

    if (samples->count == 0 || connections < samples->connections_min)
        samples->connections_min = connections;
    if (samples->count == 0 || connections > samples->connections_max)
        samples->connections_max = connections;
    samples->count++;
    samples->active += pq_int(result, 0, "active", 0);
    samples->commit += pq_int(result, 0, "commit", 0);
    samples->lock += pq_int(result, 0, "lock", 0);
    samples->other += pq_int(result, 0, "other", 0);
}

/* The thread's own. */
struct taker {
    struct pq pq;
    int64_t opened_ns;
    int64_t prepared; /* the window whose statement is prepared; 0: none */
};

static int taker_open(struct taker *taker, const struct pq_address *address, struct err *err)
{
    if (pq_alive(&taker->pq))
        return 0;
    if (taker->opened_ns != 0 && clock_mono_ns() - taker->opened_ns < REOPEN_NS)
        return err_set(err, "no connection");
    taker->opened_ns = clock_mono_ns();
    taker->prepared = 0;
    pq_close(&taker->pq);
    return pq_open(address, NULL, "sampler", &taker->pq, err);
}

static int taker_prepare(struct taker *taker, int64_t window, const char *where, struct err *err)
{
    char *sql;
    int result;

    if (taker->prepared == window)
        return 0;
    sql = prepare_sql(where);
    result = pq_run(&taker->pq, SAMPLE_LIMIT_NS, "DEALLOCATE ALL", err);
    if (result == 0)
        result = pq_run(&taker->pq, SAMPLE_LIMIT_NS, sql, err);
    free(sql);
    taker->prepared = result == 0 ? window : 0;
    return result;
}

/* Called without the mutex; NULL: no sample. */
static PGresult *take(struct taker *taker, const struct pq_address *address, int64_t window, const char *where)
{
    struct err why = {0};
    PGresult *result = NULL;

    if (taker_open(taker, address, &why) != 0 || taker_prepare(taker, window, where, &why) != 0 ||
        pq_query(&taker->pq, SAMPLE_LIMIT_NS, "EXECUTE sample", 0, NULL, &result, &why) != 0)
        log_detail("sampler: %s", why.text);
    return result;
}

static void wait_until(struct evidence_sampler *sampler, int64_t due_ns)
{
    struct timespec due = {.tv_sec = due_ns / CLOCK_NS_PER_S, .tv_nsec = due_ns % CLOCK_NS_PER_S};
    int64_t window = sampler->window;

    while (!sampler->stopping && sampler->active && sampler->window == window &&
           pthread_cond_timedwait(&sampler->changed, &sampler->mutex, &due) == 0)
        continue;
}

static void *sample_forever(void *argument)
{
    struct evidence_sampler *sampler = argument;
    struct err ignored = {0};
    struct taker taker = {0};
    int64_t due_ns = 0;

    if (sampler->pinned && cpus_apply(&sampler->cpus, &ignored) != 0)
        log_detail("sampler: %s", ignored.text);
    (void)pthread_mutex_lock(&sampler->mutex);
    while (!sampler->stopping) {
        int64_t window = sampler->window;
        PGresult *result;
        char *where;

        if (!sampler->active) {
            (void)pthread_cond_wait(&sampler->changed, &sampler->mutex);
            due_ns = clock_mono_ns();
            continue;
        }
        where = text_dup(sampler->where);
        (void)pthread_mutex_unlock(&sampler->mutex);
        result = take(&taker, &sampler->address, window, where);
        free(where);
        (void)pthread_mutex_lock(&sampler->mutex);
        if (sampler->active && sampler->window == window) {
            if (result != NULL)
                add_sample(&sampler->samples, result);
            else
                sampler->samples.failed++;
        }
        PQclear(result);
        due_ns += PERIOD_NS;
        if (due_ns < clock_mono_ns()) /* late: samples are not made up for */
            due_ns = clock_mono_ns();
        wait_until(sampler, due_ns);
    }
    (void)pthread_mutex_unlock(&sampler->mutex);
    pq_close(&taker.pq);
    return NULL;
}

int evidence_sampler_start(const struct pq_address *address, const struct cpus *cpus, struct evidence_sampler **sampler,
                           struct err *err)
{
    struct evidence_sampler *new = text_alloc(sizeof *new);
    pthread_condattr_t monotonic;
    sigset_t all;
    sigset_t old;
    int failed;

    pq_address_copy(address, &new->address);
    new->pinned = cpus != NULL;
    if (cpus != NULL)
        cpus_copy(cpus, &new->cpus);
    (void)pthread_mutex_init(&new->mutex, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&new->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)sigfillset(&all); /* signals are for the main thread */
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&new->thread, NULL, sample_forever, new);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed != 0) {
        pq_address_free(&new->address);
        cpus_free(&new->cpus);
        free(new);
        return err_set(err, "the database's sampler: no thread: %s", strerror(failed));
    }
    *sampler = new;
    return 0;
}

void evidence_sampler_begin(struct evidence_sampler *sampler, const char *where)
{
    (void)pthread_mutex_lock(&sampler->mutex);
    free(sampler->where);
    sampler->where = text_dup(where);
    sampler->samples = (struct database_samples){
        .connections_min = DATABASE_UNKNOWN,
        .connections_max = DATABASE_UNKNOWN,
    };
    sampler->active = true;
    sampler->window++;
    (void)pthread_cond_signal(&sampler->changed);
    (void)pthread_mutex_unlock(&sampler->mutex);
}

void evidence_sampler_end(struct evidence_sampler *sampler, struct database_samples *samples)
{
    (void)pthread_mutex_lock(&sampler->mutex);
    sampler->active = false;
    *samples = sampler->samples;
    (void)pthread_cond_signal(&sampler->changed);
    (void)pthread_mutex_unlock(&sampler->mutex);
}

void evidence_sampler_stop(struct evidence_sampler *sampler)
{
    if (sampler == NULL)
        return;
    (void)pthread_mutex_lock(&sampler->mutex);
    sampler->stopping = true;
    (void)pthread_cond_signal(&sampler->changed);
    (void)pthread_mutex_unlock(&sampler->mutex);
    (void)pthread_join(sampler->thread, NULL);
    (void)pthread_mutex_destroy(&sampler->mutex);
    (void)pthread_cond_destroy(&sampler->changed);
    pq_address_free(&sampler->address);
    cpus_free(&sampler->cpus);
    free(sampler->where);
    free(sampler);
}
