#include "target/postgres_facts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/text.h"

#define LIMIT_NS (10 * CLOCK_NS_PER_S)

static const char settings_sql[] =
    "SELECT name, CASE WHEN unit IS NOT NULL THEN current_setting(name) ELSE setting END AS value FROM pg_settings"
    " WHERE (source NOT IN ('default', 'override', 'client', 'session') OR name IN ('fsync', 'synchronous_commit',"
    " 'full_page_writes', 'shared_buffers', 'max_connections', 'work_mem', 'effective_cache_size', 'max_wal_size',"
    " 'checkpoint_timeout', 'wal_level', 'autovacuum', 'jit', 'random_page_cost', 'default_transaction_isolation',"
    " 'dynamic_shared_memory_type', 'wal_sync_method', 'commit_delay', 'huge_pages', 'io_method',"
    " 'shared_preload_libraries', 'data_checksums', 'server_encoding'))"
    /* Where it lies is nobody's business, and our own session's settings are not the servers'. */
    " AND name NOT IN ('data_directory', 'config_file', 'hba_file', 'ident_file', 'external_pid_file', 'port',"
    " 'unix_socket_directories', 'application_name', 'client_encoding', 'lc_messages', 'statement_timeout',"
    " 'lock_timeout', 'TimeZone', 'DateStyle', 'extra_float_digits', 'client_min_messages',"
    " 'max_parallel_workers_per_gather', 'transaction_deferrable', 'transaction_isolation', 'transaction_read_only')"
    " ORDER BY name";

/* What a new session would get, where ours has set something else. */
static const char reset_sql[] = "SELECT name, reset_val AS value FROM pg_settings WHERE name IN ('TimeZone',"
                                " 'max_parallel_workers_per_gather') ORDER BY name";

static const char database_sql[] =
    "SELECT datcollate AS lc_collate, datctype AS lc_ctype, pg_encoding_to_char(encoding) AS encoding,"
    " current_setting('server_version') AS version FROM pg_database WHERE datname = $1";

static int add_settings(struct pq *pq, const char *sql, json_t *settings, struct err *err)
{
    PGresult *result;

    if (pq_query(pq, LIMIT_NS, sql, 0, NULL, &result, err) != 0)
        return -1;
    for (int i = 0; i < PQntuples(result); i++)
        json_put(settings, strcmp(PQgetvalue(result, i, 0), "TimeZone") == 0 ? "timezone" : PQgetvalue(result, i, 0),
                 json_string(PQgetvalue(result, i, 1)));
    PQclear(result);
    return 0;
}

int postgres_facts_session(const char *url, json_t *settings, struct err *err)
{
    static const char sql[] = "SELECT name, setting AS value FROM pg_settings WHERE name <> 'application_name'"
                              " AND source IN ('database', 'user', 'database user') ORDER BY name";
    struct pq_address address;
    struct pq pq;
    int result;

    if (pq_address_parse(url, &address, err) != 0)
        return -1;
    result = pq_open(&address, NULL, "settings", &pq, err);
    if (result == 0) {
        result = add_settings(&pq, sql, settings, err);
        pq_close(&pq);
    }
    pq_address_free(&address);
    return result;
}

json_t *postgres_facts(struct pq *pq, const char *database, struct err *err)
{
    static const char *const names[] = {"lc_collate", "lc_ctype", "server_encoding"};
    const char *params[] = {database};
    json_t *facts = json_object();
    json_t *settings = json_object();
    PGresult *result = NULL;
    int status = pq_query(pq, LIMIT_NS, database_sql, 1, params, &result, err);

    if (status == 0 && PQntuples(result) != 1)
        status = err_set(err, "PostgreSQL at %s: no database %s", pq->shown, database);
    if (status == 0)
        status = add_settings(pq, settings_sql, settings, err);
    if (status == 0)
        status = add_settings(pq, reset_sql, settings, err);
    for (int i = 0; i < 3 && status == 0; i++)
        json_put(settings, names[i], json_string(PQgetvalue(result, 0, i)));
    if (status == 0) {
        char *version = text_dup(PQgetvalue(result, 0, 3));

        version[strcspn(version, " ")] = '\0';
        json_put(facts, "version", json_string(version));
        free(version);
    }
    PQclear(result);
    json_put(facts, "settings", settings);
    if (status == 0)
        return facts;
    json_decref(facts);
    return NULL;
}

/* The parent in /proc/PID/stat: behind the last ')', which ends the name. */
static pid_t parent_of(int pid)
{
    char path[64];
    char text[512];
    const char *rest;
    int parent;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (fsx_read_small(path, text, sizeof text) <= 0 || (rest = strrchr(text, ')')) == NULL ||
        sscanf(rest + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

pid_t postgres_facts_postmaster(struct pq *pq)
{
    struct err ignored = {0};
    char path[64];
    char title[512];
    char mark[32];
    char *port = NULL;
    int pid = PQbackendPID(pq->conn);
    pid_t parent = 0;

    (void)pq_value(pq, LIMIT_NS, "SELECT inet_client_port()", 0, NULL, &port, &ignored);
    (void)snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    (void)snprintf(mark, sizeof mark, "(%s)", port != NULL && strcmp(port, "-1") != 0 ? port : "local");
    if (strcmp(mark, "(local)") == 0)
        (void)snprintf(mark, sizeof mark, "[local]");
    if (fsx_read_small(path, title, sizeof title) > 0 && strncmp(title, "postgres: ", strlen("postgres: ")) == 0 &&
        strstr(title, mark) != NULL)
        parent = parent_of(pid);
    free(port);
    return parent > 1 ? parent : 0;
}
