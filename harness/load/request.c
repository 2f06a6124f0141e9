#include "load/request.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "load/http_field.h"

static int check_header(const struct request_headers *headers, const char *shown, const char *name, const char *value,
                        struct err *err)
{
    if (*name == '\0')
        return err_set(err, "header '%s': the header has no name; write 'Name: value'", shown);
    for (const char *p = name; *p != '\0'; p++)
        if (!http_is_token((unsigned char)*p))
            return err_set(err, "header '%s': '%s' is not a header's name", shown, name);
    for (const char *p = value; *p != '\0'; p++)
        if (!http_is_value((unsigned char)*p))
            return err_set(err, "header '%s...': the value of %s holds a control character", name, name);
    if (strcasecmp(name, "Content-Length") == 0 || strcasecmp(name, "Transfer-Encoding") == 0)
        return err_set(err, "header '%s': restbench frames the body itself; leave %s out", shown, name);
    if (strcasecmp(name, "Host") == 0)
        for (size_t i = 0; i < headers->count; i++)
            if (strcasecmp(headers->items[i].name, "Host") == 0)
                return err_set(err, "header '%s': a request has one Host; give it once", shown);
    return 0;
}

static int add(struct request_headers *headers, const char *shown, char *name, char *value, struct err *err)
{
    if (check_header(headers, shown, name, value, err) != 0) {
        free(name);
        free(value);
        return -1;
    }
    headers->items = text_realloc(headers->items, headers->count + 1, sizeof *headers->items);
    headers->items[headers->count++] = (struct request_header){name, value};
    return 0;
}

/* Blanks around the value are not part of it. */
static char *trimmed(const char *value)
{
    size_t len;

    value += strspn(value, " \t");
    len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    return text_dup_n(value, len);
}

int request_headers_add_line(struct request_headers *headers, const char *line, struct err *err)
{
    const char *colon = strchr(line, ':');
    struct text shown = {0};
    int rc;

    text_add_visible(&shown, line, strlen(line));
    if (colon == NULL)
        rc = err_set(err, "header '%s': there is no colon; write 'Name: value'", text_string(&shown));
    else
        rc = add(headers, text_string(&shown), text_dup_n(line, (size_t)(colon - line)), trimmed(colon + 1), err);
    text_free(&shown);
    return rc;
}

int request_headers_add(struct request_headers *headers, const char *name, const char *value, struct err *err)
{
    struct text shown = {0};
    int rc;

    text_add_visible(&shown, name, strlen(name));
    rc = add(headers, text_string(&shown), text_dup(name), trimmed(value), err);
    text_free(&shown);
    return rc;
}

static const struct request_header *find(const struct request_headers *headers, const char *name)
{
    for (size_t i = 0; headers != NULL && i < headers->count; i++)
        if (strcasecmp(headers->items[i].name, name) == 0)
            return &headers->items[i];
    return NULL;
}

bool request_headers_ask_close(const struct request_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++) {
        const char *p = headers->items[i].value;

        if (strcasecmp(headers->items[i].name, "Connection") != 0)
            continue;
        while (*p != '\0') {
            size_t len;

            p += strspn(p, " \t,");
            len = strcspn(p, " \t,");
            if (len == 5 && strncasecmp(p, "close", 5) == 0)
                return true;
            p += len;
        }
    }
    return false;
}

void request_headers_free(struct request_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++) {
        free(headers->items[i].name);
        free(headers->items[i].value);
    }
    free(headers->items);
    *headers = (struct request_headers){0};
}

static int check_method(const char *method, struct err *err)
{
    if (*method == '\0')
        return err_set(err, "-m: the method is empty");
    for (const char *p = method; *p != '\0'; p++)
        if (!http_is_token((unsigned char)*p))
            return err_set(err, "-m %s: this is not a method", method);
    if (strcmp(method, "CONNECT") == 0)
        return err_set(err, "-m CONNECT: it makes a tunnel, there is no answer to measure");
    return 0;
}

static void add_basic(struct text *head, const char *userinfo)
{
    size_t len = strlen(userinfo);
    unsigned char *encoded = text_alloc(4 * ((len + 2) / 3) + 1);

    (void)EVP_EncodeBlock(encoded, (const unsigned char *)userinfo, (int)len);
    text_addf(head, "Authorization: Basic %s\r\n", (const char *)encoded);
    free(encoded);
}

int request_build(const struct url *url, const struct request_spec *spec, struct request *request, struct err *err)
{
    const char *method = spec->method;
    const struct request_header *host = find(spec->headers, "Host");
    bool body_expected = strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;
    struct text text = {0};

    memset(request, 0, sizeof *request);
    if (check_method(method, err) != 0)
        return -1;
    text_addf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, spec->target != NULL ? spec->target : url->target,
              host != NULL ? host->value : url->authority);
    if (find(spec->headers, "User-Agent") == NULL)
        text_add(&text, "User-Agent: restbench/" RESTBENCH_VERSION "\r\n");
    if (url->userinfo != NULL && find(spec->headers, "Authorization") == NULL)
        add_basic(&text, url->userinfo);
    for (size_t i = 0; spec->headers != NULL && i < spec->headers->count; i++)
        if (&spec->headers->items[i] != host)
            text_addf(&text, "%s: %s\r\n", spec->headers->items[i].name, spec->headers->items[i].value);
    if (spec->body != NULL || body_expected)
        text_addf(&text, "Content-Length: %zu\r\n", spec->body != NULL ? spec->body_len : 0);
    if (spec->close && (spec->headers == NULL || !request_headers_ask_close(spec->headers)))
        text_add(&text, "Connection: close\r\n");
    text_add(&text, "\r\n");
    if (spec->body != NULL)
        text_add_bytes(&text, spec->body, spec->body_len);
    request->len = text.len;
    request->bytes = text_take(&text);
    request->head = strcmp(method, "HEAD") == 0;
    return 0;
}

void request_free(struct request *request)
{
    free(request->bytes);
    free(request->expected_body);
    memset(request, 0, sizeof *request);
}
