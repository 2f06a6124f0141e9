#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/text.h"
#include "load/request.h"
#include "load/url.h"

static void check_url(const char *text, const char *host, const char *port, const char *authority, const char *target)
{
    struct err err = {0};
    struct url url;

    assert_int_equal(url_parse(text, &url, &err), 0);
    assert_string_equal(url.host, host);
    assert_string_equal(url.port, port);
    assert_string_equal(url.authority, authority);
    assert_string_equal(url.target, target);
    url_free(&url);
}

static void test_urls(void **state)
{
    (void)state;
    check_url("http://127.0.0.1:8605?x=1", "127.0.0.1", "8605", "127.0.0.1:8605", "/?x=1");
    check_url("http://127.0.0.1:8605#f", "127.0.0.1", "8605", "127.0.0.1:8605", "/");
    check_url("http://h/a?b=c#d", "h", "80", "h", "/a?b=c");
    check_url("HTTP://Host/", "Host", "80", "Host", "/");
    check_url("https://h", "h", "443", "h", "/");
    check_url("http://h:80/", "h", "80", "h:80", "/");
    check_url("http://h:/", "h", "80", "h:", "/");
    check_url("http://h/%7E?q=%20|", "h", "80", "h", "/%7E?q=%20|");
    check_url("http://[::1]:81/x", "::1", "81", "[::1]:81", "/x");
    check_url("http://u:p@h/", "h", "80", "h", "/");
    check_url("http://h/?u=http://x", "h", "80", "h", "/?u=http://x");
}

static void test_bad_urls(void **state)
{
    static const char *const bad[] = {
        "ftp://h/",        "h/",          "127.0.0.1:80/", "http://",           "http:///x",   "http://h:0/",
        "http://h:65536/", "http://h:8x", "http://h/a b",  "http://h/\xc3\xa9", "http://[::1", "http://[h]/",
        "http://h\r\n/",   "://h",        "http://h:+80/", "http://a\"b/",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};
        struct url url;

        if (url_parse(bad[i], &url, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(err.kind, ERR_CANNOT);
        assert_null(strpbrk(err.text, "\r\n"));
    }
}

static char *build(const char *url_text, const char *method, const char *const *lines, const char *body, bool close)
{
    struct err err = {0};
    struct url url;
    struct request_headers headers = {0};
    struct request request;
    struct request_spec spec = {method, NULL, &headers, body, body != NULL ? strlen(body) : 0, close};
    char *bytes;

    assert_int_equal(url_parse(url_text, &url, &err), 0);
    for (; lines != NULL && *lines != NULL; lines++)
        assert_int_equal(request_headers_add_line(&headers, *lines, &err), 0);
    assert_int_equal(request_build(&url, &spec, &request, &err), 0);
    assert_int_equal(request.head, strcmp(method, "HEAD") == 0);
    assert_int_equal(request.len, strlen(request.bytes));
    bytes = text_dup(request.bytes);
    request_free(&request);
    request_headers_free(&headers);
    url_free(&url);
    return bytes;
}

static void check_request(char *got, const char *expected)
{
    assert_string_equal(got, expected);
    text_free(&(struct text){.data = got});
}

#define AGENT "User-Agent: restbench/" RESTBENCH_VERSION "\r\n"

static void test_requests(void **state)
{
    const char *lines[] = {"a:1", "b:", "c:   x:y:z  ", "Host: one.example", "d: 1", "d: 2", NULL};
    const char *closed[] = {"Connection: closed, enclose", NULL};
    const char *agent[] = {"user-agent: mine", "Connection: Keep-Alive, Close", NULL};

    (void)state;
    check_request(build("http://h:81/x?y", "GET", NULL, NULL, false),
                  "GET /x?y HTTP/1.1\r\nHost: h:81\r\n" AGENT "\r\n");
    check_request(build("http://h/", "GET", lines, NULL, false),
                  "GET / HTTP/1.1\r\nHost: one.example\r\n" AGENT "a: 1\r\nb: \r\nc: x:y:z\r\nd: 1\r\nd: 2\r\n\r\n");
    check_request(build("http://h/", "head", agent, NULL, true),
                  "head / HTTP/1.1\r\nHost: h\r\nuser-agent: mine\r\nConnection: Keep-Alive, Close\r\n\r\n");
    check_request(build("http://h/", "POST", NULL, "{}", false),
                  "POST / HTTP/1.1\r\nHost: h\r\n" AGENT "Content-Length: 2\r\n\r\n{}");
    check_request(build("http://h/", "PUT", NULL, NULL, true),
                  "PUT / HTTP/1.1\r\nHost: h\r\n" AGENT "Content-Length: 0\r\nConnection: close\r\n\r\n");
    check_request(build("http://h/", "GET", closed, NULL, true),
                  "GET / HTTP/1.1\r\nHost: h\r\n" AGENT "Connection: closed, enclose\r\nConnection: close\r\n\r\n");
    check_request(build("http://user:p%40ss@h/", "HEAD", NULL, NULL, false),
                  "HEAD / HTTP/1.1\r\nHost: h\r\n" AGENT "Authorization: Basic dXNlcjpwQHNz\r\n\r\n");
}

static void test_bad_headers(void **state)
{
    static const char *const bad[] = {"foo",
                                      ": x",
                                      "a b: 1",
                                      "a: 1\r\nX: 2",
                                      "Content-Length: 5",
                                      "Transfer-Encoding: chunked",
                                      "content-length: 5",
                                      " a: 1",
                                      "a : 1",
                                      "a: \x01",
                                      "\xc3\xa9: 1"};
    struct request_headers headers = {0};
    struct err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        err_clear(&err);
        if (request_headers_add_line(&headers, bad[i], &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_null(strpbrk(err.text, "\r\n"));
    }
    err_clear(&err);
    assert_int_equal(headers.count, 0);
    assert_int_equal(request_headers_add_line(&headers, "Host: a", &err), 0);
    assert_int_equal(request_headers_add_line(&headers, "host: b", &err), -1);
    request_headers_free(&headers);
}

static void test_bad_methods(void **state)
{
    static const char *const bad[] = {"", "GE T", "GET\r\n", "CONNECT", "G@T", "G\xc3\xa9T"};
    struct url url;
    struct err err = {0};

    (void)state;
    assert_int_equal(url_parse("http://h/", &url, &err), 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct request request;
        struct request_spec spec = {.method = bad[i]};

        err_clear(&err);
        assert_int_equal(request_build(&url, &spec, &request, &err), -1);
    }
    url_free(&url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urls),        cmocka_unit_test(test_bad_urls),    cmocka_unit_test(test_requests),
        cmocka_unit_test(test_bad_headers), cmocka_unit_test(test_bad_methods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
