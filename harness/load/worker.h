/*
 * worker - one thread with its connections, deadlines and counts; it shares nothing with other threads.
 *
 * A plan is made once and read by all workers. The main thread drives them by plan->command and hears from them by
 * worker->report; both are rare. Each second's tally is handed over whole through a ring: the worker writes
 * slots[published % WORKER_SLOTS], the main thread reads and clears what is published and moves `consumed`.
 *
 * Phases: ESTABLISH all connections -> READY -> WARMUP -> (counted runs: REST until no request is open -> RESTED)
 * -> WINDOW -> DRAIN of what is open -> DONE. FAILED: the connections could not be established.
 */
#ifndef LOAD_WORKER_H
#define LOAD_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "load/address.h"
#include "load/deadline.h"
#include "load/engine.h"
#include "load/http_answer.h"
#include "load/http_memo.h"
#include "load/request.h"
#include "load/schedule.h"
#include "load/tally.h"
#include "load/tls.h"

enum worker_command {
    COMMAND_NONE,
    COMMAND_START, /* warm-up, or the window when there is none; times are in the plan */
    COMMAND_COUNT, /* counted runs: the window begins at plan->begin_ns */
    COMMAND_STOP,  /* the window ends now */
    COMMAND_QUIT,  /* and nothing is waited for */
};

struct load_plan {
    struct address address;
    bool tls;
    struct tls_options tls_options;
    const struct request *requests;
    size_t largest_request;
    const uint32_t *order; /* which request is next; NULL: always the first */
    size_t order_len;
    int64_t timeout_ns;
    int64_t establish_ns; /* for a connection before the clock starts */
    bool close;
    double rate; /* requests per second of all workers; 0: closed loop */
    unsigned workers;
    bool counted;         /* -n */
    uint64_t check_every; /* bodies compared: one in so many; 0: none */
    int report_fd;        /* eventfd: a worker reported */
    /* Written by the main thread before the command that needs it. */
    int64_t start_ns;
    int64_t begin_ns;
    int64_t end_ns; /* INT64_MAX: counted */
    _Atomic int command;
};

enum conn_state {
    CONN_OFF,
    CONN_CONNECTING,
    CONN_HANDSHAKE, /* the TCP connection is open, TLS is not */
    CONN_IDLE,
    CONN_BUSY,    /* a request is open */
    CONN_CLOSING, /* waits for the server's FIN, so that it keeps the TIME_WAIT */
    CONN_BACKOFF, /* waits before it is opened again */
};

struct conn {
    struct deadline deadline;
    int64_t start_ns;   /* the latency counts from here: the first byte written, or the intended start */
    int64_t written_ns; /* the first byte written */
    const struct request *request;
    const char *out; /* what is to be sent: the request, or what TLS made of it */
    size_t out_len;
    size_t sent;  /* of out */
    size_t taken; /* of the request into out */
    int fd;
    unsigned char state;
    bool fresh;           /* no byte of the answer has come */
    bool checked;         /* the body is compared */
    bool ended;           /* the FIN or RST has been seen */
    bool wants_out;       /* the engine hears when it is writable */
    bool established;     /* it has been open once */
    bool queued;          /* in the queue of idle connections, maybe no longer idle */
    bool closed_in_order; /* TLS said so: what reads until the end is complete */
    bool carried;         /* an answer has come through this connection */
    bool saves_ack;       /* the engine has told the kernel that a request follows its SYN-ACK */
    bool dialled;         /* the engine sends when it has dialled others, too */
    uint8_t backoff;      /* doublings of the wait */
    uint64_t ok;          /* 2xx answers inside the window */
    struct tls *tls;      /* NULL: plain HTTP */
    /* From here on it is looked at only where an answer is not like the last one. */
    struct http_answer answer;
    struct http_body body;
    int64_t opened_ns;    /* when connecting began */
    int64_t connected_ns; /* when connect() returned, for engines that send at once */
} __attribute__((aligned(64)));

enum worker_phase {
    PHASE_ESTABLISH,
    PHASE_READY,
    PHASE_WARMUP,
    PHASE_REST,
    PHASE_RESTED,
    PHASE_WINDOW,
    PHASE_DRAIN,
    PHASE_DONE,
    PHASE_FAILED,
};

#define WORKER_SLOTS 8
#define WORKER_BUFFER (64 * 1024)

struct worker {
    struct load_plan *plan;
    const struct engine *engine;
    void *engine_state;
    struct tally *tally; /* where numbers go now */
    uint64_t budget;     /* requests that may still be started */
    uint64_t counting;   /* 1 inside the window */
    int64_t now_ns;
    int64_t border_ns; /* when the tally changes */
    char *buffer;
    char *plain; /* with TLS: what was decrypted */
    struct tls_context *tls;
    struct conn *conns;
    uint32_t conn_count;
    uint32_t to_open; /* index of the next connection to establish */
    uint32_t established;
    uint32_t open; /* requests open */
    enum worker_phase phase;
    bool woken;       /* the engine saw a wake-up */
    bool clock_held;  /* the engine says when what it hands over came: now_ns */
    int command;      /* the last one carried out */
    uint8_t lingered; /* waits for a FIN that did not come, in a row */
    size_t next_request;
    uint64_t until_check;
    struct deadline_heap due;
    struct schedule schedule; /* open loop */
    struct conn **idle;       /* open loop: a queue of connections that wait for their turn */
    uint32_t idle_first;
    uint32_t idle_count;
    struct http_memo memo;

    /* After the window. */
    uint64_t share; /* of a counted run */
    uint64_t in_flight;
    uint64_t carried; /* requests open when the window began */
    int64_t oldest_ns;
    int64_t end_ns; /* the window's, as this worker saw it */
    bool complete;
    int64_t last_answer_ns;
    struct timeval cpu_user, cpu_kernel; /* of this thread inside the window */
    struct rusage usage_begin;
    struct tally warmup;
    struct tally drain;
    struct histogram connect;

    struct tally slots[WORKER_SLOTS];
    _Atomic uint32_t published;
    _Atomic uint32_t consumed;
    _Atomic int report; /* the phase that the main thread should know */
    int wake_fd;        /* eventfd */
    struct err err;     /* why it FAILED; read after report */
    pthread_t thread;
    bool started, joined;
    unsigned number;
};

static inline int64_t worker_clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * CLOCK_NS_PER_S + now.tv_nsec;
}

/* `plan` is shared, the rest is the worker's; nothing is allocated after this but by the engine's open. */
int worker_init(struct worker *worker, struct load_plan *plan, unsigned number, uint32_t conn_count, struct err *err);
void worker_free(struct worker *worker);
/* After engine->open(). */
int worker_start(struct worker *worker, struct err *err);
/* False when its thread never ran: then its engine is the caller's to close. */
bool worker_join(struct worker *worker);
/* From the main thread: makes the worker look at plan->command. */
void worker_wake(struct worker *worker);

/* For the flow, inside the worker's thread. */

/* The border has been reached: the next second, or the next phase. */
void worker_advance(struct worker *worker);
void worker_report(struct worker *worker, enum worker_phase phase);
/* True while a connection that ended is to be opened again. */
bool worker_reopens(const struct worker *worker);

/* For engines, before a connection is their turn: with thousands of them each is far away in memory. */
static inline void worker_fetch(const struct conn *conn)
{
    __builtin_prefetch(conn);
    __builtin_prefetch((const char *)conn + 64);
}

/* Reads the clock; what is counted after it goes to the right tally. */
static inline int64_t worker_now(struct worker *worker)
{
    if (!worker->clock_held)
        worker->now_ns = worker_clock_ns();
    if (worker->now_ns >= worker->border_ns)
        worker_advance(worker);
    return worker->now_ns;
}

#endif
