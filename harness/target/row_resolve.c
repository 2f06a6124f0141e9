/* The part of row that asks the machine: requirements, versions, and the titles made of them. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "machine/child.h"
#include "target/expand.h"
#include "target/row.h"

/* Version commands of slow runtimes take a second on a busy machine; a minute means that they hang. */
static const int64_t version_timeout_ns = 60 * CLOCK_NS_PER_S;

/* Compares dotted versions number by number: 1.25 < 1.26.8. */
static int compare_versions(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        char *end_a;
        char *end_b;
        unsigned long x = strtoul(a, &end_a, 10);
        unsigned long y = strtoul(b, &end_b, 10);

        if (x != y)
            return x < y ? -1 : 1;
        a = *end_a == '.' ? end_a + 1 : end_a + strlen(end_a);
        b = *end_b == '.' ? end_b + 1 : end_b + strlen(end_b);
    }
    return 0;
}

/* Runs a version command; the caller's string, or NULL when it could not be run or `pattern` finds nothing. */
static char *ask_version(const char *const *argv, const struct env *env, const char *cwd, const char *expression)
{
    struct child_spec spec = {.argv = argv,
                              .env = env,
                              .cwd = cwd,
                              .out = {.kind = CHILD_CAPTURE, .limit = 65536},
                              .err = {.kind = CHILD_SAME},
                              .death_signal = SIGKILL};
    struct child_result result = {0};
    struct err err = {0};
    struct pattern *pattern = pattern_open_search("pattern", expression, &err);
    char *version = NULL;

    if (pattern != NULL && child_run(&spec, version_timeout_ns, &result, &err) == 0 && result.out != NULL)
        version = pattern_find(pattern, result.out, strlen(result.out));
    child_result_free(&result);
    pattern_close(pattern);
    if (version != NULL && (version[0] == '\0' || strlen(version) > 60 || !text_is_title(version))) {
        free(version);
        version = NULL;
    }
    return version;
}

/* `argv` with its program below `folder` when it names one there ("bin/java"), and ${VAR} expanded. */
static char **argv_in(const char **argv, const char *folder, const struct env *env)
{
    char **expanded = expand_argv(argv, env);

    if (folder != NULL && strchr(expanded[0], '/') != NULL) {
        char *program = fsx_join(folder, expanded[0]);

        free(expanded[0]);
        expanded[0] = program;
    }
    return expanded;
}

/* Candidates of `search`: "$VAR" of the caller, or a glob; newest name first, as globs sort ascending. */
static size_t candidates(const char **search, char ***folders)
{
    size_t count = 0;

    *folders = NULL;
    for (; search != NULL && *search != NULL; search++) {
        glob_t found;

        if ((*search)[0] == '$') {
            const char *value = getenv(*search + 1);

            if (value != NULL && value[0] == '/') {
                *folders = text_realloc(*folders, count + 1, sizeof **folders);
                (*folders)[count++] = text_dup(value);
            }
        } else if (glob(*search, 0, NULL, &found) == 0) {
            *folders = text_realloc(*folders, count + found.gl_pathc, sizeof **folders);
            for (size_t i = found.gl_pathc; i > 0; i--)
                (*folders)[count++] = text_dup(found.gl_pathv[i - 1]);
            globfree(&found);
        }
    }
    return count;
}

/* Records the tool's version, or adds a sentence to `lacks`. */
static void resolve_tool(struct row *row, const struct recipe_need *need, struct text *lacks)
{
    char *best_seen = NULL;
    char *found_in = NULL;
    char *version = NULL;
    char **folders;
    size_t count = candidates(need->search, &folders);

    for (size_t i = 0; i < (need->search != NULL ? count : 1) && version == NULL; i++) {
        const char *folder = need->search != NULL ? folders[i] : NULL;
        struct env env = {0};
        char **argv;
        char *seen;

        env_basic(&env);
        argv = argv_in(need->argv, folder, &env);
        seen = ask_version((const char *const *)argv, &env, NULL, need->pattern);
        if (seen != NULL && (need->at_least[0] == '\0' || compare_versions(seen, need->at_least) >= 0)) {
            version = seen;
            found_in = folder != NULL ? text_dup(folder) : NULL;
        } else if (seen != NULL && best_seen == NULL) {
            best_seen = seen;
        } else {
            free(seen);
        }
        expand_free(argv);
        env_free(&env);
    }
    if (version != NULL) {
        json_put(row->versions, need->name, json_string(version));
        if (need->set_env[0] != '\0' && found_in != NULL)
            env_set(&row->found, need->set_env, found_in);
    } else {
        text_addf(lacks, "%sneeds %s%s%s%s: %s%s%s%s", lacks->len > 0 ? "; " : "", need->name,
                  need->at_least[0] != '\0' ? " " : "", need->at_least, need->at_least[0] != '\0' ? " or newer" : "",
                  best_seen != NULL ? "found " : "not found", best_seen != NULL ? best_seen : "",
                  need->hint[0] != '\0' ? "; " : "", need->hint);
    }
    for (size_t i = 0; i < count; i++)
        free(folders[i]);
    free(folders);
    free(found_in);
    free(version);
    free(best_seen);
}

/* Exactly one of the alternatives: with two nobody knows which server is meant. */
static void resolve_variables(struct row *row, const struct recipe_need *need, struct text *lacks)
{
    const char *const gap = lacks->len > 0 ? "; " : "";
    const char *set = NULL;
    struct text names = {0};

    for (const char **name = need->variables; *name != NULL; name++) {
        text_addf(&names, "%s%s", names.len > 0 ? " or " : "", *name);
        if (env_get(&row->found, *name) != NULL) {
            text_free(&names);
            return;
        }
    }
    for (const char **name = need->variables; *name != NULL; name++) {
        const char *value = getenv(*name);

        if (value == NULL || *value == '\0')
            continue;
        if (set != NULL)
            text_addf(lacks, "%s%s and %s are both set: unset one", gap, set, *name);
        set = *name;
    }
    if (set == NULL)
        text_addf(lacks, "%sneeds %s in the environment: %s", gap, text_string(&names), need->hint);
    else
        (void)env_pass(&row->found, set);
    text_free(&names);
}

static void resolve_need(struct row *row, const struct recipe_need *need, struct text *lacks)
{
    if (need->variables != NULL)
        resolve_variables(row, need, lacks);
    else
        resolve_tool(row, need, lacks);
}

static void find_version(struct row *row, const struct recipe_version *version)
{
    char *value = NULL;

    if (version->argv != NULL) {
        struct env env = {0};
        char **argv;

        env_basic(&env);
        env_add(&env, &row->found);
        argv = expand_argv(version->argv, &env);
        value = ask_version((const char *const *)argv, &env, row->recipe->dir, version->pattern);
        expand_free(argv);
        env_free(&env);
    } else {
        char *path = fsx_join(row->recipe->dir, version->file);
        struct err err = {0};
        struct pattern *pattern = pattern_open_search("pattern", version->pattern, &err);
        char *text = NULL;
        size_t len;

        if (pattern != NULL && fsx_read(path, 16U << 20, &text, &len, &err) == 0)
            value = pattern_find(pattern, text, len);
        pattern_close(pattern);
        free(text);
        free(path);
    }
    if (value != NULL && text_is_title(value) && strlen(value) <= 60)
        json_put(row->versions, version->name, json_string(value));
    free(value);
}

/* {name}: major.minor; {name.major}; {name.full}. A version that was not found prints as "?". */
static char *format_title(const char *title, const json_t *versions)
{
    struct text out = {0};

    while (*title != '\0') {
        size_t plain = strcspn(title, "{");
        size_t inside = title[plain] == '{' ? strcspn(title + plain, "}") : 0;

        text_add_bytes(&out, title, plain);
        title += plain;
        if (*title == '\0')
            break;
        if (title[inside] != '}') {
            text_add(&out, title);
            break;
        }
        {
            char *name = text_dup_n(title + 1, inside - 1);
            char *dot = strchr(name, '.');
            int numbers = dot == NULL ? 2 : strcmp(dot, ".major") == 0 ? 1 : 100;
            const char *version;

            if (dot != NULL)
                *dot = '\0';
            version = json_get_string(versions, name);
            if (version == NULL)
                text_add_char(&out, '?');
            for (; version != NULL && *version != '\0'; version++) {
                if (*version == '.' && --numbers == 0)
                    break;
                text_add_char(&out, *version);
            }
            free(name);
        }
        title += inside + 1;
    }
    return text_take(&out);
}

void rows_resolve(struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];
        const struct recipe *recipe = row->recipe;
        struct text lacks = {0};

        for (size_t k = 0; k < recipe->need_count; k++)
            resolve_need(row, &recipe->needs[k], &lacks);
        for (size_t k = 0; k < row->variant->need_count; k++)
            resolve_need(row, &row->variant->needs[k], &lacks);
        for (size_t k = 0; k < recipe->version_count; k++)
            find_version(row, &recipe->versions[k]);
        free(row->title);
        row->title = format_title(row->variant->title, row->versions);
        if (lacks.len > 0)
            row_set_state(row, ROW_SKIPPED, NULL, lacks.data);
        text_free(&lacks);
    }
}
