#include "target/contract.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_exact.h"
#include "base/text.h"
#include "machine/child.h"
#include "target/database.h"
#include "target/probe.h"

/* After as many cases in a row that got no answer the server is taken for dead, so that the rest does not wait too. */
enum { silent_max = 2 };

struct run {
    const struct contract *contract;
    const struct contract_env *env;
    struct probe *probe;
    int silent;      /* cases in a row without an answer */
    bool unanswered; /* the current case had a request without an answer */
    bool broken;     /* a statement of ours failed (err says which), or an interrupt came */
};

/* ---- statements ---- */

static int execute(struct run *run, const char *sql, struct err *err)
{
    struct database *database = run->env->database;

    if (database->ops->execute(database, sql, err) == 0)
        return 0;
    run->broken = true;
    return -1;
}

static int execute_all(struct run *run, const char *const *statements, struct err *err)
{
    for (size_t i = 0; run->env->database != NULL && statements[i] != NULL; i++)
        if (execute(run, statements[i], err) != 0)
            return -1;
    return 0;
}

static int query(struct run *run, const char *sql, char **value, struct err *err)
{
    struct database *database = run->env->database;

    if (database->ops->value(database, sql, value, err) == 0)
        return 0;
    run->broken = true;
    return err_prefix(err, "contract");
}

/* ---- one request ---- */

static int make_token(struct run *run, const struct contract_token *token, char **header, struct err *err)
{
    char *made = NULL;

    *header = NULL;
    if (run->env->secret == NULL || token->absent)
        return 0;
    if (token->text == NULL &&
        jwt_make(&token->made, run->env->secret, clock_wall_ns() / CLOCK_NS_PER_S, &made, err) != 0)
        return -1;
    *header = text_format("Authorization: %s%s%s", token->scheme, token->scheme[0] != '\0' ? " " : "",
                          token->text != NULL ? token->text : made);
    free(made);
    return 0;
}

/* A request with everything that had to be asked for or made; request_free() it. */
struct sent {
    struct probe_request request;
    char *path;
    char *body;
    char *token;
    const char **headers;
};

static void sent_free(struct sent *sent)
{
    free(sent->path);
    free(sent->body);
    free(sent->token);
    free(sent->headers);
}

static int prepare_request(struct run *run, const struct contract_step *step, struct sent *sent, struct err *err)
{
    const struct contract_request *request = &step->request;
    size_t count = 0;

    *sent = (struct sent){0};
    if (make_token(run, &step->token, &sent->token, err) != 0 ||
        (request->path_is_sql && query(run, request->path, &sent->path, err) != 0) ||
        (request->body_kind == CONTRACT_SQL && query(run, request->body, &sent->body, err) != 0)) {
        sent_free(sent);
        return -1;
    }
    while (request->headers != NULL && request->headers[count] != NULL)
        count++;
    sent->headers = text_alloc((count + 2) * sizeof *sent->headers);
    for (size_t i = 0; i < count; i++)
        sent->headers[i] = request->headers[i];
    sent->headers[count] = sent->token;
    sent->request = (struct probe_request){
        .method = request->method,
        .path = request->path_is_sql ? sent->path : request->path,
        .headers = sent->headers,
        .body = request->body_kind == CONTRACT_SQL ? sent->body : request->body,
        .body_len = request->body_kind == CONTRACT_SQL ? strlen(sent->body) : request->body_len,
    };
    return 0;
}

static int check_status(const struct contract_answer *want, const struct probe_answer *got, struct err *err)
{
    struct text shown = {0};
    int result = 0;

    if (got->status >= want->status_least && got->status <= want->status_most)
        return 0;
    text_add_visible(&shown, got->body, got->body_len > 200 ? 200 : got->body_len);
    if (want->status_least == want->status_most)
        result = err_fail(err, "expected status %d, got %d: %s", want->status_least, got->status, text_string(&shown));
    else
        result = err_fail(err, "expected a status from %d to %d, got %d: %s", want->status_least, want->status_most,
                          got->status, text_string(&shown));
    text_free(&shown);
    return result;
}

static int check_body(struct run *run, const struct contract_answer *want, const struct probe_answer *got,
                      struct err *err)
{
    char *expected = NULL;
    int result;

    switch (want->kind) {
    case CONTRACT_NOTHING:
        return 0;
    case CONTRACT_TEXT:
        if (got->body_len == want->text_len && memcmp(got->body, want->text, want->text_len) == 0)
            return 0;
        return err_fail(err, "the body is not the expected text");
    case CONTRACT_JSON:
        return json_exact_compare(want->text, want->text_len, got->body, got->body_len, err);
    case CONTRACT_SQL:
        if (query(run, want->text, &expected, err) != 0)
            return -1;
        result = json_exact_compare(expected, strlen(expected), got->body, got->body_len, err);
        free(expected);
        return result;
    }
    return 0;
}

static int check_answer(struct run *run, const struct contract_answer *want, const struct probe_answer *got,
                        struct err *err)
{
    if (check_status(want, got, err) != 0)
        return -1;
    if (want->reused && !got->reused)
        return err_fail(err, "the connection was not kept: a new one was needed for this request");
    if (want->no_body && got->body_len > 0)
        return err_fail(err, "expected no body, got %zu bytes", got->body_len);
    return check_body(run, want, got, err);
}

static int run_request(struct run *run, const struct contract_step *step, struct err *err)
{
    const char *method = step->request.method;
    struct sent sent;
    int result = 0;

    if (prepare_request(run, step, &sent, err) != 0)
        return -1;
    if (step->at_once > 0) {
        int ok;

        result = probe_at_once(run->probe, &sent.request, (int)step->at_once, &ok, err);
        if (result == 0 && ok < step->at_once)
            result = err_fail(err, "%d of %" PRId64 " requests at once were answered", ok, step->at_once);
        run->unanswered = result != 0;
    }
    for (int64_t i = 0; step->at_once == 0 && result == 0 && i < step->times; i++) {
        struct probe_answer answer;

        result = probe_request(run->probe, &sent.request, &answer, err);
        run->unanswered = result != 0;
        if (result == 0) {
            result = check_answer(run, &step->answer, &answer, err);
            probe_answer_free(&answer);
        }
    }
    if (result != 0 && !run->broken)
        (void)err_prefix(err, "%s %s", method, sent.request.path);
    sent_free(&sent);
    return result;
}

static int run_query(struct run *run, const struct contract_step *step, struct err *err)
{
    char *value = NULL;
    char *expected = NULL;
    int64_t count;
    int result = 0;

    if (query(run, step->sql, &value, err) != 0)
        return -1;
    if (step->at_most_pool) {
        if (text_parse_i64(value, &count) != 0 || count > run->env->pool)
            result =
                err_fail(err, "%s connections to the database, the declared pool is %" PRId64, value, run->env->pool);
    } else if (step->equals_kind == CONTRACT_SQL) {
        result = query(run, step->equals, &expected, err);
        if (result == 0)
            result = json_exact_compare(expected, strlen(expected), value, strlen(value), err);
    } else {
        result = json_exact_compare(step->equals, step->equals_len, value, strlen(value), err);
    }
    if (result != 0 && !run->broken && !step->at_most_pool)
        (void)err_prefix(err, "the table");
    free(expected);
    free(value);
    return result;
}

/* ---- cases ---- */

static int run_steps(struct run *run, const struct contract_case *one, bool *changed, struct err *err)
{
    for (size_t i = 0; i < one->step_count; i++) {
        const struct contract_step *step = &one->steps[i];
        int result = step->kind == STEP_REQUEST ? run_request(run, step, err)
                     : step->kind == STEP_QUERY ? run_query(run, step, err)
                                                : execute(run, step->sql, err);

        *changed |= step->kind == STEP_EXECUTE || (step->kind == STEP_REQUEST && step->request.body != NULL);
        if (result != 0)
            return -1;
    }
    return 0;
}

static int run_unchanged(struct run *run, const struct contract_case *one, bool *changed, struct err *err)
{
    char *before = NULL;
    char *after = NULL;
    int result;

    if (query(run, run->contract->state, &before, err) != 0)
        return -1;
    result = run_steps(run, one, changed, err);
    if (!run->broken && query(run, run->contract->state, &after, err) == 0 && strcmp(before, after) != 0) {
        struct err steps = *err;

        err_clear(err);
        result = err_fail(err, "the table was changed: before %s, after %s%s%s", before, after,
                          steps.text[0] != '\0' ? "; " : "", steps.text);
        *changed = true;
    }
    free(before);
    free(after);
    return run->broken ? -1 : result;
}

static void add_meaning(const char *meaning, struct err *why)
{
    struct err cause = *why;

    err_clear(why);
    (void)err_fail(why, "%s: %s", cause.text, meaning);
}

static void run_case(struct run *run, const struct contract_case *one, contract_emit *emit, void *user, size_t *failed,
                     struct err *err)
{
    struct err why = {0};
    bool changed = false;
    int result;

    run->unanswered = false;
    result = one->unchanged ? run_unchanged(run, one, &changed, &why) : run_steps(run, one, &changed, &why);
    if (run->broken) {
        *err = why;
        (void)err_prefix(err, "case \"%s\"", one->name);
        return;
    }
    if (result != 0 && !run->unanswered && one->otherwise[0] != '\0')
        add_meaning(one->otherwise, &why);
    run->silent = run->unanswered ? run->silent + 1 : 0;
    *failed += result != 0;
    emit(user, &(struct contract_result){.name = one->name, .ok = result == 0, .detail = result ? why.text : NULL});
    if (changed || (result != 0 && one->uses_database))
        (void)execute_all(run, run->contract->restore, err);
}

static bool is_part(const struct contract_case *one, const struct contract_env *env)
{
    return !one->jwt_only || env->secret != NULL;
}

static const char last_case[] = "the table is as it was found";

size_t contract_count(const struct contract *contract, const struct contract_env *env)
{
    size_t count = env->database != NULL && contract->fingerprint[0] != '\0';

    for (size_t i = 0; i < contract->case_count; i++)
        count += is_part(&contract->cases[i], env);
    return count;
}

static void run_cases(struct run *run, contract_emit *emit, void *user, size_t *failed, struct err *err)
{
    const struct contract *contract = run->contract;

    for (size_t i = 0; !run->broken && i < contract->case_count; i++) {
        const struct contract_case *one = &contract->cases[i];

        if (child_cancelled()) {
            (void)err_fail(err, "interrupted");
            run->broken = true;
            return;
        }
        if (!is_part(one, run->env))
            continue;
        if (run->silent >= silent_max) {
            ++*failed;
            emit(user, &(struct contract_result){.name = one->name, .detail = "not tried: the server gave no answer"});
        } else if (one->uses_database && run->env->database == NULL) {
            emit(user, &(struct contract_result){.name = one->name, .ok = true, .skipped = "no database"});
        } else {
            run_case(run, one, emit, user, failed, err);
        }
    }
}

static void check_fingerprint(struct run *run, const char *before, contract_emit *emit, void *user, size_t *failed,
                              struct err *err)
{
    char *after = NULL;
    char *detail;
    bool same;

    if (query(run, run->contract->fingerprint, &after, err) != 0)
        return;
    same = strcmp(before, after) == 0;
    *failed += !same;
    detail = text_format("before %s, after %s", before, after);
    emit(user, &(struct contract_result){.name = last_case, .ok = same, .detail = same ? NULL : detail});
    free(detail);
    free(after);
}

int contract_run(const struct contract *contract, const struct contract_env *env, contract_emit *emit, void *user,
                 size_t *failed, struct err *err)
{
    struct run run = {.contract = contract, .env = env};
    bool with_fingerprint = env->database != NULL && contract->fingerprint[0] != '\0';
    struct err ignored = {0};
    char *before = NULL;

    *failed = 0;
    if (probe_open(env->base_url, contract->timeout_ns, &run.probe, err) != 0)
        return -1;
    if ((with_fingerprint && query(&run, contract->fingerprint, &before, err) != 0) ||
        execute_all(&run, contract->prepare, err) != 0) {
        probe_close(run.probe);
        free(before);
        return -1;
    }
    run_cases(&run, emit, user, failed, err);
    if (run.broken)
        (void)execute_all(&run, contract->restore, &ignored);
    else if (with_fingerprint)
        check_fingerprint(&run, before, emit, user, failed, err);
    (void)execute_all(&run, contract->finish, run.broken ? &ignored : err);
    probe_close(run.probe);
    free(before);
    return run.broken ? -1 : 0;
}
