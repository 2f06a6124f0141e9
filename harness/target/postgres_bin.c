#include "target/postgres_bin.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/text.h"
#include "machine/child.h"

#define VERSION_LIMIT_NS (20 * CLOCK_NS_PER_S)

void postgres_bin_free(struct postgres_bin *bin)
{
    free(bin->dir);
    free(bin->version);
    *bin = (struct postgres_bin){0};
}

char *postgres_bin_program(const struct postgres_bin *bin, const char *name)
{
    char *path = fsx_join(bin->dir, name);

    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

char *postgres_bin_parse_version(const char *line, int *major)
{
    const char *word = strstr(line, "(PostgreSQL) ");
    size_t len;
    size_t digits;

    if (word == NULL)
        return NULL;
    word += strlen("(PostgreSQL) ");
    digits = strspn(word, "0123456789");
    len = strcspn(word, " \n");
    if (digits == 0 || digits > 3 || len > 40)
        return NULL;
    *major = atoi(word);
    return text_dup_n(word, len);
}

/* What `program argument` prints, the caller's; NULL when it cannot be run. */
static char *output_of(const char *program, const char *argument)
{
    struct env env = {0};
    const char *argv[] = {program, argument, NULL};
    struct child_spec spec = {.argv = argv, .env = &env, .out = {.kind = CHILD_CAPTURE}};
    struct child_result result = {0};
    struct err ignored = {0};
    char *out = NULL;

    env_basic(&env);
    if (child_run(&spec, VERSION_LIMIT_NS, &result, &ignored) == 0) {
        out = result.out;
        result.out = NULL;
    }
    child_result_free(&result);
    env_free(&env);
    return out;
}

struct search {
    int wanted;
    struct postgres_bin best;
    struct text seen; /* for the message when there is none */
};

static void consider(struct search *search, const char *dir)
{
    struct postgres_bin bin = {.dir = realpath(dir, NULL)};
    char *server = bin.dir != NULL ? postgres_bin_program(&bin, "postgres") : NULL;
    char *initdb = bin.dir != NULL ? postgres_bin_program(&bin, "initdb") : NULL;
    char *line = NULL;

    /* Folders come newest first, and the same one may come again by another name. */
    if (server != NULL && initdb != NULL && !(search->best.dir != NULL && strcmp(search->best.dir, bin.dir) == 0))
        line = output_of(server, "--version");
    if (line != NULL)
        bin.version = postgres_bin_parse_version(line, &bin.major);
    free(line);
    free(server);
    free(initdb);
    if (bin.version != NULL)
        text_addf(&search->seen, "%s%s in %s", search->seen.len > 0 ? ", " : "; found ", bin.version, bin.dir);
    if (bin.version == NULL || bin.major < POSTGRES_OLDEST || bin.major > POSTGRES_NEWEST ||
        (search->wanted != 0 && bin.major != search->wanted) || bin.major <= search->best.major) {
        postgres_bin_free(&bin);
        return;
    }
    postgres_bin_free(&search->best);
    search->best = bin;
}

static void consider_path(struct search *search)
{
    const char *at = getenv("PATH");

    while (at != NULL && *at != '\0') {
        size_t len = strcspn(at, ":");
        char *dir = text_dup_n(at, len);

        if (dir[0] == '/')
            consider(search, dir);
        free(dir);
        at += len + (at[len] == ':');
    }
}

static void consider_folders(struct search *search)
{
    static const char *const patterns[] = {"/usr/lib/postgresql/*/bin", "/usr/lib64/pgsql*/bin", "/usr/pgsql-*/bin",
                                           "/usr/local/pgsql*/bin", "/usr/libexec/postgresql*"};

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        glob_t found;

        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = found.gl_pathc; k > 0; k--)
            consider(search, found.gl_pathv[k - 1]);
        globfree(&found);
    }
}

static void consider_pg_config(struct search *search)
{
    char *program = fsx_find_program("pg_config", getenv("PATH"));
    char *line = program != NULL ? output_of(program, "--bindir") : NULL;

    if (line != NULL) {
        line[strcspn(line, "\n")] = '\0';
        consider(search, line);
    }
    free(line);
    free(program);
}

int postgres_bin_find(int major, struct postgres_bin *bin, struct err *err)
{
    const char *given = getenv("RESTBENCH_PG_BIN");
    struct search search = {.wanted = major};
    char which[32] = "13 to 18";

    *bin = (struct postgres_bin){0};
    if (given != NULL && given[0] != '\0') {
        consider(&search, given);
    } else {
        consider_folders(&search);
        consider_path(&search);
        if (search.best.dir == NULL)
            consider_pg_config(&search);
    }
    *bin = search.best;
    if (bin->dir == NULL && major != 0)
        (void)snprintf(which, sizeof which, "%d", major);
    if (bin->dir == NULL && given != NULL && given[0] != '\0')
        (void)err_set(err, "RESTBENCH_PG_BIN=%s: no postgres and initdb of version %s there%s", given, which,
                      text_string(&search.seen));
    else if (bin->dir == NULL)
        (void)err_set(err,
                      "no PostgreSQL server of version %s found in PATH or /usr/lib/postgresql%s; install one "
                      "(Debian: postgresql) or name its folder in RESTBENCH_PG_BIN",
                      which, text_string(&search.seen));
    text_free(&search.seen);
    return bin->dir != NULL ? 0 : -1;
}
