#include "machine/env.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

static const char *const for_builds[] = {
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "GOPROXY",
    "GONOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO",
    "CARGO_HTTP_PROXY",
    "npm_config_cafile",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "NIX_SSL_CERT_FILE",
};

static size_t find(const struct env *env, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            return i;
    return env->count;
}

static void put(struct env *env, const char *name, const char *value, bool hidden)
{
    size_t at = find(env, name);

    if (at == env->count) {
        env->items = text_realloc(env->items, env->count + 2, sizeof *env->items);
        env->hidden = text_realloc(env->hidden, env->count + 1, sizeof *env->hidden);
        env->items[env->count + 1] = NULL;
        env->count++;
    } else {
        free(env->items[at]);
    }
    env->items[at] = text_format("%s=%s", name, value);
    env->hidden[at] = hidden;
}

void env_free(struct env *env)
{
    for (size_t i = 0; i < env->count; i++)
        free(env->items[i]);
    free(env->items);
    free(env->hidden);
    *env = (struct env){0};
}

void env_set(struct env *env, const char *name, const char *value)
{
    put(env, name, value, false);
}

void env_set_hidden(struct env *env, const char *name, const char *value)
{
    put(env, name, value, true);
}

bool env_pass(struct env *env, const char *name)
{
    const char *value = getenv(name);

    if (value != NULL)
        put(env, name, value, true);
    return value != NULL;
}

void env_unset(struct env *env, const char *name)
{
    size_t at = find(env, name);

    if (at == env->count)
        return;
    free(env->items[at]);
    env->count--;
    memmove(env->items + at, env->items + at + 1, (env->count - at + 1) * sizeof *env->items);
    memmove(env->hidden + at, env->hidden + at + 1, (env->count - at) * sizeof *env->hidden);
}

const char *env_get(const struct env *env, const char *name)
{
    size_t at = find(env, name);

    return at < env->count ? env->items[at] + strlen(name) + 1 : NULL;
}

void env_copy(const struct env *from, struct env *to)
{
    for (size_t i = 0; i < from->count; i++) {
        const char *equals = strchr(from->items[i], '=');
        char *name = text_dup_n(from->items[i], (size_t)(equals - from->items[i]));

        put(to, name, equals + 1, from->hidden[i]);
        free(name);
    }
}

void env_basic(struct env *env)
{
    const char *path = getenv("PATH");
    const char *home = getenv("HOME");

    env_set_hidden(env, "PATH", path != NULL ? path : "/usr/local/bin:/usr/bin:/bin");
    env_set_hidden(env, "HOME", home != NULL ? home : "/");
    env_set(env, "LANG", "C.UTF-8");
}

void env_build(struct env *env)
{
    for (size_t i = 0; i < sizeof for_builds / sizeof for_builds[0]; i++)
        (void)env_pass(env, for_builds[i]);
}

json_t *env_to_json(const struct env *env)
{
    json_t *object = json_object();

    for (size_t i = 0; i < env->count; i++) {
        const char *equals = strchr(env->items[i], '=');
        char *name = text_dup_n(env->items[i], (size_t)(equals - env->items[i]));
        struct text value = {0};

        text_add_visible(&value, equals + 1, strlen(equals + 1));
        json_put(object, name, env->hidden[i] ? json_true() : json_string(text_string(&value)));
        text_free(&value);
        free(name);
    }
    return object;
}

void env_add(struct env *to, const struct env *from)
{
    for (size_t i = 0; i < from->count; i++) {
        size_t len = strcspn(from->items[i], "=");
        char *name = text_dup_n(from->items[i], len);

        put(to, name, from->items[i] + len + 1, from->hidden[i]);
        free(name);
    }
}
