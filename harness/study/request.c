#include "study/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json_exact.h"
#include "base/text.h"
#include "study/config_test.h"
#include "target/jwt.h"
#include "target/probe.h"

/*
 * One answer in so many is compared under load. A small body costs nothing beside the system calls of its request, so
 * each is compared; of larger ones a server that is wrong once in 5,000 still shows within some 100,000 answers.
 */
static const size_t small_body = 1024;
static const int64_t every_of_small = 1;
static const int64_t every_of_large = 50;
/* A token outlives any run that was planned, and a night in which the machine slept. */
static const int64_t token_s = 30LL * 24 * 3600;

/* `kind` and `content` as the study has them; SQL is asked for now. The caller's, NULL for none. */
static int resolve(struct run *run, enum study_content kind, const char *content, size_t len, char **text,
                   size_t *text_len, struct err *err)
{
    *text = NULL;
    *text_len = len;
    if (kind == CONTENT_NONE)
        return 0;
    if (kind == CONTENT_SQL) {
        if (run->database->ops->value(run->database, content, text, err) != 0)
            return -1;
        *text_len = strlen(*text);
        return 0;
    }
    *text = text_dup_n(content, len);
    return 0;
}

static int make_body(struct run *run, size_t index, struct err *err)
{
    const struct study_test *test = &run->setup.study.tests[index];
    char *body;
    size_t len;
    int result = 0;

    if (resolve(run, test->body_kind, test->body, test->body_len, &body, &len, err) != 0)
        return err_prefix(err, "the body of test %s", test->name);
    if (body != NULL) {
        run->requests[index].body_path = text_format("%s/body_%s", run->work_dir, test->name);
        result = fsx_write_atomic(run->requests[index].body_path, body, len, 0644, err);
    }
    free(body);
    return result;
}

static int make_ring(struct run *run, size_t index, struct err *err)
{
    const struct study_test *test = &run->setup.study.tests[index];
    char *text;
    size_t len;
    int result;

    if (resolve(run, test->requests_kind, test->requests, test->requests_len, &text, &len, err) != 0)
        return err_prefix(err, "the requests of test %s", test->name);
    if (text == NULL)
        return 0;
    run->requests[index].ring_path = text_format("%s/requests_%s", run->work_dir, test->name);
    result = config_check_requests(test->name, test, text, len, err);
    if (result == 0)
        result = fsx_write_atomic(run->requests[index].ring_path, text, len, 0644, err);
    free(text);
    return result;
}

static int make_headers(struct run *run, size_t index, struct err *err)
{
    static const struct jwt_token token = {.exp_kind = JWT_EXP_IN, .exp_in_s = token_s};
    const struct study_test *test = &run->setup.study.tests[index];
    struct run_request *request = &run->requests[index];
    size_t count = 0;

    while (test->headers[count] != NULL)
        count++;
    request->headers = text_alloc((count + 2) * sizeof *request->headers);
    for (size_t i = 0; i < count; i++)
        request->headers[i] = text_dup(test->headers[i]);
    if (run->secret != NULL) {
        char *text;

        if (jwt_make(&token, run->secret, clock_wall_ns() / CLOCK_NS_PER_S, &text, err) != 0)
            return -1;
        request->headers[count] = text_format("Authorization: Bearer %s", text);
        free(text);
    }
    return 0;
}

int request_make_all(struct run *run, struct err *err)
{
    const struct study *study = &run->setup.study;

    run->requests = text_alloc(study->test_count * sizeof *run->requests);
    for (size_t i = 0; i < study->test_count; i++) {
        const struct study_test *test = &study->tests[i];
        char *expect;
        size_t len;

        if (!run->setup.tests[i])
            continue;
        if (make_body(run, i, err) != 0 || make_ring(run, i, err) != 0 || make_headers(run, i, err) != 0)
            return -1;
        if (resolve(run, test->expect_kind, test->expect, test->expect != NULL ? strlen(test->expect) : 0, &expect,
                    &len, err) != 0)
            return err_prefix(err, "the expected answer of test %s", test->name);
        run->requests[i].expect_json = expect;
    }
    return 0;
}

void request_free_all(struct run *run)
{
    for (size_t i = 0; run->requests != NULL && i < run->setup.study.test_count; i++) {
        struct run_request *request = &run->requests[i];

        for (char **header = request->headers; header != NULL && *header != NULL; header++)
            free(*header);
        free(request->headers);
        free(request->body_path);
        free(request->ring_path);
        free(request->expect_json);
    }
    free(run->requests);
    run->requests = NULL;
}

static int compare(const struct study_test *test, const struct run_request *request, const struct probe_answer *answer,
                   struct err *err)
{
    if (answer->status != test->expect_status)
        return err_fail(err, "test %s: expected status %d, got %d", test->name, test->expect_status, answer->status);
    if (request->expect_json == NULL)
        return 0;
    if (test->expect_kind == CONTENT_BYTES) {
        if (strcmp(request->expect_json, answer->body) != 0)
            return err_fail(err, "test %s: the answer's body is not the expected text", test->name);
        return 0;
    }
    if (json_exact_compare(request->expect_json, strlen(request->expect_json), answer->body, answer->body_len, err) !=
        0)
        return err_prefix(err, "test %s: the answer", test->name);
    return 0;
}

int request_try(struct run *run, const struct server *server, size_t index, char **expect_path, struct err *err)
{
    const struct study_test *test = &run->setup.study.tests[index];
    struct run_request *request = &run->requests[index];
    struct probe *probe;
    struct probe_answer answer;
    char *body = NULL;
    size_t len = 0;
    int result = -1;

    *expect_path = NULL;
    if (request->body_path != NULL && fsx_read(request->body_path, (size_t)64 << 20, &body, &len, err) != 0)
        return -1;
    if (probe_open(server->url, 10 * CLOCK_NS_PER_S, &probe, err) == 0) {
        struct probe_request ask = {.method = test->method,
                                    .path = test->path,
                                    .headers = (const char *const *)request->headers,
                                    .body = body,
                                    .body_len = len};

        if (probe_request(probe, &ask, &answer, err) == 0) {
            result = compare(test, request, &answer, err);
            if (result == 0 && request->expect_json != NULL && request->ring_path == NULL) {
                request->expect_every = answer.body_len <= small_body ? every_of_small : every_of_large;
                *expect_path = text_format("%s/expect_%s", run->work_dir, test->name);
                result = fsx_write_atomic(*expect_path, answer.body, answer.body_len, 0644, err);
            }
            probe_answer_free(&answer);
        }
        probe_close(probe);
    }
    if (result != 0 && err->kind != ERR_NONE)
        err->kind = ERR_FAILED;
    free(body);
    return result;
}

struct tool_job request_job(const struct run *run, const struct server *server, size_t index, char **url)
{
    const struct study_test *test = &run->setup.study.tests[index];

    *url = text_format("%s%s", server->url, test->path);
    return (struct tool_job){.url = *url,
                             .method = test->method,
                             .headers = (const char *const *)run->requests[index].headers,
                             .body_path = run->requests[index].body_path,
                             .ring_path = run->requests[index].ring_path,
                             .timeout_ns = run->setup.study.timeout_ns,
                             .expect_every = run->requests[index].expect_every,
                             .events_fd = -1};
}
