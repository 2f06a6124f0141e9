#include "study/duel_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fsx.h"
#include "base/json.h"
#include "base/tarball.h"
#include "base/text.h"
#include "machine/child.h"

static const int64_t git_patience_ns = 60 * CLOCK_NS_PER_S;

/* Runs git in a folder; `*out` (the caller's) is its output without the last newline. */
static int git(const char *dir, const char *const *args, char **out, struct err *err)
{
    const char *argv[16] = {"git"};
    struct env env = {0};
    struct child_spec spec = {
        .argv = argv, .env = &env, .out = {.kind = CHILD_CAPTURE}, .err = {.kind = CHILD_CAPTURE}};
    struct child_result result = {0};
    size_t n = 1;
    int status;

    while (*args != NULL && n < 15)
        argv[n++] = *args++;
    env_basic(&env);
    spec.cwd = dir;
    status = child_run(&spec, git_patience_ns, &result, err);
    if (status == 0 && (result.timed_out || result.status.code != 0)) {
        const char *said = result.err != NULL && *result.err != '\0' ? result.err : "it said nothing";

        status = err_set(err, "git %s: %.*s", argv[1], (int)strcspn(said, "\n"), said);
    }
    *out = NULL;
    if (status == 0 && result.out != NULL) {
        *out = text_dup(result.out);
        (*out)[strcspn(*out, "\n")] = '\0';
    }
    child_result_free(&result);
    env_free(&env);
    return status;
}

/* The folder as it was at a revision. */
static int from_revision(const char *revision, const char *row_dir, const char *into, char **label, char **key,
                         struct err *err)
{
    char *commit_of = text_format("%s^{commit}", revision), *commit = NULL, *prefix = NULL, *none = NULL;
    char *archive = text_format("%s.tar", into);
    const char *const resolve[] = {"rev-parse", "--verify", "--quiet", "--end-of-options", commit_of, NULL};
    const char *const where[] = {"rev-parse", "--show-prefix", NULL};
    struct err cause = {0};
    int result = git(row_dir, where, &prefix, &cause);

    if (result != 0)
        (void)err_set(err, "%s: neither a folder with a server.json, nor is %s in a git repository (%s)", revision,
                      row_dir, cause.text);
    if (result == 0 && git(row_dir, resolve, &commit, &cause) != 0)
        result = err_set(err, "%s: neither a folder with a server.json nor a revision of the repository of %s",
                         revision, row_dir);
    if (result == 0) {
        /* In a subfolder this packs that folder alone. */
        const char *const pack[] = {"archive", "--format=tar", "-o", archive, commit, NULL};

        if (git(row_dir, pack, &none, &cause) != 0)
            result = err_set(err, "%s: has no folder %s: %s", revision, prefix, cause.text);
    }
    if (result == 0)
        result = fsx_mkdirs(into, 0755, err);
    if (result == 0)
        result = tarball_extract(archive, into, err);
    (void)remove(archive);
    if (result == 0) {
        *key = text_format("%.7s", commit);
        *label =
            strncmp(revision, commit, strlen(revision)) == 0 ? text_dup(*key) : text_format("%s (%s)", revision, *key);
    }
    free(commit_of);
    free(archive);
    free(commit);
    free(prefix);
    free(none);
    return result;
}

static bool is_server_folder(const char *path)
{
    char *recipe = fsx_join(path, "server.json");
    bool is = fsx_exists(recipe);

    free(recipe);
    return is;
}

/* First letters of a folder's hash: what distinguishes two states of one folder. */
static int short_hash(const char *dir, char **key, struct err *err)
{
    char hex[FSX_SHA256_SIZE];

    if (fsx_sha256_tree(dir, hex, err) != 0)
        return -1;
    *key = text_format("%.7s", hex);
    return 0;
}

static json_t *words(const char *command)
{
    json_t *array = json_array();

    while (*command != '\0') {
        size_t blanks = strspn(command, " ");
        size_t len = strcspn(command + blanks, " ");

        if (len > 0)
            (void)json_array_append_new(array, json_stringn(command + blanks, len));
        command += blanks + len;
    }
    return array;
}

/* The row's own folder, run by another command. */
static int from_command(const char *command, const char *row_dir, const char *into, char **label, char **key,
                        struct err *err)
{
    char *recipe = fsx_join(into, "server.json"), *text = NULL;
    struct json_doc doc = {0};
    json_t *run, *variant;
    size_t i;
    int result = fsx_copy_tree(row_dir, into, err);

    if (result == 0)
        result = json_doc_load(recipe, &doc, err);
    if (result == 0) {
        run = json_object_get(doc.root, "run");
        if (!json_is_object(run)) {
            json_put(doc.root, "run", json_object());
            run = json_object_get(doc.root, "run");
        }
        json_put(run, "command", words(command));
        json_array_foreach (json_object_get(doc.root, "variants"), i, variant) {
            if (json_is_object(json_object_get(variant, "run")))
                json_put(json_object_get(variant, "run"), "command", words(command));
        }
        text = json_pretty(doc.root);
        result = fsx_write_atomic(recipe, text, strlen(text), 0644, err);
    }
    if (result == 0)
        result = short_hash(into, key, err);
    if (result == 0)
        *label = text_format("command %s", command);
    json_doc_free(&doc);
    free(recipe);
    free(text);
    return result;
}

int duel_source(const char *what, bool is_command, const char *row_dir, const char *into, char **label, char **key,
                struct err *err)
{
    *label = *key = NULL;
    if (is_command)
        return row_dir != NULL ? from_command(what, row_dir, into, label, key, err)
                               : err_set(err, "two commands need --server ROW: the folder that they are run in");
    if (fsx_is_dir(what) && is_server_folder(what)) {
        if (fsx_copy_tree(what, into, err) != 0 || short_hash(into, key, err) != 0)
            return -1;
        *label = text_format("folder %s", what);
        return 0;
    }
    if (row_dir == NULL)
        return err_set(err, "%s: no folder with a server.json; for a git revision name the row with --server", what);
    return from_revision(what, row_dir, into, label, key, err);
}
