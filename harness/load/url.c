#include "load/url.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *decode(const char *bytes, size_t len)
{
    struct text text = {0};

    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '%' && i + 2 < len && hex(bytes[i + 1]) >= 0 && hex(bytes[i + 2]) >= 0) {
            text_add_char(&text, (char)(hex(bytes[i + 1]) << 4 | hex(bytes[i + 2])));
            i += 2;
        } else {
            text_add_char(&text, bytes[i]);
        }
    }
    return text_take(&text);
}

static int check_bytes(const char *text, struct err *err)
{
    for (const char *p = text; *p != '\0'; p++) {
        struct text shown = {0};

        if (*p > ' ' && *p <= '~')
            continue;
        text_add_visible(&shown, text, strlen(text));
        (void)err_set(err, "%s: the URL holds a byte that must be escaped, at %zu: %%%02X", text_string(&shown),
                      (size_t)(p - text) + 1, (unsigned char)*p);
        text_free(&shown);
        return -1;
    }
    return 0;
}

static int parse_port(const char *text, const char *port, size_t len, struct url *url, struct err *err)
{
    uint64_t number;

    if (len == 0) {
        url->port = text_dup(url->tls ? "443" : "80");
        return 0;
    }
    url->port = text_dup_n(port, len);
    if (len > 5 || text_parse_u64(url->port, &number) != 0 || number == 0 || number > 65535)
        return err_set(err, "%s: port %s is not possible; give 1 to 65535", text, url->port);
    return 0;
}

static int parse_authority(const char *text, const char *begin, size_t len, struct url *url, struct err *err)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%!$&'()*+,;=";
    const char *at = memrchr(begin, '@', len);
    const char *end = begin + len;
    const char *colon;

    if (at != NULL) {
        url->userinfo = decode(begin, (size_t)(at - begin));
        begin = at + 1;
    }
    url->authority = text_dup_n(begin, (size_t)(end - begin));
    if (*begin == '[') {
        const char *close = memchr(begin, ']', (size_t)(end - begin));

        if (close == NULL || (close + 1 < end && close[1] != ':'))
            return err_set(err, "%s: the address in brackets is not closed", text);
        url->host = text_dup_n(begin + 1, (size_t)(close - begin - 1));
        if (url->host[0] == '\0' || url->host[strspn(url->host, "0123456789abcdefABCDEF:.%")] != '\0')
            return err_set(err, "%s: [%s] is not an IPv6 address", text, url->host);
        colon = close + 1 < end ? close + 1 : NULL;
    } else {
        colon = memchr(begin, ':', (size_t)(end - begin));
        url->host = text_dup_n(begin, (size_t)((colon != NULL ? colon : end) - begin));
        if (url->host[0] == '\0')
            return err_set(err, "%s: the URL has no host", text);
        if (url->host[strspn(url->host, allowed)] != '\0')
            return err_set(err, "%s: %s is not a host name", text, url->host);
    }
    return parse_port(text, colon != NULL ? colon + 1 : end, colon != NULL ? (size_t)(end - colon - 1) : 0, url, err);
}

int url_parse(const char *text, struct url *url, struct err *err)
{
    const char *scheme_end = strstr(text, "://");
    const char *authority;
    size_t len;
    const char *rest;

    memset(url, 0, sizeof *url);
    if (check_bytes(text, err) != 0)
        return -1;
    if (scheme_end == NULL || scheme_end > text + strcspn(text, "/?#"))
        return err_set(err, "%s: the URL has no scheme; give http:// or https://", text);
    len = (size_t)(scheme_end - text);
    if (len == 5 && strncasecmp(text, "https", 5) == 0)
        url->tls = true;
    else if (len != 4 || strncasecmp(text, "http", 4) != 0)
        return err_set(err, "%s: scheme %.*s is not supported; give http:// or https://", text, (int)len, text);
    authority = scheme_end + 3;
    len = strcspn(authority, "/?#");
    if (parse_authority(text, authority, len, url, err) != 0) {
        url_free(url);
        return -1;
    }
    rest = authority + len;
    len = strcspn(rest, "#");
    url->target = text_format("%s%.*s", *rest == '/' ? "" : "/", (int)len, rest);
    return 0;
}

void url_free(struct url *url)
{
    free(url->host);
    free(url->port);
    free(url->authority);
    free(url->target);
    free(url->userinfo);
    memset(url, 0, sizeof *url);
}
