/*
 * io_uring, where a request costs no system call of its own: sockets live in the ring's own table (one slot a
 * connection), a multishot recv with a ring of buffers stays armed for a connection's life, and what a turn wants sent
 * is submitted together. Where answers are large, each request asks for the head and then passes the body over.
 *
 * A completion carries the connection's index and the generation of its socket: those of a socket that was dropped are
 * passed over. Sends are submitted in groups; the kernel carries out one after the other, so that each is stamped with
 * its share of the time that this took, and no request is charged for the completions and sends before it.
 *
 * Needs Linux 6.1: socket slots, buffer rings, multishot recv, deferred task work.
 */
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "load/dial.h"
#include "load/flow.h"

#define SQ_ENTRIES 512
#define BUFFER_SIZE 8192
/* Buffers that lie a power of two apart would share a few lines of the CPU's caches. */
#define BUFFER_STRIDE (BUFFER_SIZE + 192)
#define MOST_BUFFERS 512
#define BUFFER_GROUP 0
/* Sends that may wait for their submission together: a few microseconds. */
#define GROUP 16
/* So few may have one stamp. */
#define FEW 4
/* A request up to this size goes out whole, and nothing is heard of it when it does. */
#define WHOLE_SEND ((size_t)16 * 1024)

enum operation { OP_NONE, OP_WAKE, OP_SOCKET, OP_CONNECT, OP_SEND, OP_RECV, OP_SKIP, OP_OTHER };

struct slot {
    uint32_t generation;
    bool connecting;
    bool multishot;           /* the recv that is armed goes on by itself */
    enum operation receiving; /* OP_RECV or OP_SKIP: armed */
    bool sending;             /* a completion will come */
};

struct state {
    struct io_uring ring;
    bool ring_open;
    bool closing; /* the closing of a slot has not been submitted */
    struct io_uring_buf_ring *buffers;
    char *memory;
    unsigned buffer_count;
    struct slot *slots;
    struct conn *group[GROUP];
    unsigned group_count;
    uint64_t wakes; /* what was read from the eventfd */
};

static struct slot *slot_of(struct worker *worker, const struct conn *conn)
{
    struct state *state = worker->engine_state;

    return &state->slots[conn - worker->conns];
}

static int index_of(const struct worker *worker, const struct conn *conn)
{
    return (int)(conn - worker->conns);
}

static uint64_t tag(struct worker *worker, const struct conn *conn, enum operation operation)
{
    return (uint64_t)slot_of(worker, conn)->generation << 32 | (uint64_t)index_of(worker, conn) << 8 |
           (uint64_t)operation;
}

/* The requests of the group went out one after the other, from `from_ns` on. */
static void stamp(struct worker *worker, int64_t from_ns, int64_t took_ns)
{
    struct state *state = worker->engine_state;

    for (unsigned i = 0; i < state->group_count; i++) {
        struct conn *conn = state->group[i];

        if (conn->state != CONN_BUSY)
            continue;
        conn->written_ns = from_ns + took_ns * i / state->group_count;
        if (worker->plan->rate == 0)
            conn->start_ns = conn->written_ns;
    }
    state->group_count = 0;
}

static void submit(struct worker *worker)
{
    struct state *state = worker->engine_state;
    int64_t from_ns;

    state->closing = false;
    if (state->group_count == 0) {
        (void)io_uring_submit(&state->ring);
        return;
    }
    from_ns = worker_clock_ns();
    (void)io_uring_submit(&state->ring);
    /* Where connections are opened between the sends, the time is not shared alike: their groups are small. */
    stamp(worker, from_ns, worker->plan->close ? 0 : worker_clock_ns() - from_ns);
}

/* `room` entries that belong together, the first of them. */
static struct io_uring_sqe *entry(struct worker *worker, unsigned room)
{
    struct state *state = worker->engine_state;

    if (io_uring_sq_space_left(&state->ring) < room)
        submit(worker);
    return io_uring_get_sqe(&state->ring);
}

static void arm_recv(struct worker *worker, struct conn *conn)
{
    struct slot *slot = slot_of(worker, conn);
    struct io_uring_sqe *sqe = entry(worker, 1);
    int index = index_of(worker, conn);
    bool skip;
    size_t want = flow_wanted(worker, conn, &skip);

    if (conn->state == CONN_IDLE && conn->tls == NULL && worker->memo.fetch_head)
        want = worker->memo.prefix; /* what comes next is an answer, or the end */
    slot->receiving = skip ? OP_SKIP : OP_RECV;
    slot->multishot = !skip && want >= WORKER_BUFFER;
    if (slot->multishot)
        io_uring_prep_recv_multishot(sqe, index, NULL, 0, 0);
    else
        io_uring_prep_recv(sqe, index, NULL, want, skip ? MSG_TRUNC : 0);
    sqe->flags |= IOSQE_FIXED_FILE;
    if (!skip) {
        sqe->flags |= IOSQE_BUFFER_SELECT;
        sqe->buf_group = BUFFER_GROUP;
    }
    sqe->user_data = tag(worker, conn, slot->receiving);
}

static void arm_wake(struct worker *worker)
{
    struct state *state = worker->engine_state;
    struct io_uring_sqe *sqe = entry(worker, 1);

    io_uring_prep_read(sqe, worker->wake_fd, &state->wakes, sizeof state->wakes, 0);
    sqe->user_data = OP_WAKE;
}

static void give_back(struct state *state, unsigned id)
{
    io_uring_buf_ring_add(state->buffers, state->memory + (size_t)id * BUFFER_STRIDE, BUFFER_SIZE, (unsigned short)id,
                          io_uring_buf_ring_mask(state->buffer_count), 0);
    io_uring_buf_ring_advance(state->buffers, 1);
}

static int open_buffers(struct worker *worker, struct err *err)
{
    struct state *state = worker->engine_state;
    struct io_uring_buf_reg reg = {0};
    unsigned count = 16;
    void *memory;
    int rc;

    while (count < MOST_BUFFERS && count < 2 * worker->conn_count)
        count *= 2;
    state->buffer_count = count;
    if (posix_memalign(&memory, 4096, count * sizeof(struct io_uring_buf)) != 0)
        return err_set(err, "out of memory for the buffer ring");
    memset(memory, 0, count * sizeof(struct io_uring_buf));
    state->buffers = memory;
    state->memory = text_alloc((size_t)count * BUFFER_STRIDE);
    reg.ring_addr = (uint64_t)(uintptr_t)state->buffers;
    reg.ring_entries = count;
    reg.bgid = BUFFER_GROUP;
    rc = io_uring_register_buf_ring(&state->ring, &reg, 0);
    if (rc < 0)
        return err_set(err, "io_uring buffer ring: %s", strerror(-rc));
    for (unsigned i = 0; i < count; i++)
        give_back(state, i);
    return 0;
}

static int engine_open(struct worker *worker, struct err *err)
{
    struct state *state = text_alloc(sizeof *state);
    struct io_uring_params params = {
        .flags = IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
                 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
        .cq_entries = 4096,
    };
    int rc;

    worker->engine_state = state;
    state->slots = text_alloc(worker->conn_count * sizeof *state->slots);
    rc = io_uring_queue_init_params(SQ_ENTRIES, &state->ring, &params);
    if (rc < 0)
        return err_set(err, rc == -EINVAL ? "io_uring: this kernel is older than Linux 6.1" : "io_uring: %s",
                       strerror(-rc));
    state->ring_open = true;
    rc = io_uring_register_files_sparse(&state->ring, worker->conn_count);
    if (rc < 0)
        return err_set(err, "io_uring table of %u sockets: %s", worker->conn_count, strerror(-rc));
    return open_buffers(worker, err);
}

static int engine_begin(struct worker *worker, struct err *err)
{
    struct state *state = worker->engine_state;

    /* liburing 2.3 declares io_uring_enable_rings() and does not have it. */
    if (syscall(__NR_io_uring_register, state->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0) < 0)
        return err_sys(err, "io_uring");
    /* Spares each call the look-up of the ring by its descriptor. */
    (void)io_uring_register_ring_fd(&state->ring);
    arm_wake(worker);
    return 0;
}

static void engine_close(struct worker *worker)
{
    struct state *state = worker->engine_state;

    if (state == NULL)
        return;
    if (state->ring_open)
        io_uring_queue_exit(&state->ring);
    free(state->buffers);
    free(state->memory);
    free(state->slots);
    free(state);
    worker->engine_state = NULL;
}

/* A socket of ours moves into the ring's table: a few calls, for a connection that is to last. */
static int place_socket(struct worker *worker, struct conn *conn)
{
    struct state *state = worker->engine_state;
    int fd = dial_socket(worker->plan, 0);
    int rc;

    if (fd < 0)
        return errno;
    /* The closing of the slot's last socket would close this one. */
    if (state->closing)
        submit(worker);
    rc = io_uring_register_files_update(&state->ring, (unsigned)index_of(worker, conn), &fd, 1);
    (void)close(fd);
    return rc < 0 ? -rc : 0;
}

static void engine_connect(struct worker *worker, struct conn *conn)
{
    const struct address *address = &worker->plan->address;
    struct io_uring_sqe *sqe;

    if (worker->plan->close) {
        sqe = entry(worker, 2);
        io_uring_prep_socket_direct(sqe, address->socket.ss_family, SOCK_STREAM, 0, (unsigned)index_of(worker, conn),
                                    0);
        sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
        sqe->user_data = tag(worker, conn, OP_SOCKET);
    } else {
        int error = place_socket(worker, conn);

        if (error != 0) {
            flow_connect_failed(worker, conn, error);
            return;
        }
    }
    sqe = entry(worker, 1);
    io_uring_prep_connect(sqe, index_of(worker, conn), (const struct sockaddr *)&address->socket, address->len);
    sqe->flags |= IOSQE_FIXED_FILE;
    sqe->user_data = tag(worker, conn, OP_CONNECT);
    slot_of(worker, conn)->connecting = true;
    conn->fd = index_of(worker, conn);
}

static void cancel(struct worker *worker, struct conn *conn, enum operation operation)
{
    struct io_uring_sqe *sqe = entry(worker, 1);

    io_uring_prep_cancel64(sqe, tag(worker, conn, operation), 0);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    sqe->user_data = OP_OTHER;
}

static void engine_drop(struct worker *worker, struct conn *conn)
{
    struct state *state = worker->engine_state;
    struct slot *slot = slot_of(worker, conn);
    struct io_uring_sqe *sqe;

    if (conn->fd < 0)
        return;
    /* An operation that is under way would keep the socket open behind its closed slot. */
    if (slot->receiving != OP_NONE)
        cancel(worker, conn, slot->receiving);
    if (slot->sending)
        cancel(worker, conn, OP_SEND);
    if (slot->connecting)
        cancel(worker, conn, OP_CONNECT);
    sqe = entry(worker, 1);
    io_uring_prep_close_direct(sqe, (unsigned)index_of(worker, conn));
    state->closing = true;
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    sqe->user_data = OP_OTHER;
    /* What TLS made is written over by the next connection. */
    if (slot->sending && conn->tls != NULL)
        submit(worker);
    *slot = (struct slot){.generation = (slot->generation + 1) & 0xffffff};
    conn->fd = -1;
}

/* A request that goes out whole, and of which nothing is heard when it does. */
static bool goes_whole(const struct conn *conn)
{
    return conn->tls == NULL && conn->request != NULL && conn->request->len <= WHOLE_SEND;
}

static void engine_send(struct worker *worker, struct conn *conn)
{
    struct state *state = worker->engine_state;
    bool whole = goes_whole(conn);
    bool first = conn->tls == NULL && conn->sent == 0;
    struct io_uring_sqe *sqe;

    if (slot_of(worker, conn)->sending)
        return; /* its completion sends the rest */
    sqe = entry(worker, 1);
    io_uring_prep_send(sqe, index_of(worker, conn), conn->out + conn->sent, conn->out_len - conn->sent,
                       whole ? MSG_NOSIGNAL | MSG_WAITALL : MSG_NOSIGNAL);
    sqe->flags |= IOSQE_FIXED_FILE;
    sqe->user_data = tag(worker, conn, OP_SEND);
    if (whole) {
        sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
        conn->sent = conn->out_len;
        worker->tally->bytes_written += conn->out_len;
    } else {
        slot_of(worker, conn)->sending = true;
        if (conn->tls != NULL)
            tls_hold_out(conn->tls);
    }
    /* From now on the head is asked for by itself: the armed recv would take the body as well. */
    if (slot_of(worker, conn)->multishot && worker->memo.fetch_head && conn->tls == NULL && !conn->checked) {
        slot_of(worker, conn)->multishot = false;
        cancel(worker, conn, OP_RECV);
    }
    if (first)
        state->group[state->group_count++] = conn;
    if (state->group_count == (worker->plan->close ? FEW : GROUP))
        submit(worker);
}

static void handle_send(struct worker *worker, struct conn *conn, int result)
{
    slot_of(worker, conn)->sending = false;
    if (goes_whole(conn)) {
        uint64_t *written = &worker->tally->bytes_written;

        if (conn->state != CONN_BUSY || result >= (int)conn->out_len || !conn->fresh)
            return;
        conn->sent = 0;
        *written -= conn->out_len < *written ? conn->out_len : *written;
        flow_unsent(worker, conn);
        return;
    }
    if (result > 0) {
        conn->sent += (size_t)result;
        worker->tally->bytes_written += (uint64_t)result;
    } else if (result != -EAGAIN && result != -EINTR) {
        /* A broken pipe is left to the receiving side, where an answer may lie. */
        if (conn->state == CONN_BUSY && conn->sent == 0 && conn->fresh && conn->tls == NULL)
            flow_unsent(worker, conn);
        return;
    }
    if (conn->sent < conn->out_len || (conn->tls != NULL && flow_refill(worker, conn)))
        engine_send(worker, conn);
}

static void handle_connect(struct worker *worker, struct conn *conn, int result)
{
    slot_of(worker, conn)->connecting = false;
    if (result < 0) {
        flow_connect_failed(worker, conn, -result);
        return;
    }
    flow_opened(worker, conn);
    if (conn->fd >= 0 && slot_of(worker, conn)->receiving == OP_NONE && conn->state != CONN_CONNECTING)
        arm_recv(worker, conn);
}

static void handle_recv(struct worker *worker, struct conn *conn, const struct io_uring_cqe *cqe, const char *bytes)
{
    struct slot *slot = slot_of(worker, conn);
    uint32_t generation = slot->generation;
    bool skipped = slot->receiving == OP_SKIP;

    if ((cqe->flags & IORING_CQE_F_MORE) == 0)
        slot->receiving = OP_NONE;
    if (cqe->res > 0) {
        /* More behind a complete answer is the connection's end, or bytes that must not be there: it comes next. */
        bool more = (cqe->flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
        enum flow next = skipped ? flow_skipped(worker, conn, (size_t)cqe->res)
                                 : flow_received(worker, conn, bytes, (size_t)cqe->res);

        if (next == FLOW_NEXT && !more && flow_start(worker, conn))
            engine_send(worker, conn);
    } else if (cqe->res != -ENOBUFS && cqe->res != -EINTR && cqe->res != -EAGAIN && cqe->res != -ECANCELED) {
        flow_end(worker, conn, -cqe->res);
    }
    if (slot->generation == generation && slot->receiving == OP_NONE && conn->fd >= 0)
        arm_recv(worker, conn);
}

static void handle(struct worker *worker, const struct io_uring_cqe *cqe)
{
    struct state *state = worker->engine_state;
    enum operation operation = (enum operation)(cqe->user_data & 0xff);
    struct conn *conn = &worker->conns[(cqe->user_data >> 8) & 0xffffff];
    bool has_buffer = (cqe->flags & IORING_CQE_F_BUFFER) != 0;
    unsigned id = cqe->flags >> IORING_CQE_BUFFER_SHIFT;

    if (operation == OP_WAKE) {
        worker->woken = true;
        arm_wake(worker);
        return;
    }
    if (operation != OP_OTHER && slot_of(worker, conn)->generation == cqe->user_data >> 32) {
        if (operation == OP_RECV || operation == OP_SKIP)
            handle_recv(worker, conn, cqe, state->memory + (size_t)id * BUFFER_STRIDE);
        else if (operation == OP_SEND)
            handle_send(worker, conn, cqe->res);
        else
            handle_connect(worker, conn, cqe->res);
    }
    if (has_buffer)
        give_back(state, id);
}

static void fetch_ahead(const struct worker *worker, unsigned head)
{
    const struct state *state = worker->engine_state;
    const struct io_uring_cqe *later = &state->ring.cq.cqes[(head + 2) & state->ring.cq.ring_mask];
    size_t index = (later->user_data >> 8) & 0xffffff;

    __builtin_prefetch(&state->slots[index]);
    worker_fetch(&worker->conns[index]);
}

static void engine_turn(struct worker *worker, int64_t until_ns)
{
    struct state *state = worker->engine_state;
    int64_t wait_ns = until_ns > worker->now_ns ? until_ns - worker->now_ns : 0;
    struct __kernel_timespec timeout = {wait_ns / CLOCK_NS_PER_S, wait_ns % CLOCK_NS_PER_S};
    struct io_uring_cqe *cqe = NULL;
    unsigned head;
    unsigned seen = 0;

    if (state->group_count > FEW)
        submit(worker);
    else if (state->group_count > 0)
        stamp(worker, worker_clock_ns(), 0);
    state->closing = false;
    (void)io_uring_submit_and_wait_timeout(&state->ring, &cqe, 1, until_ns == INT64_MAX ? NULL : &timeout, NULL);
    /* All that is here has come by now. */
    (void)worker_now(worker);
    worker->clock_held = true;
    io_uring_for_each_cqe(&state->ring, head, cqe)
    {
        fetch_ahead(worker, head);
        handle(worker, cqe);
        seen++;
    }
    worker->clock_held = false;
    io_uring_cq_advance(&state->ring, seen);
}

const struct engine engine_uring = {
    .name = "io_uring",
    .open = engine_open,
    .begin = engine_begin,
    .close = engine_close,
    .connect = engine_connect,
    .send = engine_send,
    .drop = engine_drop,
    .turn = engine_turn,
};
