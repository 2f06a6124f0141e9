#include "target/postgres_cluster.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/log.h"
#include "base/text.h"
#include "target/postgres_process.h"

#define TEMPORARY "pg.new-"
#define INITDB_LIMIT_NS (300 * CLOCK_NS_PER_S)
#define ORPHAN_LIMIT_NS (5 * CLOCK_NS_PER_S)
#define STATEMENT_LIMIT_NS (30 * CLOCK_NS_PER_S)
#define PASSWORD_SIZE 33 /* 128 random bits as hexadecimal digits */

static int random_hex(char *hex, size_t bytes, struct err *err)
{
    unsigned char raw[16];

    if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
        return err_sys(err, "random numbers");
    for (size_t i = 0; i < bytes; i++)
        (void)sprintf(hex + 2 * i, "%02x", raw[i]);
    return 0;
}

/* Gives a file or folder to the user who runs the cluster. */
static int give(const struct postgres_cluster *cluster, const char *path, struct err *err)
{
    if (cluster->other_user && chown(path, cluster->user.uid, cluster->user.gid) != 0)
        return err_sys(err, "%s: cannot be given to user %s", path, cluster->user.name);
    return 0;
}

static int write_given(const struct postgres_cluster *cluster, const char *dir, const char *name, const char *text,
                       struct err *err)
{
    char *path = fsx_join(dir, name);
    int result = fsx_write_new(path, text, strlen(text), 0600, err);

    if (result == 0)
        result = give(cluster, path, err);
    free(path);
    return result;
}

/* initdb's last line says what it tidied up; the reason stands further up, and is PostgreSQL's own. */
static void initdb_reason(const char *output, struct err *err)
{
    static const char *const signs[] = {"FATAL:", "PANIC:", "could not", "error:"};
    struct text line = {0};

    for (size_t i = 0; output != NULL && i < sizeof signs / sizeof signs[0] && line.len == 0; i++) {
        const char *found = strstr(output, signs[i]);
        const char *begin = found;

        while (begin != NULL && begin > output && begin[-1] != '\n')
            begin--;
        if (found != NULL)
            text_add_visible(&line, begin, strcspn(begin, "\n"));
    }
    if (line.len > 0) {
        err_clear(err);
        (void)err_set(err, "initdb: %s", text_string(&line));
        pq_explain_shm(err);
    }
    text_free(&line);
}

static int run_initdb(const struct postgres_cluster *cluster, const char *dir, const char *password, struct err *err)
{
    struct postgres_way way;
    struct env env = {0};
    struct child_result result = {0};
    char *program = postgres_bin_program(&cluster->bin, "initdb");
    char *password_path = fsx_join(dir, "password");
    char *password_option;
    uid_t uid = cluster->other_user ? cluster->user.uid : geteuid();
    char *before;
    int status;

    if (postgres_way_open(cluster, dir, &way, err) != 0) {
        free(password_path);
        free(program);
        return -1;
    }
    password_option = text_format("--pwfile=%s/password", way.dir);
    /* Nothing of it may come from the caller's environment: the same cluster for everybody. */
    const char *argv[] = {program,
                          "--username=postgres",
                          "--auth=scram-sha-256",
                          "--locale=C.UTF-8",
                          "--encoding=UTF8",
                          password_option,
                          "-D",
                          way.data,
                          NULL};
    struct child_spec spec = {
        .argv = argv,
        .env = &env,
        .out = {.kind = CHILD_CAPTURE},
        .err = {.kind = CHILD_CAPTURE},
        .fds = &way.pass,
        .fd_count = way.fd >= 0 ? 1 : 0,
        .user = cluster->other_user ? &cluster->user : NULL,
        .death_signal = SIGTERM, /* then it tidies up, and its children end by themselves */
    };

    env_basic(&env);
    env_set(&env, "HOME", "/");
    env_set(&env, "TZ", "UTC");
    before = postgres_process_segments_of_user(uid);
    status = write_given(cluster, dir, "password", password, err);
    if (status == 0)
        status = child_run(&spec, INITDB_LIMIT_NS, &result, err);
    if (status != 0) {
        char *after = postgres_process_segments_of_user(uid);

        initdb_reason(result.err, err);
        postgres_process_remove_new_segments(before, after);
        free(after);
    }
    free(before);
    (void)unlink(password_path);
    child_result_free(&result);
    env_free(&env);
    free(password_option);
    free(password_path);
    free(program);
    postgres_way_close(&way);
    return status;
}

static int fill(const struct postgres_cluster *cluster, const char *dir, struct err *err)
{
    static const char *const roles[] = {"postgres", POSTGRES_OWNER, POSTGRES_SERVER};
    char password[3][PASSWORD_SIZE];
    struct text pgpass = {0};
    char *made = text_format("made by restbench with PostgreSQL %s\n", cluster->bin.version);
    int result = give(cluster, dir, err);

    for (size_t i = 0; i < 3 && result == 0; i++) {
        result = random_hex(password[i], (PASSWORD_SIZE - 1) / 2, err);
        text_addf(&pgpass, "*:*:*:%s:%s\n", roles[i], password[i]);
    }
    if (result == 0)
        result = run_initdb(cluster, dir, password[0], err);
    if (result == 0)
        result = write_given(cluster, dir, "pgpass", text_string(&pgpass), err);
    if (result == 0)
        result = write_given(cluster, dir, "made", made, err);
    text_free(&pgpass);
    free(made);
    return result;
}

int postgres_make(struct postgres_cluster *cluster, const char *state_dir, struct err *err)
{
    char name[sizeof TEMPORARY + 16] = TEMPORARY;
    char *temporary;
    struct err ignored = {0};
    int result = random_hex(name + strlen(TEMPORARY), 4, err);

    if (result != 0)
        return -1;
    log_detail("making a PostgreSQL %s cluster in %s", cluster->bin.version, cluster->dir);
    temporary = fsx_join(state_dir, name);
    if (mkdir(temporary, 0700) != 0)
        result = err_sys(err, "%s: cannot make the folder", temporary);
    if (result == 0)
        result = fill(cluster, temporary, err);
    if (result == 0 && rename(temporary, cluster->dir) != 0)
        result = err_sys(err, "%s: cannot take its place", temporary);
    if (result != 0)
        (void)fsx_remove_tree(temporary, &ignored);
    free(temporary);
    cluster->exists = result == 0;
    return result;
}

/* initdb may be removing it at the same time. */
static int remove_busy_tree(const char *path, struct err *err)
{
    int64_t deadline_ns = clock_mono_ns() + ORPHAN_LIMIT_NS;
    struct err busy = {0};

    while (fsx_remove_tree(path, &busy) != 0) {
        if (clock_mono_ns() >= deadline_ns)
            return err_set(err, "%s", busy.text);
        err_clear(&busy);
        clock_sleep_ns(50 * CLOCK_NS_PER_MS);
    }
    return 0;
}

int postgres_make_clean(const struct postgres_cluster *cluster, const char *state_dir, struct err *err)
{
    DIR *dir = opendir(state_dir);
    struct dirent *entry;
    int result = 0;

    (void)cluster;
    while (dir != NULL && result == 0 && (entry = readdir(dir)) != NULL) {
        char *path;
        char *data;

        if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) != 0)
            continue;
        path = fsx_join(state_dir, entry->d_name);
        data = fsx_join(path, "data");
        /* initdb's own child may have outlived it, and still write there; left alone it ends without a trace. */
        (void)postgres_process_wait_all(data, ORPHAN_LIMIT_NS);
        (void)postgres_process_kill_all(data, ORPHAN_LIMIT_NS);
        result = remove_busy_tree(path, err);
        free(data);
        free(path);
    }
    if (dir != NULL)
        (void)closedir(dir);
    return result;
}

/* The password that a line "*:*:*:ROLE:PASSWORD" gives, the caller's. */
static char *password_of(const char *pgpass, const char *role)
{
    char *prefix = text_format("*:*:*:%s:", role);
    const char *line = strstr(pgpass, prefix);
    char *password = NULL;

    if (line != NULL) {
        line += strlen(prefix);
        password = text_dup_n(line, strcspn(line, "\n"));
    }
    free(prefix);
    return password;
}

int postgres_make_addresses(struct postgres_cluster *cluster, struct err *err)
{
    const struct {
        struct pq_address *address;
        const char *role;
        const char *database;
    } all[] = {{&cluster->admin, "postgres", "postgres"},
               {&cluster->owner, POSTGRES_OWNER, POSTGRES_DATABASE},
               {&cluster->server, POSTGRES_SERVER, POSTGRES_DATABASE}};
    char *path = fsx_join(cluster->dir, "pgpass");
    char *pgpass = NULL;
    size_t len;
    int result = fsx_read(path, 4096, &pgpass, &len, err);

    for (size_t i = 0; i < 3 && result == 0; i++) {
        struct pq_address plain = {
            .host = (char *)"127.0.0.1", .user = (char *)all[i].role, .database = (char *)all[i].database};

        pq_address_free(all[i].address);
        pq_address_copy(&plain, all[i].address);
        all[i].address->port = text_format("%d", cluster->port);
        all[i].address->password = password_of(pgpass, all[i].role);
        if (all[i].address->password == NULL)
            result = err_set(err, "%s: no password of role %s in it", path, all[i].role);
    }
    free(pgpass);
    free(path);
    return result;
}

/* The password goes as its SCRAM verifier: a statement that fails is logged as it stands. */
static int make_role(struct pq *pq, const char *role, const char *password, struct err *err)
{
    const char *params[] = {role};
    char *verifier = PQencryptPasswordConn(pq->conn, password, role, "scram-sha-256");
    char *literal = verifier != NULL ? pq_literal(verifier) : NULL;
    char *there = NULL;
    char *sql = NULL;
    int result = literal != NULL ? 0 : err_set(err, "role %s: its password cannot be encrypted", role);

    if (result == 0)
        result = pq_value(pq, STATEMENT_LIMIT_NS, "SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $1", 1, params,
                          &there, err);
    if (result == 0) {
        sql =
            text_format("%s ROLE %s LOGIN NOSUPERUSER PASSWORD %s", there != NULL ? "ALTER" : "CREATE", role, literal);
        result = pq_run(pq, STATEMENT_LIMIT_NS, sql, err);
    }
    free(sql);
    free(there);
    free(literal);
    PQfreemem(verifier);
    return result;
}

int postgres_make_roles(const struct postgres_cluster *cluster, struct err *err)
{
    struct pq pq;
    char *there = NULL;
    int result;

    if (pq_open(&cluster->admin, NULL, "setup", &pq, err) != 0)
        return -1;
    result = make_role(&pq, POSTGRES_OWNER, cluster->owner.password, err);
    if (result == 0)
        result = make_role(&pq, POSTGRES_SERVER, cluster->server.password, err);
    if (result == 0)
        result = pq_run(&pq, STATEMENT_LIMIT_NS, "GRANT " POSTGRES_OWNER " TO " POSTGRES_SERVER, err);
    if (result == 0)
        result = pq_value(&pq, STATEMENT_LIMIT_NS,
                          "SELECT 1 FROM pg_catalog.pg_database WHERE datname = '" POSTGRES_DATABASE "'", 0, NULL,
                          &there, err);
    if (result == 0 && there == NULL)
        result = pq_run(&pq, STATEMENT_LIMIT_NS, "CREATE DATABASE " POSTGRES_DATABASE " OWNER " POSTGRES_OWNER, err);
    free(there);
    pq_close(&pq);
    return result;
}
