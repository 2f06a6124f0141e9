#include "target/ceiling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/text.h"
#include "machine/child.h"
#include "target/postgres_bin.h"
#include "target/pq.h"
#include "target/sql_file.h"

#define VALUES_LIMIT_NS (30 * CLOCK_NS_PER_S)
#define BEYOND_NS (60 * CLOCK_NS_PER_S) /* to connect and to end, on top of the seconds asked for */
#define VARIABLES_MOST 32

char *ceiling_find_pgbench(char **version, struct err *err)
{
    struct postgres_bin bin;
    char *program;

    if (postgres_bin_find(0, &bin, err) != 0)
        return NULL;
    program = postgres_bin_program(&bin, "pgbench");
    if (program == NULL)
        (void)err_set(err, "%s: no pgbench there; install PostgreSQL's client programs (Debian: postgresql-contrib)",
                      bin.dir);
    else
        *version = text_dup(bin.version);
    postgres_bin_free(&bin);
    return program;
}

/* The number behind `label` in the last line that has it; NAN: none. */
static double figure(const char *text, const char *label)
{
    double value = NAN;

    for (const char *at = strstr(text, label); at != NULL; at = strstr(at + 1, label)) {
        const char *number = at + strlen(label);
        double parsed;

        if (text_parse_double_n(number, strspn(number, "0123456789."), &parsed) == 0)
            value = parsed;
    }
    return value;
}

int ceiling_parse(const char *text, struct ceiling_result *result)
{
    *result = (struct ceiling_result){
        .transactions = figure(text, "number of transactions actually processed: "),
        /* Version 13 prints two of them; the last one is without the time to connect. */
        .transactions_per_s = figure(text, "tps = "),
        .latency_mean_ms = figure(text, "latency average = "),
        .failed = figure(text, "number of failed transactions: "),
    };
    return isnan(result->transactions_per_s) || isnan(result->transactions) ? -1 : 0;
}

/* -D NAME=VALUE for each column of the values' only row. */
struct variables {
    char *items[VARIABLES_MOST];
    int count;
};

static void variables_free(struct variables *variables)
{
    for (int i = 0; i < variables->count; i++)
        free(variables->items[i]);
    variables->count = 0;
}

static int read_values(const struct ceiling_job *job, const struct pq_address *address, struct variables *variables,
                       struct err *err)
{
    char *path = text_format("%.*s.values.sql", (int)(strlen(job->script) - strlen(".sql")), job->script);
    struct sql_file file = {0};
    PGresult *rows = NULL;
    struct pq pq = {0};
    int result = 0;

    if (!fsx_exists(path)) {
        free(path);
        return 0;
    }
    if (sql_file_load(path, &file, err) != 0 || pq_open(address, NULL, "ceiling", &pq, err) != 0 ||
        pq_query(&pq, VALUES_LIMIT_NS, file.statements[0].text, 0, NULL, &rows, err) != 0)
        result = err_prefix(err, "%s", path);
    else if (PQntuples(rows) != 1 || PQnfields(rows) > VARIABLES_MOST)
        result = err_set(err, "%s: one row of at most %d columns is needed, there are %d of %d", path, VARIABLES_MOST,
                         PQntuples(rows), PQnfields(rows));
    for (int i = 0; result == 0 && i < PQnfields(rows); i++)
        variables->items[variables->count++] = text_format("%s=%s", PQfname(rows, i), PQgetvalue(rows, 0, i));
    PQclear(rows);
    pq_close(&pq);
    sql_file_free(&file);
    free(path);
    return result;
}

/* In libpq's form, where ':' and '\' are escaped. */
static int write_password(const char *path, const char *password, struct err *err)
{
    struct text line = {0};
    int result;

    text_add(&line, "*:*:*:*:");
    for (; *password != '\0'; password++) {
        if (*password == ':' || *password == '\\')
            text_add_char(&line, '\\');
        text_add_char(&line, *password);
    }
    text_add_char(&line, '\n');
    (void)unlink(path); /* of one that was killed */
    result = fsx_write_new(path, text_string(&line), line.len, 0600, err);
    text_free(&line);
    return result;
}

static int run_pgbench(const struct ceiling_job *job, struct pq_address *address, const struct variables *variables,
                       const char *password_file, struct text *output, struct err *err)
{
    char *clients = text_format("%lld", (long long)job->clients);
    char *threads = text_format("%lld", (long long)(job->threads < job->clients ? job->threads : job->clients));
    char *seconds = text_format("%.0f", ceil(job->seconds));
    char *password = address->password;
    const char *argv[32 + 2 * VARIABLES_MOST] = {job->program, "-n",    "-M", "prepared", "-c", clients,
                                                 "-j",         threads, "-T", seconds,    "-f", job->script};
    int count = 12;
    char *url;
    struct env env = {0};
    struct child_spec spec = {.argv = argv,
                              .env = &env,
                              .out = {.kind = CHILD_CAPTURE},
                              .err = {.kind = CHILD_CAPTURE},
                              .death_signal = SIGKILL};
    struct child_result result = {0};
    int status;

    address->password = NULL; /* every user of the machine can read a command line */
    url = pq_address_url(address);
    address->password = password;
    for (int i = 0; i < variables->count; i++) {
        argv[count++] = "-D";
        argv[count++] = variables->items[i];
    }
    argv[count] = url;
    env_basic(&env);
    env_set(&env, "PGPASSFILE", password_file);
    status = child_run(&spec, (int64_t)(job->seconds * CLOCK_NS_PER_S) + BEYOND_NS, &result, err);
    if (result.out != NULL)
        text_add(output, result.out);
    child_result_free(&result);
    env_free(&env);
    free(url);
    free(clients);
    free(threads);
    free(seconds);
    return status;
}

int ceiling_run(const struct ceiling_job *job, struct ceiling_result *result, struct err *err)
{
    char *password_file = fsx_join(job->work_dir, "ceiling.pgpass");
    struct variables variables = {0};
    struct pq_address address = {0};
    struct text output = {0};
    int status = pq_address_parse(job->database->url, &address, err);

    if (status == 0)
        status = read_values(job, &address, &variables, err);
    if (status == 0)
        status = write_password(password_file, address.password != NULL ? address.password : "", err);
    if (status == 0)
        status = run_pgbench(job, &address, &variables, password_file, &output, err);
    (void)unlink(password_file);
    if (status == 0 && ceiling_parse(text_string(&output), result) != 0)
        status = err_fail(err, "%s: pgbench reported no rate", job->script);
    text_free(&output);
    variables_free(&variables);
    pq_address_free(&address);
    free(password_file);
    return status;
}
