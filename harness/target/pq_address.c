#include "target/pq.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

extern char **environ;

static void forget_environment(void)
{
    size_t i = 0;

    while (environ != NULL && environ[i] != NULL) {
        if (strncmp(environ[i], "PG", 2) == 0) {
            char *name = text_dup_n(environ[i], strcspn(environ[i], "="));

            (void)unsetenv(name);
            free(name);
        } else {
            i++;
        }
    }
}

static pthread_once_t forgotten = PTHREAD_ONCE_INIT;

void pq_address_free(struct pq_address *address)
{
    free(address->host);
    free(address->port);
    free(address->user);
    free(address->password);
    free(address->database);
    free(address->rest);
    *address = (struct pq_address){0};
}

static char *copy(const char *string)
{
    return string != NULL ? text_dup(string) : NULL;
}

void pq_address_copy(const struct pq_address *from, struct pq_address *to)
{
    (void)pthread_once(&forgotten, forget_environment);
    *to = (struct pq_address){
        .host = copy(from->host),
        .port = copy(from->port),
        .user = copy(from->user),
        .password = copy(from->password),
        .database = copy(from->database),
        .rest = copy(from->rest),
    };
}

static void add_percent(struct text *text, const char *string)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *string != '\0'; string++) {
        if (strchr(plain, *string) != NULL)
            text_add_char(text, *string);
        else
            text_addf(text, "%%%02X", (unsigned)(unsigned char)*string);
    }
}

static void add_parameter(struct text *text, const char *key, const char *value)
{
    text_addf(text, "%s%s=", text->len > 0 ? "&" : "", key);
    add_percent(text, value);
}

static char **field_of(struct pq_address *address, const char *keyword)
{
    const struct {
        const char *keyword;
        char **field;
    } fields[] = {
        {"host", &address->host},         {"port", &address->port},       {"user", &address->user},
        {"password", &address->password}, {"dbname", &address->database},
    };

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcmp(fields[i].keyword, keyword) == 0)
            return fields[i].field;
    return NULL;
}

int pq_address_parse(const char *url, struct pq_address *address, struct err *err)
{
    static const char form[] = "the form is postgresql://USER:PASSWORD@HOST:PORT/DATABASE";
    PQconninfoOption *options = NULL;
    struct text rest = {0};

    *address = (struct pq_address){0};
    (void)pthread_once(&forgotten, forget_environment);
    if (strncmp(url, "postgresql://", 13) == 0 || strncmp(url, "postgres://", 11) == 0)
        options = PQconninfoParse(url, NULL); /* its message may quote the password: ours does not */
    if (options == NULL)
        return err_set(err, "the database URL cannot be read; %s", form);
    for (PQconninfoOption *option = options; option->keyword != NULL; option++) {
        char **field = field_of(address, option->keyword);

        if (option->val == NULL || option->val[0] == '\0')
            continue;
        if (field != NULL)
            *field = text_dup(option->val);
        else
            add_parameter(&rest, option->keyword, option->val);
    }
    PQconninfoFree(options);
    address->rest = rest.len > 0 ? text_take(&rest) : NULL;
    if (address->host == NULL || address->user == NULL || address->database == NULL) {
        (void)err_set(err, "the database URL has no %s; %s",
                      address->host == NULL   ? "host"
                      : address->user == NULL ? "user"
                                              : "database",
                      form);
        pq_address_free(address);
        return -1;
    }
    if (address->port == NULL)
        address->port = text_dup("5432");
    return 0;
}

char *pq_address_url(const struct pq_address *address)
{
    struct text text = {0};

    text_add(&text, "postgresql://");
    add_percent(&text, address->user);
    if (address->password != NULL) {
        text_add_char(&text, ':');
        add_percent(&text, address->password);
    }
    text_add_char(&text, '@');
    if (strchr(address->host, ':') != NULL)
        text_addf(&text, "[%s]", address->host);
    else
        add_percent(&text, address->host);
    text_addf(&text, ":%s/", address->port);
    add_percent(&text, address->database);
    if (address->rest != NULL)
        text_addf(&text, "?%s", address->rest);
    return text_take(&text);
}

char *pq_address_shown(const struct pq_address *address)
{
    struct text text = {0};
    char *shown = text_format("%s@%s:%s/%s", address->user, address->host, address->port, address->database);

    text_add_visible(&text, shown, strlen(shown));
    free(shown);
    return text_take(&text);
}

bool pq_address_is_local(const struct pq_address *address)
{
    const char *host = address->host;

    return host[0] == '/' || host[0] == '@' || strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

void pq_hide_password(char *url)
{
    char *user = strstr(url, "://");
    char *query = strstr(url, "password=");
    char *colon;
    char *at;

    if (user != NULL) {
        /* Up to the last '@': some passwords hold an '@' or a '/' that nobody encoded. */
        size_t len = strcspn(user + 3, "?");

        colon = memchr(user + 3, ':', len);
        at = memrchr(user + 3, '@', len);
        if (colon != NULL && at != NULL && colon < at)
            memset(colon + 1, 'x', (size_t)(at - colon - 1));
    }
    while (query != NULL) {
        query += strlen("password=");
        memset(query, 'x', strcspn(query, "& "));
        query = strstr(query, "password=");
    }
}

char *pq_identifier(const char *name)
{
    struct text text = {0};

    text_add_char(&text, '"');
    for (; *name != '\0'; name++) {
        if (*name == '"')
            text_add_char(&text, '"');
        text_add_char(&text, *name);
    }
    text_add_char(&text, '"');
    return text_take(&text);
}

char *pq_literal(const char *string)
{
    struct text text = {0};

    text_add_char(&text, '\'');
    for (; *string != '\0'; string++) {
        if (*string == '\'')
            text_add_char(&text, '\'');
        text_add_char(&text, *string);
    }
    text_add_char(&text, '\'');
    return text_take(&text);
}
