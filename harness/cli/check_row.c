#include "cli/check_row.h"

#include <stdlib.h>
#include <string.h>

#include "base/fsx.h"
#include "base/text.h"
#include "machine/place.h"
#include "target/build.h"
#include "target/peers.h"
#include "target/server.h"

struct checked {
    const struct check_row_env *env;
    const struct row *row;
    struct server server;
    size_t failed;
    struct peers peers;
};

static void line(struct checked *checked, bool ok, const char *name, const char *skipped, const char *detail)
{
    char *full = checked->env->prefix ? text_format("%s: %s", checked->row->id, name) : text_dup(name);

    checked->failed += !ok;
    tap_line(checked->env->tap, ok, full, skipped, detail);
    free(full);
}

static void on_result(void *user, const struct contract_result *result)
{
    struct checked *checked = user;

    line(checked, result->ok, result->name, result->skipped, result->detail);
    peers_look(&checked->peers);
}

static int start(struct checked *checked, struct err *err)
{
    char *name = text_dup(checked->row->id);
    char *log_path;
    struct server_spec spec;
    int result;

    for (char *colon = name; (colon = strchr(colon, ':')) != NULL;)
        *colon = '-';
    log_path = text_format("%s/logs/check-%s.log", checked->env->state_dir, name);
    spec = (struct server_spec){
        .row = checked->row,
        .log_path = log_path,
        .database_url = checked->env->database != NULL ? checked->env->database->url : NULL,
        .jwt_secret = checked->env->secret,
        .pool = checked->env->pool,
        .place = checked->env->place,
    };
    result = server_start(&spec, &checked->server, err);
    free(log_path);
    free(name);
    return result;
}

static int check_started(struct checked *checked, struct err *err)
{
    const struct check_row_env *env = checked->env;
    struct contract_env contract_env = {
        .base_url = checked->server.url, .secret = env->secret, .database = env->database, .pool = env->pool};
    struct err stranger = {0};
    char how[256] = "";
    bool alone;
    size_t failed;
    int result = contract_run(env->contract, &contract_env, on_result, checked, &failed, err);

    alone = peers_check(&checked->peers, &stranger) == 0;
    line(checked, alone, "its answers are made by its own processes", NULL, stranger.text);
    if (!server_is_alive(&checked->server, how, sizeof how))
        line(checked, false, "it still runs after all that", NULL, how);
    if (checked->failed > 0) {
        char *log = text_format("log: %s", checked->server.log_path);

        tap_comment(log);
        free(log);
    }
    return result;
}

static int begin(struct checked *checked)
{
    const struct check_row_env *env = checked->env;
    struct err why = {0};

    if (env->database == NULL || env->database->ops->server_begin == NULL ||
        env->database->ops->server_begin(env->database, &why) == 0)
        return 0;
    line(checked, false, "the database is ready for it", NULL, why.text);
    return -1;
}

int check_row(const struct check_row_env *env, struct row *row, struct err *err)
{
    struct checked checked = {.env = env, .row = row};

    char *logs = text_format("%s/logs", env->state_dir);
    struct err why = {0};
    bool built;
    int result = 0;

    checked.peers = (struct peers){.server = &checked.server, .database = env->database};
    if (row->state == ROW_SKIPPED) {
        line(&checked, true, "it can be run here", row->reason, NULL);
    } else if (fsx_mkdirs(logs, 0755, err) != 0) {
        result = -1;
    } else if (!row_is_observed(row) && build_row(row, env->state_dir, &env->machine->allowed, &built, &why) != 0) {
        line(&checked, false, "it builds", NULL, why.text);
    } else if (begin(&checked) == 0) {
        bool started = start(&checked, &why) == 0;

        line(&checked, started, "it starts, and the listener is its own", NULL, why.text);
        if (started) {
            result = check_started(&checked, err);
            err_clear(&why);
            if (server_stop(&checked.server, &why) != 0)
                line(&checked, false, "it stops, and its port is free", NULL, why.text);
            else
                line(&checked, true, "it stops, and its port is free", NULL, NULL);
        }
    }
    free(logs);
    return result;
}
