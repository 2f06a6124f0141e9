/*
 * schedule - when a request of an open loop should start, whatever became of those before it.
 *
 * One schedule of equal intervals lies over all workers: worker i of T has its requests number i, i + T, i + 2T, ...
 * of it, so that nothing is shared. A request that a late timer has delayed while a connection was idle is made up for
 * at twice the rate at most, never in a burst; one that waited for a connection starts as soon as there is one.
 */
#ifndef LOAD_SCHEDULE_H
#define LOAD_SCHEDULE_H

#include <stdint.h>

struct schedule {
    int64_t start_ns;
    double interval_ns; /* between requests of all workers */
    uint64_t number;    /* of this worker's next request in the whole schedule */
    uint64_t step;      /* workers */
    int64_t due_ns;     /* its intended start */
    int64_t not_before_ns;
};

static inline void schedule_set_due(struct schedule *schedule)
{
    schedule->due_ns = schedule->start_ns + (int64_t)((double)schedule->number * schedule->interval_ns);
}

static inline void schedule_start(struct schedule *schedule, double rate, int64_t start_ns, unsigned worker,
                                  unsigned workers)
{
    schedule->start_ns = start_ns;
    schedule->interval_ns = 1e9 / rate;
    schedule->number = worker;
    schedule->step = workers;
    schedule->not_before_ns = start_ns;
    schedule_set_due(schedule);
}

static inline void schedule_next(struct schedule *schedule)
{
    schedule->number += schedule->step;
    schedule_set_due(schedule);
}

/* When an idle connection should send: not earlier than intended, and not in a burst. */
static inline int64_t schedule_when_ns(const struct schedule *schedule)
{
    return schedule->due_ns > schedule->not_before_ns ? schedule->due_ns : schedule->not_before_ns;
}

/* An idle connection has sent at `now_ns`. */
static inline void schedule_paced(struct schedule *schedule, int64_t now_ns)
{
    schedule->not_before_ns = now_ns + (int64_t)(schedule->interval_ns * (double)schedule->step / 2);
}

#endif
