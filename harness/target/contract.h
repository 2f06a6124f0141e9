/*
 * contract - what a test server must do, as data (format 1, harness/schema/contract.schema.json), and the run of it.
 *
 * Nouns: a case (one sentence that is true or not: a line of TAP) of steps: a request whose answer is compared as
 * values with JSON or with what PostgreSQL returns; a statement that changes the table; a query whose result must be
 * this. Queries, paths and bodies stand in the file; no test, table or server is known here by name.
 *
 *   1. contract_load()
 *   2. contract_run() against a server that runs: emit() is called once per case, in order
 *   3. contract_free()
 *
 * A case that changed the table, or failed, is followed by the file's "restore" statements, so that each starts from
 * the same rows and the last leaves the table as it was found; that is the last case ("fingerprint").
 */
#ifndef TARGET_CONTRACT_H
#define TARGET_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "target/jwt.h"

struct database;

/* A request's body, or what an answer must be. */
enum contract_content {
    CONTRACT_NOTHING,
    CONTRACT_TEXT, /* these bytes */
    CONTRACT_JSON, /* this value */
    CONTRACT_SQL,  /* the single value of this query */
};

struct contract_request {
    const char *method;
    const char *path; /* a path, or with path_is_sql a query for it */
    bool path_is_sql;
    const char **headers; /* "Name: value", NULL-terminated, without the token's; NULL: none */
    enum contract_content body_kind;
    const char *body;
    size_t body_len;
};

/* The Authorization header in JWT mode. */
struct contract_token {
    bool absent;
    const char *scheme; /* "Bearer" */
    const char *text;   /* this instead of a made token; NULL: made */
    struct jwt_token made;
};

struct contract_answer {
    int status_least;
    int status_most;
    enum contract_content kind;
    const char *text;
    size_t text_len;
    bool reused;  /* must come over the same connection as the answer before */
    bool no_body; /* must have none */
};

enum contract_step_kind {
    STEP_REQUEST,
    STEP_EXECUTE, /* a statement */
    STEP_QUERY,   /* its value must equal json or sql, or be at most the pool */
};

struct contract_step {
    enum contract_step_kind kind;
    struct contract_request request;
    struct contract_token token;
    struct contract_answer answer;
    int64_t times;   /* one after the other */
    int64_t at_once; /* not 0: as many at once, whose answers are not looked at */
    const char *sql;
    enum contract_content equals_kind;
    const char *equals;
    size_t equals_len;
    bool at_most_pool;
};

struct contract_case {
    const char *name;
    bool jwt_only;
    const char *otherwise; /* what it means when an answer is not the expected one; "" */
    bool unchanged;        /* the "state" query gives the same before and after */
    bool uses_database;
    struct contract_step *steps;
    size_t step_count;
};

struct contract {
    struct json_doc doc;
    void **owned; /* what was made while loading; other strings are the document's */
    size_t owned_count;
    int64_t timeout_ns;
    const char **prepare; /* statements, NULL-terminated */
    const char **restore;
    const char **finish;
    const char *state;
    const char *fingerprint;
    struct contract_case *cases;
    size_t case_count;
};

/* Where and how it is run; all borrowed. */
struct contract_env {
    const char *base_url;
    const char *secret;        /* NULL: no security */
    struct database *database; /* NULL: cases that need one are skipped */
    int64_t pool;              /* connections that the server may open */
};

struct contract_result {
    const char *name;
    bool ok;
    const char *skipped; /* why it was not tried; then ok is true */
    const char *detail;  /* what was expected and what came; NULL when ok */
};

typedef void contract_emit(void *user, const struct contract_result *result);

int contract_load(const char *path, struct contract *contract, struct err *err);
void contract_free(struct contract *contract);

/* How many results a run will emit. */
size_t contract_count(const struct contract *contract, const struct contract_env *env);

/*
 * 0 when the run came to its end, whatever the results: *failed counts what was not ok. -1 when it could not run: the
 * database refused a statement of ours (the table may then differ, the error says so).
 */
int contract_run(const struct contract *contract, const struct contract_env *env, contract_emit *emit, void *user,
                 size_t *failed, struct err *err);

#endif
