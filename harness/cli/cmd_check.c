/* restbench check - the contract of a study against its servers, or against one that runs already. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/home.h"
#include "base/log.h"
#include "base/text.h"
#include "machine/place.h"
#include "cli/check_row.h"
#include "cli/commands.h"
#include "study/config_database.h"
#include "target/probe.h"

struct check_args {
    const char *config;
    const char *contract;
    const char *database;
    const char *security;
    const char *servers_dir;
    const char *state;
    const char *url;
    int64_t pool;
};

static const struct opt check_opts[] = {
    {0, "security", "MODE", OPT_STRING, offsetof(struct check_args, security),
     "none or jwt (default: what the study says)"},
    {0, "url", "URL", OPT_STRING, offsetof(struct check_args, url),
     "check the server that answers at URL; nothing is built or started.\n"
     "With --security jwt its secret is read from the variable JWT_SECRET"},
    {0, "database", "URL", OPT_STRING, offsetof(struct check_args, database),
     "PostgreSQL that already runs (default: the private one);\n"
     "with --url: the one that the server uses, else what needs it is skipped"},
    {0, "config", "FILE", OPT_STRING, offsetof(struct check_args, config), "the study (default: config/study.json)"},
    {0, "contract", "FILE", OPT_STRING, offsetof(struct check_args, contract), "the cases (default: the study's)"},
    {0, "pool", "N", OPT_COUNT, offsetof(struct check_args, pool),
     "connections to the database that a server may open (default: the study's)"},
    {0, "servers-dir", "DIR", OPT_STRING, offsetof(struct check_args, servers_dir),
     "folder with one folder a server (default: servers/ of the study)"},
    {0, "state", "DIR", OPT_STRING, offsetof(struct check_args, state), "where builds, logs and the database are"},
    {0},
};

/* What all checks of a command share. */
struct check {
    const struct check_args *args;
    char *state_dir;
    struct study study;
    struct contract contract;
    struct database *database;
    char *secret;
    struct tap tap;
};

static int read_security(const char *security, struct study *study, struct err *err)
{
    if (security == NULL)
        return 0;
    study->jwt = strcmp(security, "jwt") == 0;
    if (!study->jwt && strcmp(security, "none") != 0)
        return err_set(err, "--security %s: there is \"none\" and \"jwt\"", security);
    return 0;
}

static int load(struct check *check, struct err *err)
{
    const struct check_args *args = check->args;
    char *path = args->config != NULL ? text_dup(args->config) : home_file("config/study.json", err);
    const char *contract;
    int result = -1;

    if (path == NULL || config_load(path, &check->study, err) != 0)
        goto done;
    contract = args->contract != NULL ? args->contract : check->study.contract_path;
    if (contract == NULL)
        (void)err_set(err, "%s names no \"contract\"; give one with --contract FILE", path);
    else if (read_security(args->security, &check->study, err) == 0)
        result = contract_load(contract, &check->contract, err);
    if (args->pool > 0)
        check->study.pool = args->pool;
done:
    free(path);
    return result;
}

static int open_database(struct check *check, struct err *err)
{
    struct database_spec spec = config_database_spec(&check->study, check->args->database, check->state_dir);

    if (!check->study.has_database)
        return 0;
    if (database_open(&spec, &check->database, err) != 0)
        return -1;
    return check->database->ops->prepare(check->database, err);
}

static void on_result(void *user, const struct contract_result *result)
{
    tap_line(user, result->ok, result->name, result->skipped, result->detail);
}

/* Nobody there is a mistake of the caller, not a failed contract: it is said before the first line of TAP. */
static int check_reachable(const char *url, struct err *err)
{
    struct probe_request request = {.path = "/"};
    struct probe_answer answer;
    struct probe *probe;
    struct err cause = {0};

    if (probe_open(url, 5000000000, &probe, err) != 0)
        return -1;
    if (probe_request(probe, &request, &answer, &cause) == 0)
        probe_answer_free(&answer);
    probe_close(probe);
    return cause.kind == ERR_CANNOT ? err_set(err, "--url %s", cause.text) : 0;
}

static int check_url(struct check *check, struct err *err)
{
    const char *secret = getenv("JWT_SECRET");
    struct contract_env env = {.base_url = check->args->url, .pool = check->study.pool};
    size_t failed;

    if (check->study.jwt && (secret == NULL || *secret == '\0'))
        return err_set(err, "--security jwt with --url: set JWT_SECRET to the secret of that server");
    if (check_reachable(check->args->url, err) != 0 ||
        (check->args->database != NULL && open_database(check, err) != 0))
        return -1;
    env.secret = check->study.jwt ? secret : NULL;
    env.database = check->database;
    tap_begin();
    if (contract_run(&check->contract, &env, on_result, &check->tap, &failed, err) != 0)
        return -1;
    tap_end(&check->tap);
    return 0;
}

/* Several patterns are alternatives. */
static int filter(struct rows *rows, int count, char **patterns, struct err *err)
{
    struct text all = {0};
    int result;

    if (count == 0)
        return 0;
    for (int i = 0; i < count; i++)
        text_addf(&all, count == 1 ? "%s" : "%s(?:%s)", i > 0 ? "|" : "", patterns[i]);
    result = rows_filter(rows, "check", count == 1 ? patterns[0] : text_string(&all), err);
    text_free(&all);
    return result;
}

static int check_rows(struct check *check, int count, char **patterns, struct err *err)
{
    struct machine machine;
    struct place place;
    struct check_row_env env = {.contract = &check->contract,
                                .pool = check->study.pool,
                                .machine = &machine,
                                .place = &place,
                                .state_dir = check->state_dir,
                                .tap = &check->tap};
    const char *dir = check->args->servers_dir;
    struct rows rows = {0};
    struct err ending = {0};
    int result = -1;

    if (machine_open("none", &machine, err) != 0)
        return -1;
    place_open(&machine, "server", false, NULL, &place);
    if (rows_load_all(dir != NULL ? dir : check->study.servers_dir, &rows, err) != 0 ||
        filter(&rows, count, patterns, err) != 0 || open_database(check, err) != 0 ||
        (check->study.jwt && jwt_random_secret(&check->secret, err) != 0))
        goto done;
    rows_resolve(&rows);
    env.database = check->database;
    env.secret = check->secret;
    env.prefix = rows.count > 1;
    tap_begin();
    result = 0;
    for (size_t i = 0; result == 0 && i < rows.count; i++)
        result = check_row(&env, &rows.items[i], err);
    if (result == 0)
        tap_end(&check->tap);
    if (result == 0 && check->tap.skipped == check->tap.count)
        result = err_fail(err, "check: no server was checked: each lacks what stands behind its SKIP");
done:
    rows_free(&rows);
    if (place_close(&place, &ending) != 0)
        log_error("%s", ending.text);
    machine_close(&machine);
    return result;
}

static int run_check(const struct check_args *args, int count, char **patterns, struct err *err)
{
    struct check check = {.args = args, .state_dir = home_state(args->state, err)};
    int result = -1;

    if (args->url != NULL && count > 0)
        (void)err_set(err, "check: give --url or names of servers, not both");
    else if (check.state_dir != NULL && load(&check, err) == 0)
        result = args->url != NULL ? check_url(&check, err) : check_rows(&check, count, patterns, err);
    database_close(check.database);
    contract_free(&check.contract);
    config_free(&check.study);
    free(check.secret);
    free(check.state_dir);
    if (result == 0 && check.tap.failed > 0)
        return 1;
    return result == 0 ? 0 : opts_exit(err);
}

static int main_check(int argc, char **argv)
{
    struct check_args args = {0};
    struct err err = {0};
    int operands;

    switch (opts_parse(&cmd_check, &args, argc, argv, &operands, &err)) {
    case OPTS_HELP:
        return 0;
    case OPTS_BAD:
        return opts_exit(&err);
    case OPTS_OK:
        break;
    }
    return run_check(&args, operands, argv + 1, &err);
}

const struct command cmd_check = {
    .name = "check",
    .summary = "does each server do what the contract says? prints TAP",
    .usage = "[OPTIONS] [PATTERN...]",
    .description =
        "Builds and starts each server whose name or title a PATTERN matches (all of them without one) and runs the\n"
        "contract's cases against it: right answers compared as values with what PostgreSQL returns, refused\n"
        "requests, changed rows read back, inserted rows read from the table, connections kept alive, tokens.\n"
        "A PATTERN is a PCRE2 expression for the whole name, in any case. The table is left as it was found.\n"
        "Exit status: 0 all well (also with servers that are skipped), 1 a case failed, 2 it could not run.",
    .opts = check_opts,
    .main = main_check,
};
