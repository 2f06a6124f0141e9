#include "study/life.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "study/cell.h"
#include "study/judge.h"
#include "study/request.h"
#include "target/peers.h"

struct first_failure {
    char *text; /* "not ok: CASE: detail" of the first case that failed */
    struct text log;
    size_t cases;
    struct peers peers;
};

static void note_case(void *user, const struct contract_result *result)
{
    struct first_failure *first = user;

    peers_look(&first->peers);
    first->cases++;
    text_addf(&first->log, "%sok %zu - %s%s%s\n", result->ok ? "" : "not ", first->cases, result->name,
              result->skipped != NULL ? " # SKIP " : "", result->skipped != NULL ? result->skipped : "");
    if (result->ok)
        return;
    text_addf(&first->log, "  # %s\n", result->detail);
    if (first->text == NULL)
        first->text = text_format("%s: %s", result->name, result->detail);
}

/* The cases' lines go into a file beside the server's log. */
static int check_contract(struct life *life, struct err *err)
{
    struct run *run = life->run;
    struct contract_env env = {.base_url = life->server.url,
                               .secret = run->secret,
                               .database = run->setup.study.has_database ? run->database : NULL,
                               .pool = run->setup.study.pool};
    struct first_failure first = {.peers = {.server = &life->server, .database = env.database}};
    size_t failed = 0;
    char *path = text_format("%s.contract", life->server.log_path);
    int result = contract_run(&run->contract, &env, note_case, &first, &failed, err);

    run->contract_checked = (int64_t)first.cases;
    if (result == 0 && failed == 0 && life->row->state == ROW_PLANNED)
        log_line("check      %s %zu of %zu", life->row->id, first.cases, first.cases);
    (void)fsx_write_atomic(path, text_string(&first.log), first.log.len, 0644, NULL);
    if (result == 0 && failed > 0)
        result = err_fail(err, "%s fails its contract (%zu of %zu cases): %s; log: %s", life->row->id, failed,
                          first.cases, first.text, path);
    if (result == 0 && peers_check(&first.peers, err) != 0)
        result = err_prefix(err, "%s does not make its answers itself", life->row->id);
    free(first.text);
    text_free(&first.log);
    free(path);
    return result;
}

int life_begin(struct run *run, struct row *row, size_t round, const char *log_path, struct life *life, struct err *err)
{
    struct server_spec spec = {.row = row,
                               .log_path = log_path,
                               .database_url = run->database->url,
                               .jwt_secret = run->secret,
                               .pool = run->setup.study.pool,
                               .place = &run->server_place};
    const struct database_ops *ops = run->database->ops;

    *life = (struct life){.run = run, .row = row, .round = round, .test = LIFE_NO_TEST};
    if (ops->server_begin != NULL && ops->server_begin(run->database, err) != 0)
        return -1;
    if (server_start(&spec, &life->server, err) != 0)
        return -1;
    life->alive = true;
    row_set_launch(row, life->server.child.record);
    life->startup_s = life->server.startup_s;
    if (run->has_contract && check_contract(life, err) != 0)
        return -1;
    return 0;
}

void life_count(struct life *life, const struct tool_result *result)
{
    double ok = result->responses_2xx + (isnan(result->drained_2xx) ? 0 : result->drained_2xx);

    life->test_ok += ok;
    life->test_unanswered += result->unanswered;
    if (life->run->setup.study.tests[life->test].uses_database)
        life->database_ok += ok;
}

static int warm_up(struct life *life, struct err *err)
{
    struct run *run = life->run;
    struct window window;
    char *url;
    struct tool_job job = request_job(run, &life->server, life->test, &url);
    int result;

    life->has_warmup = run->setup.study.warmup_seconds > 0;
    if (!life->has_warmup) {
        free(url);
        return 0;
    }
    job.seconds = run->setup.study.warmup_seconds;
    job.connections = run->setup.study.warmup_connections;
    result = window_run(run, &life->server, &job, false, &window, err);
    if (result == 0) {
        life->warmup_requests = window.tool.responses_2xx;
        life->warmup_slope_pct = judge_slope_pct(window.tool.per_second, window.tool.per_second_count);
        life_count(life, &window.tool);
    } else {
        (void)err_prefix(err, "warm-up");
    }
    window_free(&window);
    free(url);
    return result;
}

int life_prepare(struct life *life, size_t test, struct err *err)
{
    struct run *run = life->run;
    const struct database_ops *ops = run->database->ops;
    struct err ignored = {0};

    free(life->expect_path);
    life->expect_path = NULL;
    life->test = test;
    life->test_ok = 0;
    life->test_unanswered = 0;
    if (request_try(run, &life->server, test, &life->expect_path, err) != 0)
        return -1;
    if (run->setup.study.tests[test].writes && ops->reset(run->database, err) != 0)
        return err_prefix(err, "putting the table back before %s", run->setup.study.tests[test].name);
    if (warm_up(life, err) != 0)
        return -1;
    life->has_counts = ops->counts != NULL && ops->counts(run->database, false, &life->at_start, &ignored) == 0;
    return 0;
}

char *life_rows_disagree(const struct life *life, int64_t rows_in_table)
{
    const struct study_test *test = &life->run->setup.study.tests[life->test];
    double rows = (double)rows_in_table;
    double least = (double)test->rows_per_request * life->test_ok;
    double most = (double)test->rows_per_request * (life->test_ok + life->test_unanswered);

    if (!test->writes || rows_in_table == DATABASE_UNKNOWN || isnan(least))
        return NULL;
    if (rows < least)
        return text_format("the answers claim %.0f rows, the table holds %.0f", least, rows);
    if (rows > most)
        return text_format("the table holds %.0f rows, the answers and open requests explain %.0f", rows, most);
    return NULL;
}

/* One line of kind "reconciliation" for a whole life: counters arrive when its backends have ended. */
static int reconcile(struct life *life, struct err *err)
{
    struct run *run = life->run;
    const struct database_ops *ops = run->database->ops;
    struct database_reconciliation sums;
    struct err cause = {0};
    bool confirmed;
    bool known;
    json_t *line;
    char utc[CLOCK_UTC_SIZE];
    int result;

    if (ops->server_end == NULL || isnan(life->database_ok))
        return 0;
    known = ops->server_end(run->database, (int64_t)life->database_ok, &sums, &cause) == 0 &&
            sums.transactions != DATABASE_UNKNOWN;
    confirmed = !known || (double)sums.transactions >= life->database_ok;
    line = json_object();
    clock_format_utc(clock_wall_ns(), utc);
    json_put(line, "format", json_integer(1));
    json_put(line, "kind", json_string("reconciliation"));
    json_put(line, "utc", json_string(utc));
    json_put(line, "row", cell_row_json(life->row));
    json_put(line, "round", json_integer((json_int_t)life->round));
    json_put(line, "answers", json_number(life->database_ok, 0));
    json_put(line, "transactions", known ? json_integer(sums.transactions) : json_null());
    json_put(line, "rows_inserted",
             known && sums.rows_inserted != DATABASE_UNKNOWN ? json_integer(sums.rows_inserted) : json_null());
    json_put(line, "shared", known ? json_boolean(sums.shared) : json_null());
    json_put(line, "waited_ms", known ? json_integer(sums.waited_ms) : json_null());
    json_put(line, "ok", known ? json_boolean(confirmed) : json_null());
    json_put(line, "text", known ? json_null() : json_string(cause.text));
    if (!confirmed) {
        run->marks++;
        log_line("mark       %s, round %zu: unconfirmed: %.0f answers of database tests, but the database counted "
                 "%lld transactions",
                 life->row->id, life->round, life->database_ok, (long long)sums.transactions);
    }
    result = store_add_detail(&run->store, line, err);
    json_decref(line);
    return result;
}

int life_end(struct life *life, struct err *err)
{
    int result = 0;

    if (life->run == NULL)
        return 0;
    if (life->alive) {
        result = server_stop(&life->server, err);
        if (reconcile(life, err) != 0)
            result = -1;
    }
    free(life->expect_path);
    *life = (struct life){0};
    return result;
}
