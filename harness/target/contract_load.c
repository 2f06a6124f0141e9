#include "target/contract.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void *keep(struct contract *contract, void *made)
{
    contract->owned = text_realloc(contract->owned, contract->owned_count + 1, sizeof *contract->owned);
    contract->owned[contract->owned_count++] = made;
    return made;
}

/* One of text, json and sql under `at`; none of them: CONTRACT_NOTHING. */
static int read_content(struct contract *contract, const struct json_at *at, enum contract_content *kind,
                        const char **text, size_t *len, struct err *err)
{
    static const struct {
        const char *key;
        enum contract_content kind;
    } kinds[] = {{"text", CONTRACT_TEXT}, {"json", CONTRACT_JSON}, {"sql", CONTRACT_SQL}};
    const char *given = NULL;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct json_at value = json_at_key(at, kinds[i].key);

        if (value.value == NULL)
            continue;
        if (given != NULL)
            return json_at_error(&value, err, "give one of \"%s\" and \"%s\"", given, kinds[i].key);
        given = kinds[i].key;
        *kind = kinds[i].kind;
        if (*kind == CONTRACT_JSON)
            *text = keep(contract, json_line(value.value));
        else if (json_at_string(at, given, NULL, text, err) != 0)
            return -1;
        *len = strlen(*text);
    }
    return 0;
}

static int read_headers(struct contract *contract, const struct json_at *at, const char ***headers, struct err *err)
{
    struct json_at from = json_at_key(at, "headers");
    const char *name;
    json_t *value;
    size_t count = 0;

    if (from.value == NULL)
        return 0;
    if (json_at_object(&from, err) != 0)
        return -1;
    *headers = keep(contract, text_alloc((json_object_size(from.value) + 1) * sizeof **headers));
    json_object_foreach (from.value, name, value) {
        const char *string = json_string_value(value);
        struct json_at here = json_at_key(&from, name);

        if (string == NULL || strpbrk(string, "\r\n") != NULL || name[strcspn(name, " \t\r\n:")] != '\0')
            return json_at_error(&here, err, "a header is a name and a string of one line");
        (*headers)[count++] = keep(contract, text_format("%s: %s", name, string));
    }
    return 0;
}

static int read_path(const struct json_at *at, struct contract_request *request, struct err *err)
{
    static const char *const keys[] = {"sql", NULL};
    struct json_at path = json_at_key(at, "path");

    if (path.value == NULL && request->path != NULL)
        return 0;
    request->path_is_sql = json_is_object(path.value);
    if (request->path_is_sql)
        return json_at_only(&path, keys, err) != 0 ? -1 : json_at_string(&path, "sql", NULL, &request->path, err);
    if (json_at_string(at, "path", NULL, &request->path, err) != 0)
        return -1;
    return request->path[0] == '/' ? 0 : json_at_error(&path, err, "\"path\" must begin with '/'");
}

/* Fills in what `at` says; what it does not say stays as it is. */
static int read_request(struct contract *contract, const struct json_at *at, struct contract_request *request,
                        struct err *err)
{
    static const char *const body_keys[] = {"text", "json", "sql", NULL};
    struct json_at body = json_at_key(at, "body");

    if (json_at_string(at, "method", request->method != NULL ? request->method : "GET", &request->method, err) != 0 ||
        read_path(at, request, err) != 0 || read_headers(contract, at, &request->headers, err) != 0)
        return -1;
    if (body.value == NULL)
        return 0;
    return json_at_only(&body, body_keys, err) != 0
               ? -1
               : read_content(contract, &body, &request->body_kind, &request->body, &request->body_len, err);
}

/* 404, "4xx", or [200, 499]. */
static int read_status(const struct json_at *at, struct contract_answer *answer, struct err *err)
{
    struct json_at status = json_at_key(at, "status");
    const char *class = json_string_value(status.value);
    json_int_t least = json_integer_value(json_array_get(status.value, 0));
    json_int_t most = json_integer_value(json_array_get(status.value, 1));

    answer->status_least = 200;
    answer->status_most = 200;
    if (status.value == NULL)
        return 0;
    if (json_is_integer(status.value)) {
        least = json_integer_value(status.value);
        most = least;
    } else if (class != NULL && class[0] >= '1' && class[0] <= '5' && strcmp(class + 1, "xx") == 0) {
        least = (class[0] - '0') * 100;
        most = least + 99;
    }
    if (least < 100 || most > 599 || least > most)
        return json_at_error(&status, err,
                             "\"status\" is a number such as 404, a class such as \"4xx\", or [200, 499]");
    answer->status_least = (int)least;
    answer->status_most = (int)most;
    return 0;
}

static int read_answer(struct contract *contract, const struct json_at *at, struct contract_answer *answer,
                       struct err *err)
{
    static const char *const keys[] = {"status", "text", "json", "sql", "reused", "no_body", NULL};
    static const bool no = false;
    struct json_at from = json_at_key(at, "answer");

    if (from.value == NULL)
        return json_at_error(at, err, "\"answer\" is missing: what a right one looks like");
    if (json_at_only(&from, keys, err) != 0 || read_status(&from, answer, err) != 0 ||
        json_at_bool(&from, "reused", &no, &answer->reused, err) != 0 ||
        json_at_bool(&from, "no_body", &no, &answer->no_body, err) != 0)
        return -1;
    return read_content(contract, &from, &answer->kind, &answer->text, &answer->text_len, err);
}

/* The index of a word of `words`, which ends with NULL. */
static int read_word(const struct json_at *at, const char *key, const char *const *words, int *index, struct err *err)
{
    struct json_at here = json_at_key(at, key);
    const char *word;

    if (json_at_string(at, key, words[0], &word, err) != 0)
        return -1;
    for (*index = 0; words[*index] != NULL; ++*index)
        if (strcmp(words[*index], word) == 0)
            return 0;
    return json_at_error(&here, err, "\"%s\": there is no \"%s\"", key, word);
}

static int read_exp(const struct json_at *at, struct jwt_token *made, struct err *err)
{
    static const char *const kinds[] = {"in", "text", "none", NULL};
    static const enum jwt_exp values[] = {JWT_EXP_IN, JWT_EXP_TEXT, JWT_EXP_NONE};
    static const int64_t hour = 3600;
    int kind = 0;

    if (read_word(at, "exp", kinds, &kind, err) != 0)
        return -1;
    made->exp_kind = values[kind];
    return json_at_int(at, "exp_in_s", &hour, -4000000000, 4000000000, &made->exp_in_s, err);
}

static int read_token(const struct json_at *at, struct contract_token *token, struct err *err)
{
    static const char *const keys[] = {"scheme", "text", "alg", "sign", "alter", "exp", "exp_in_s", NULL};
    static const char *const signs[] = {"HS256", "HS512", "empty", "cut", "extra", NULL};
    static const char *const alters[] = {"nothing", "payload", "signature", "key", NULL};
    struct json_at from = json_at_key(at, "token");
    int sign = 0;
    int alter = 0;

    *token = (struct contract_token){.scheme = "Bearer", .made = {.exp_kind = JWT_EXP_IN, .exp_in_s = 3600}};
    token->absent = json_is_null(from.value);
    if (from.value == NULL || token->absent)
        return 0;
    if (json_at_only(&from, keys, err) != 0 || json_at_string(&from, "scheme", "Bearer", &token->scheme, err) != 0 ||
        json_at_string(&from, "alg", "HS256", &token->made.alg, err) != 0 ||
        read_word(&from, "sign", signs, &sign, err) != 0 || read_word(&from, "alter", alters, &alter, err) != 0 ||
        read_exp(&from, &token->made, err) != 0)
        return -1;
    token->made.sign = (enum jwt_sign)sign;
    token->made.alter = (enum jwt_alter)alter;
    return json_object_get(from.value, "text") == NULL ? 0 : json_at_string(&from, "text", NULL, &token->text, err);
}

static int read_request_step(struct contract *contract, const struct json_at *at, struct contract_step *step,
                             struct err *err)
{
    static const char *const keys[] = {"request", "method", "path",  "headers", "body",
                                       "token",   "answer", "times", "at_once", NULL};
    static const int64_t once = 1;
    static const int64_t none = 0;
    struct json_at root = json_at_root(at->doc);
    struct json_at requests = json_at_key(&root, "requests");
    const char *name;

    if (json_at_only(at, keys, err) != 0)
        return -1;
    if (json_object_get(at->value, "request") != NULL) {
        struct json_at named;

        if (json_at_string(at, "request", NULL, &name, err) != 0)
            return -1;
        named = json_at_key(&requests, name);
        if (named.value == NULL)
            return json_at_error(at, err, "there is no request \"%s\" under \"requests\"", name);
        if (read_request(contract, &named, &step->request, err) != 0)
            return -1;
    }
    if (read_request(contract, at, &step->request, err) != 0 || read_token(at, &step->token, err) != 0 ||
        json_at_int(at, "times", &once, 1, 1000, &step->times, err) != 0 ||
        json_at_int(at, "at_once", &none, 0, 1000, &step->at_once, err) != 0)
        return -1;
    return step->at_once > 0 ? 0 : read_answer(contract, at, &step->answer, err);
}

static int read_query_step(struct contract *contract, const struct json_at *at, struct contract_step *step,
                           struct err *err)
{
    static const char *const keys[] = {"query", "equals", "at_most_pool", NULL};
    static const char *const content_keys[] = {"json", "sql", NULL};
    static const bool no = false;
    struct json_at equals = json_at_key(at, "equals");

    if (json_at_only(at, keys, err) != 0 || json_at_string(at, "query", NULL, &step->sql, err) != 0 ||
        json_at_bool(at, "at_most_pool", &no, &step->at_most_pool, err) != 0)
        return -1;
    if (equals.value != NULL &&
        (json_at_only(&equals, content_keys, err) != 0 ||
         read_content(contract, &equals, &step->equals_kind, &step->equals, &step->equals_len, err) != 0))
        return -1;
    if ((step->equals_kind != CONTRACT_NOTHING) == step->at_most_pool)
        return json_at_error(at, err, "a query needs \"equals\" (with json or sql) or \"at_most_pool\"");
    return 0;
}

static int read_step(struct contract *contract, const struct json_at *at, struct contract_step *step, struct err *err)
{
    static const char *const execute_keys[] = {"execute", NULL};

    if (json_at_object(at, err) != 0)
        return -1;
    if (json_object_get(at->value, "execute") != NULL) {
        step->kind = STEP_EXECUTE;
        return json_at_only(at, execute_keys, err) != 0 ? -1 : json_at_string(at, "execute", NULL, &step->sql, err);
    }
    if (json_object_get(at->value, "query") != NULL) {
        step->kind = STEP_QUERY;
        return read_query_step(contract, at, step, err);
    }
    step->kind = STEP_REQUEST;
    return read_request_step(contract, at, step, err);
}

static bool step_uses_database(const struct contract_step *step)
{
    return step->kind != STEP_REQUEST || step->request.path_is_sql || step->request.body_kind == CONTRACT_SQL ||
           step->answer.kind == CONTRACT_SQL;
}

static int read_case(struct contract *contract, const struct json_at *at, struct contract_case *one, struct err *err)
{
    static const char *const keys[] = {"name", "note", "otherwise", "jwt_only", "unchanged", "steps", NULL};
    static const bool no = false;
    struct json_at steps;

    if (json_at_only(at, keys, err) != 0 || json_at_string(at, "name", NULL, &one->name, err) != 0 ||
        json_at_bool(at, "jwt_only", &no, &one->jwt_only, err) != 0 ||
        json_at_bool(at, "unchanged", &no, &one->unchanged, err) != 0 ||
        json_at_string(at, "otherwise", "", &one->otherwise, err) != 0)
        return -1;
    /* A '#' begins a directive in TAP. */
    if (!text_is_title(one->name) || strchr(one->name, '#') != NULL)
        return json_at_error(at, err, "a case's name must be one line of valid UTF-8 without '#'");
    steps = json_at_key(at, "steps");
    if (json_at_array(&steps, &one->step_count, err) != 0)
        return -1;
    one->steps = keep(contract, text_alloc((one->step_count + 1) * sizeof *one->steps));
    one->uses_database = one->unchanged;
    for (size_t i = 0; i < one->step_count; i++) {
        struct json_at step = json_at_index(&steps, i);

        if (read_step(contract, &step, &one->steps[i], err) != 0)
            return -1;
        one->uses_database |= step_uses_database(&one->steps[i]);
    }
    return 0;
}

static int read_statements(struct contract *contract, const struct json_at *at, const char *key, const char ***list,
                           struct err *err)
{
    size_t count;

    if (json_at_strings(at, key, list, &count, err) != 0)
        return -1;
    *list = text_realloc(*list, count + 1, sizeof **list);
    (*list)[count] = NULL;
    (void)keep(contract, *list);
    return 0;
}

static int read_cases(struct contract *contract, const struct json_at *at, struct err *err)
{
    struct json_at cases = json_at_key(at, "cases");

    if (json_at_array(&cases, &contract->case_count, err) != 0)
        return -1;
    contract->cases = keep(contract, text_alloc((contract->case_count + 1) * sizeof *contract->cases));
    for (size_t i = 0; i < contract->case_count; i++) {
        struct json_at one = json_at_index(&cases, i);

        if (read_case(contract, &one, &contract->cases[i], err) != 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (strcmp(contract->cases[k].name, contract->cases[i].name) == 0)
                return json_at_error(&one, err, "two cases have the name \"%s\"", contract->cases[i].name);
    }
    return 0;
}

static int read_all(struct contract *contract, const struct json_at *at, struct err *err)
{
    static const char *const keys[] = {"$schema", "format", "note",        "timeout",  "prepare", "restore",
                                       "finish",  "state",  "fingerprint", "requests", "cases",   NULL};
    struct json_at timeout = json_at_key(at, "timeout");
    const char *text;
    int64_t format;

    if (json_at_only(at, keys, err) != 0 || json_at_int(at, "format", NULL, 1, 1, &format, err) != 0 ||
        json_at_string(at, "timeout", "10s", &text, err) != 0 ||
        json_at_string(at, "state", "", &contract->state, err) != 0 ||
        json_at_string(at, "fingerprint", "", &contract->fingerprint, err) != 0 ||
        read_statements(contract, at, "prepare", &contract->prepare, err) != 0 ||
        read_statements(contract, at, "restore", &contract->restore, err) != 0 ||
        read_statements(contract, at, "finish", &contract->finish, err) != 0)
        return -1;
    if (text_parse_duration(text, &contract->timeout_ns) != 0 || contract->timeout_ns <= 0)
        return json_at_error(&timeout, err, "\"timeout\" must be a duration such as 10s");
    return read_cases(contract, at, err);
}

int contract_load(const char *path, struct contract *contract, struct err *err)
{
    struct json_at root;

    *contract = (struct contract){0};
    if (json_doc_load(path, &contract->doc, err) != 0)
        return -1;
    root = json_at_root(&contract->doc);
    if (read_all(contract, &root, err) == 0)
        return 0;
    contract_free(contract);
    return -1;
}

void contract_free(struct contract *contract)
{
    for (size_t i = 0; i < contract->owned_count; i++)
        free(contract->owned[i]);
    free(contract->owned);
    json_doc_free(&contract->doc);
    *contract = (struct contract){0};
}
