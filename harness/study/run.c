#include "study/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "study/calibration.h"
#include "study/cell.h"
#include "study/interrupt.h"
#include "study/manifest.h"
#include "study/parties.h"
#include "study/run_ceiling.h"
#include "study/run_state.h"
#include "study/until.h"

enum { ATTEMPTS = 2 };

static void drop_row(struct run *run, size_t row, size_t from)
{
    for (size_t i = from; i < run->setup.plan.count; i++) {
        if (run->setup.plan.cells[i].row != row || run->finished[i])
            continue;
        run->finished[i] = true;
        progress_drop(&run->progress, 1, plan_cell_seconds(&run->setup.study, &run->setup.plan, i));
    }
}

/* The server could not be brought to answer rightly: its row is out, for all rounds, unless the database was to blame.
 */
static int give_row_up(struct run *run, size_t index, const char *log_path, const char *reason, struct err *err)
{
    struct row *row = &run->setup.rows.items[run->setup.plan.cells[index].row];

    row_set_state(row, ROW_FAILED, log_path, reason);
    log_error("%s", reason);
    drop_row(run, run->setup.plan.cells[index].row, index);
    return manifest_write(run, err);
}

/* What one try of a cell came to. */
enum outcome {
    CELL_DONE,
    CELL_AGAIN,  /* something happened on the way: `reason` */
    CELL_NO_ROW, /* the server does not start or is wrong */
    CELL_STOP,   /* the run must end: err */
};

static enum outcome try_cell(struct run *run, struct life *life, size_t index, int attempt, const char *log_path,
                             char *reason, size_t size, struct err *err)
{
    const struct plan_cell *cell = &run->setup.plan.cells[index];
    struct row *row = &run->setup.rows.items[cell->row];
    struct err cause = {0};
    struct err full = {0};
    char result[64];
    enum outcome outcome = CELL_AGAIN;

    if (!life->alive) {
        if (parties_revive_database(run, err) != 0)
            return CELL_STOP;
        progress_now(&run->progress, "round %zu  %s  starts", cell->round, row->id);
        if (life_begin(run, row, cell->round, log_path, life, &cause) != 0)
            outcome = CELL_NO_ROW;
    }
    if (outcome == CELL_AGAIN && life->test != cell->test) {
        progress_now(&run->progress, "round %zu  %s  %s  warm-up", cell->round, row->id,
                     run->setup.study.tests[cell->test].name);
        (void)life_prepare(life, cell->test, &cause);
    }
    if (cause.kind == ERR_NONE) {
        progress_now(&run->progress, "round %zu  %s  %s  %s", cell->round, row->id,
                     run->setup.study.tests[cell->test].name, run->setup.study.phases[cell->phase].name);
        if (cell_measure(life, cell, attempt, reason[0] != '\0' ? reason : NULL, result, sizeof result, &cause) == 0) {
            progress_cell(&run->progress, result, plan_cell_seconds(&run->setup.study, &run->setup.plan, index));
            return CELL_DONE;
        }
    }
    if (interrupt_signal() != 0) {
        (void)err_fail(err, "interrupted");
        return CELL_STOP;
    }
    if (parties_database_lost(run)) {
        /* Whatever it looked like, the server is not to blame. */
        (void)err_prefix(&cause, "the database was lost");
        outcome = CELL_AGAIN;
    } else if (parties_database_room(run, &full) != 0) {
        (void)err_set(err, "%s; what is finished is kept: make room, and go on with --resume", full.text);
        return CELL_STOP;
    } else if (cause.kind == ERR_CANNOT && outcome != CELL_NO_ROW) {
        (void)err_set(err, "%s; what is finished is kept: go on with --resume", cause.text);
        return CELL_STOP;
    } else if (parties_name_stranger(run, &cause)) {
        outcome = CELL_AGAIN;
    }
    (void)snprintf(reason, size, "%s", cause.text);
    return outcome;
}

static int note_failure(struct run *run, size_t index, const char *reason, struct err *err)
{
    const struct plan_cell *cell = &run->setup.plan.cells[index];

    run->cells_failed++;
    log_error("%s, round %zu, %s, %s: not measured: %s", run->setup.rows.items[cell->row].id, cell->round,
              run->setup.study.tests[cell->test].name, run->setup.study.phases[cell->phase].name, reason);
    progress_drop(&run->progress, 1, plan_cell_seconds(&run->setup.study, &run->setup.plan, index));
    return cell_failed(run, cell, reason, err);
}

static int measure_cell(struct run *run, struct life *life, size_t index, struct err *err)
{
    const struct plan_cell *cell = &run->setup.plan.cells[index];
    struct row *row = &run->setup.rows.items[cell->row];
    char *log_path = text_format("%s/%s_round%zu.log", run->log_dir, row->id, cell->round);
    char reason[sizeof err->text] = "";
    enum outcome outcome = CELL_AGAIN;
    int result = 0;

    for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
        struct err ending = {0};

        outcome = try_cell(run, life, index, attempt, log_path, reason, sizeof reason, err);
        if (outcome == CELL_DONE || outcome == CELL_STOP)
            break;
        if (life_end(life, &ending) != 0)
            manifest_note(run, "%s", ending.text);
        if (attempt < ATTEMPTS)
            log_line("again      %s: %s", row->id, reason);
    }
    run->finished[index] = true;
    switch (outcome) {
    case CELL_DONE:
        run->cells_measured++;
        run->losses = 0;
        if (row->state == ROW_PLANNED) {
            row_set_state(row, ROW_MEASURED, NULL, NULL);
            result = manifest_write(run, err);
        }
        break;
    case CELL_AGAIN:
        result = note_failure(run, index, reason, err);
        break;
    case CELL_NO_ROW:
        result = give_row_up(run, index, log_path, reason, err);
        break;
    case CELL_STOP:
        run->finished[index] = false;
        result = -1;
        break;
    }
    free(log_path);
    return result;
}

/* --until: every cell's interval is within the bound. */
static bool is_until_reached(const struct run *run, int64_t rounds)
{
    struct until until;
    struct err err = {0};
    bool reached;

    if (run->options->until_pct <= 0 || rounds < UNTIL_ROUNDS_LEAST)
        return false;
    if (until_look(run->store.csv_path, run->options->until_pct, &until, &err) != 0) {
        log_error("--until: %s", err.text);
        return false;
    }
    reached = until.beyond == 0;
    log_line("until      %lld rounds: %zu of %zu medians are within %g %%%s", (long long)rounds,
             until.cells - until.beyond, until.cells, run->options->until_pct, reached ? ": enough" : "");
    until_free(&until);
    return reached;
}

/* Before the first cell of a round: whether the rounds so far are enough. */
static bool is_enough(struct run *run, size_t index)
{
    const struct plan_cell *cells = run->setup.plan.cells;
    const struct run_options *options = run->options;
    int64_t rounds;
    bool open = false;

    if (index == 0 || cells[index].round == cells[index - 1].round)
        return false;
    rounds = (int64_t)cells[index - 1].round;
    for (size_t i = index; i < run->setup.plan.count && cells[i].round == cells[index].round; i++)
        open = open || !run->finished[i];
    if (!open)
        return false;
    if (!(options->is_enough != NULL ? options->is_enough(run->store.csv_path, rounds, options->context)
                                     : is_until_reached(run, rounds)))
        return false;
    run->setup.study.rounds = rounds;
    json_put(run->machine, "rounds", json_integer(rounds));
    return true;
}

/* What --until did not bring within its bound, by name. */
static void say_until(const struct run *run)
{
    struct until until;
    struct err err = {0};

    if (run->options->until_pct <= 0 || until_look(run->store.csv_path, run->options->until_pct, &until, &err) != 0)
        return;
    if (until.beyond > 0)
        log_line("until      not within %g %% after %lld rounds: %s", run->options->until_pct,
                 (long long)run->setup.study.rounds, text_string(&until.names));
    until_free(&until);
}

static int measure_all(struct run *run, struct err *err)
{
    struct life life = {0};
    int result = 0;

    for (size_t i = 0; i < run->setup.plan.count && result == 0; i++) {
        struct err ending = {0};

        if (plan_starts_server(&run->setup.plan, i) && life_end(&life, &ending) != 0)
            manifest_note(run, "%s", ending.text);
        if (is_enough(run, i))
            break;
        if (interrupt_signal() != 0)
            result = err_fail(err, "interrupted");
        else if (!run->finished[i])
            result = measure_cell(run, &life, i, err);
    }
    if (life.run != NULL) {
        struct err ending = {0};

        if (life_end(&life, &ending) != 0)
            manifest_note(run, "%s", ending.text);
    }
    return result;
}

/* Cells that the files hold already. */
static void mark_finished(const json_t *cell, void *context)
{
    struct run *run = context;
    const json_t *row = json_object_get(cell, "row");
    const json_t *phase = json_object_get(cell, "phase");
    const char *id = json_get_string(row, "id");
    const char *test = json_get_string(cell, "test");
    const char *name = json_get_string(phase, "name");
    double round = json_get_number(cell, "round");

    for (size_t i = 0; id != NULL && test != NULL && name != NULL && i < run->setup.plan.count; i++) {
        const struct plan_cell *planned = &run->setup.plan.cells[i];
        struct row *of = &run->setup.rows.items[planned->row];

        if ((double)planned->round != round || strcmp(of->id, id) != 0 ||
            strcmp(run->setup.study.tests[planned->test].name, test) != 0 ||
            strcmp(run->setup.study.phases[planned->phase].name, name) != 0)
            continue;
        run->finished[i] = true;
        if (of->state == ROW_PLANNED)
            row_set_state(of, ROW_MEASURED, NULL, NULL);
    }
}

static int open_files(struct run *run, struct err *err)
{
    const char *mode = setup_mode(&run->setup);
    const char *name = run->options->name;
    json_t *machine = NULL;
    json_t *notes = json_array();
    int found = 0;
    int result;

    if (run->options->resume)
        found = store_resume(run->data_dir, mode, name, run->options->rounds, &run->store, &machine, err);
    if (found == 0) {
        result = store_create(run->data_dir, clock_wall_ns(), mode, name, &run->store, err);
        if (result == 0)
            manifest_make(run);
    } else if (found > 0) {
        log_line("resume     %s", run->store.base);
        result = manifest_continue(run, machine, err);
        /* Only now: what is refused stays as it is. */
        if (result == 0)
            result = store_put_in_order(&run->store, notes, err);
        if (result == 0)
            result = store_each_cell(&run->store, mark_finished, run, err);
    } else {
        result = -1;
    }
    for (size_t i = 0; result == 0 && i < json_array_size(notes); i++)
        manifest_note(run, "%s", json_string_value(json_array_get(notes, i)));
    json_decref(machine);
    json_decref(notes);
    return result;
}

static void say_plan(struct run *run, size_t done, double remaining_s)
{
    char *server = cpus_format(&run->parts.split.server);
    char *generator = cpus_format(&run->parts.split.generator);
    char eta[32];

    progress_format_eta(remaining_s, eta, sizeof eta);
    if (run->parts.split.pinned)
        log_line("plan       %zu cells%s, about %s; server and database on CPU %s, generator on CPU %s",
                 run->progress.total, done > 0 ? " in all" : "", eta, server, generator);
    else
        log_line("plan       %zu cells%s, about %s; unpinned", run->progress.total, done > 0 ? " in all" : "", eta);
    if (done > 0)
        log_line("           %zu of them are there already", done);
    free(server);
    free(generator);
}

static void start_progress(struct run *run)
{
    const struct plan *plan = &run->setup.plan;
    double remaining_s = run_ceiling_seconds(&run->setup, run->options);
    size_t done = 0;
    size_t total = 0;

    for (size_t i = 0; i < plan->count; i++) {
        enum row_state state = run->setup.rows.items[plan->cells[i].row].state;

        if (state == ROW_SKIPPED || state == ROW_FAILED)
            run->finished[i] = true;
        else
            total++;
        if (!run->finished[i])
            remaining_s += plan_cell_seconds(&run->setup.study, plan, i);
        else if (state != ROW_SKIPPED && state != ROW_FAILED)
            done++;
    }
    progress_start(&run->progress, run->state_dir, run->store.base, done, total, remaining_s);
    say_plan(run, done, remaining_s);
}

static int measure(struct run *run, struct err *err)
{
    char utc[CLOCK_UTC_SIZE];
    struct err later = {0};
    int result;

    run->finished = text_alloc(run->setup.plan.count + 1);
    if (open_files(run, err) != 0 || manifest_write(run, err) != 0)
        return -1;
    run->log_dir = text_format("%s/logs/%s", run->state_dir, fsx_basename(run->store.base));
    if (fsx_mkdirs(run->log_dir, 0755, err) != 0)
        return -1;
    if (run->setup.study.calibrates)
        log_line("calibrate  the machine's speed (a fixed job with 1, 4 and 8 processes)");
    if (run->setup.study.calibrates && calibration_run(run, false, err) != 0)
        return -1;
    start_progress(run);
    result = measure_all(run, err);
    if (result == 0)
        say_until(run);
    if (result == 0)
        result = run_ceiling(run, err);
    if (result == 0 && run->setup.study.calibrates) {
        progress_now(&run->progress, "the machine's speed once more");
        result = calibration_run(run, true, err);
    }
    progress_end(&run->progress);
    if (result == 0) {
        clock_format_utc(clock_wall_ns(), utc);
        json_put(json_object_get(run->machine, "run"), "complete", json_true());
        json_put(json_object_get(run->machine, "run"), "ended_utc", json_string(utc));
    }
    /* Also when interrupted: what became of the rows so far. The first fault is the one to tell. */
    if (manifest_write(run, result == 0 ? err : &later) != 0)
        result = -1;
    return result;
}

static void tell_outcome(const struct run *run, bool complete, struct run_outcome *outcome)
{
    outcome->csv_path = run->store.csv_path != NULL ? text_dup(run->store.csv_path) : NULL;
    outcome->measured = run->cells_measured;
    outcome->failed = run->cells_failed;
    outcome->marks = run->marks;
    outcome->errors = run->errors;
    outcome->complete = complete;
    for (size_t i = 0; i < run->setup.rows.count; i++) {
        outcome->failed += run->setup.rows.items[i].state == ROW_FAILED;
        outcome->skipped += run->setup.rows.items[i].state == ROW_SKIPPED;
    }
}

/* Asked before anything is built or started; a disk may still become full on the way. */
static bool is_writable(const char *data_dir, struct err *err)
{
    if (fsx_mkdirs(data_dir, 0755, err) != 0)
        return false;
    if (access(data_dir, W_OK | X_OK) != 0) {
        (void)err_sys(err, "%s: cannot write there; give --data DIR", data_dir);
        return false;
    }
    return true;
}

int run_study(const struct run_options *options, struct run_outcome *outcome, struct err *err)
{
    struct run run = {.options = options, .lock.state_fd = -1, .probe = {NAN, NAN}};
    struct err ending = {0};
    int result;

    *outcome = (struct run_outcome){0};
    if (setup_load(options, &run.setup, err) != 0)
        return -1;
    if (options->dry_run) {
        result = setup_print(&run.setup, run_ceiling_seconds(&run.setup, options), err);
        setup_free(&run.setup);
        return result;
    }
    interrupt_catch();
    run.data_dir = text_dup(options->data != NULL ? options->data : "data");
    run.state_dir = home_state(options->state, err);
    result = run.state_dir != NULL && is_writable(run.data_dir, err) ? parties_open(&run, err) : -1;
    if (result == 0)
        result = measure(&run, err);
    tell_outcome(&run, result == 0, outcome);
    if (parties_close(&run, &ending) != 0)
        log_error("%s", ending.text);
    store_close(&run.store);
    json_decref(run.machine);
    drift_free(&run.drift);
    free(run.finished);
    free(run.data_dir);
    free(run.state_dir);
    free(run.log_dir);
    setup_free(&run.setup);
    return result;
}

void run_outcome_free(struct run_outcome *outcome)
{
    free(outcome->csv_path);
    *outcome = (struct run_outcome){0};
}
