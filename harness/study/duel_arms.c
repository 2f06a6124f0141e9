#include "study/duel_arms.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fsx.h"
#include "base/home.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "results/duel_report.h"
#include "study/duel_source.h"
#include "study/duel_study.h"

struct making {
    const struct duel_options *options;
    char *servers_dir; /* of the caller: where the row and the reference are */
    char *folder;      /* of the row; NULL: BASE is a folder */
    char *variant;     /* NULL: none */
    char *control;     /* row id; NULL: none */
    char *dir;         /* being made */
};

/* Puts "base · " before every title of an arm's recipe, and says that it is no reference. */
static int retitle(const char *dir, const char *arm, struct err *err)
{
    char *path = fsx_join(dir, "server.json"), *text = NULL;
    struct json_doc doc = {0};
    json_t *variant;
    size_t i;
    int result = json_doc_load(path, &doc, err);

    if (result == 0) {
        const char *title = json_get_string(doc.root, "title");
        const char *shown = strcmp(arm, DUEL_AGAIN) == 0 ? "base again" : arm;

        if (title != NULL) {
            char *longer = text_format("%s · %s", shown, title);

            json_put(doc.root, "title", json_string(longer));
            free(longer);
        }
        json_array_foreach (json_object_get(doc.root, "variants"), i, variant) {
            title = json_get_string(variant, "title");
            if (title != NULL) {
                char *longer = text_format("%s · %s", shown, title);

                json_put(variant, "title", json_string(longer));
                free(longer);
            }
        }
        if (json_object_get(doc.root, "reference") != NULL)
            json_put(doc.root, "reference", json_false());
        text = json_pretty(doc.root);
        result = fsx_write_atomic(path, text, strlen(text), 0644, err);
    }
    json_doc_free(&doc);
    free(path);
    free(text);
    return result;
}

static char *row_dir(const struct making *m)
{
    return m->folder != NULL ? fsx_join(m->servers_dir, m->folder) : NULL;
}

static char *arm_dir(const struct making *m, const char *arm)
{
    return text_format("%s/servers/%s", m->dir, arm);
}

static int make_arm(const struct making *m, const char *what, const char *arm, char **label, char **key,
                    struct err *err)
{
    char *row = row_dir(m), *into = arm_dir(m, arm);
    int result = duel_source(what, m->options->commands, row, into, label, key, err);

    if (result == 0)
        result = retitle(into, arm, err);
    free(row);
    free(into);
    return result;
}

/* "folder" or "folder:variant" */
static void split_row(const char *row, char **folder, char **variant)
{
    size_t len = strcspn(row, ":");

    *folder = text_dup_n(row, len);
    *variant = row[len] == ':' ? text_dup(row + len + 1) : NULL;
}

static bool is_reference(const char *dir)
{
    char *path = fsx_join(dir, "server.json");
    struct json_doc doc = {0};
    struct err ignored = {0};
    bool is = fsx_exists(path) && json_doc_load(path, &doc, &ignored) == 0 &&
              json_is_true(json_object_get(doc.root, "reference"));

    json_doc_free(&doc);
    free(path);
    return is;
}

/* The reference that was named, or the first one of servers/. */
static void choose_control(struct making *m)
{
    struct dirent **entries = NULL;
    int count;

    if (m->options->control != NULL) {
        m->control = strcmp(m->options->control, "none") == 0 ? NULL : text_dup(m->options->control);
        return;
    }
    count = scandir(m->servers_dir, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char *dir = fsx_join(m->servers_dir, entries[i]->d_name);

        if (m->control == NULL && entries[i]->d_name[0] != '.' && is_reference(dir))
            m->control = text_dup(entries[i]->d_name);
        free(dir);
        free(entries[i]);
    }
    free(entries);
    if (m->control == NULL)
        log_line("note       %s has no reference server: the duel has no control", m->servers_dir);
}

static int copy_control(struct making *m, struct err *err)
{
    char *folder, *variant, *from, *into;
    int result;

    if (m->control == NULL)
        return 0;
    split_row(m->control, &folder, &variant);
    from = fsx_join(m->servers_dir, folder);
    into = arm_dir(m, folder);
    result = fsx_is_dir(from) ? fsx_copy_tree(from, into, err)
                              : err_set(err, "--control %s: there is no folder %s", m->control, from);
    free(folder);
    free(variant);
    free(from);
    free(into);
    return result;
}

/* Names the made folder by its content; an equal one that is there already stays. */
static int settle(const struct making *m, const char *duels, struct duel_arms *arms, struct err *err)
{
    char hex[FSX_SHA256_SIZE];

    if (fsx_sha256_tree(m->dir, hex, err) != 0)
        return -1;
    arms->dir = text_format("%s/%.16s", duels, hex);
    if (fsx_is_dir(arms->dir))
        (void)fsx_remove_tree(m->dir, err);
    else if (rename(m->dir, arms->dir) != 0)
        return err_sys(err, "%s: cannot rename to %s", m->dir, arms->dir);
    arms->config = fsx_join(arms->dir, "study.json");
    arms->servers = fsx_join(arms->dir, "servers");
    return 0;
}

static int make_all(struct making *m, const char *duels, struct duel_arms *arms, struct err *err)
{
    const struct duel_options *options = m->options;
    char *keys[2] = {NULL, NULL}, *again_label = NULL, *again_key = NULL, *name;
    int result = make_arm(m, options->base, DUEL_BASE, &arms->base, &keys[0], err);

    if (result == 0)
        result = make_arm(m, options->head, DUEL_HEAD, &arms->head, &keys[1], err);
    if (result == 0)
        result = make_arm(m, options->base, DUEL_AGAIN, &again_label, &again_key, err);
    if (result == 0)
        result = copy_control(m, err);
    if (result == 0)
        result = duel_study_write(m->dir, options->config, m->variant, m->control, err);
    if (result == 0)
        result = settle(m, duels, arms, err);
    if (result == 0) {
        name = m->folder != NULL ? text_dup(m->folder) : text_dup(fsx_basename(options->base));
        arms->name = text_format("duel-%s-%s-%s", name, keys[0], keys[1]);
        /* It becomes part of file names. */
        for (char *c = arms->name; *c != '\0'; c++)
            if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *c) == NULL)
                *c = '-';
        free(name);
    }
    free(keys[0]);
    free(keys[1]);
    free(again_label);
    free(again_key);
    return result;
}

int duel_arms_make(const struct duel_options *options, const char *state_dir, struct duel_arms *arms, struct err *err)
{
    struct making m = {.options = options};
    char *duels = text_format("%s/duel", state_dir);
    struct err ignored = {0};
    int result = 0;

    *arms = (struct duel_arms){0};
    m.servers_dir = options->run.servers_dir != NULL ? text_dup(options->run.servers_dir) : home_file("servers", err);
    if (m.servers_dir == NULL)
        result = -1;
    if (result == 0 && options->server != NULL) {
        char *dir;

        split_row(options->server, &m.folder, &m.variant);
        dir = row_dir(&m);
        if (!fsx_is_dir(dir))
            result = err_set(err, "--server %s: there is no folder %s", options->server, dir);
        free(dir);
    }
    if (result == 0)
        choose_control(&m);
    m.dir = text_format("%s/making-%d", duels, (int)getpid());
    if (result == 0)
        result = fsx_remove_tree(m.dir, err);
    if (result == 0) {
        char *servers = fsx_join(m.dir, "servers");

        result = fsx_mkdirs(servers, 0755, err);
        free(servers);
    }
    if (result == 0)
        result = make_all(&m, duels, arms, err);
    (void)fsx_remove_tree(m.dir, &ignored);
    free(m.servers_dir);
    free(m.folder);
    free(m.variant);
    free(m.control);
    free(m.dir);
    free(duels);
    if (result != 0)
        duel_arms_free(arms);
    return result;
}

void duel_arms_free(struct duel_arms *arms)
{
    free(arms->dir);
    free(arms->config);
    free(arms->servers);
    free(arms->name);
    free(arms->base);
    free(arms->head);
    *arms = (struct duel_arms){0};
}
