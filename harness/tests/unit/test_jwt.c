#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "target/jwt.h"

#define HS256 "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
#define PAYLOAD "eyJzdWIiOiJyZXN0YmVuY2giLCJpYXQiOjE3MDAwMDAwMDAsImV4cCI6MTcwMDAwMzYwMH0"
#define SIGNATURE "IvtgQCy0qdyVHN3IwFw_1PYcpfArMJ-85FLHK6aHcoc"

static const int64_t now_s = 1700000000;

static char *make(struct jwt_token token)
{
    struct err err = {0};
    char *text = NULL;

    if (token.exp_kind != JWT_EXP_NONE && token.exp_in_s == 0)
        token.exp_in_s = 3600;
    assert_int_equal(jwt_make(&token, "secret", now_s, &text, &err), 0);
    return text;
}

/* The expected tokens were made with another implementation (Python's hmac and base64). */
static void tokens_are_what_others_make(void **state)
{
    static const struct {
        struct jwt_token token;
        const char *text;
    } cases[] = {
        {{.exp_kind = JWT_EXP_IN}, HS256 "." PAYLOAD "." SIGNATURE},
        {{.alg = "HS512", .sign = JWT_SIGN_HS512, .exp_kind = JWT_EXP_IN, .exp_in_s = -60},
         "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJyZXN0YmVuY2giLCJpYXQiOjE3MDAwMDAwMDAsImV4cCI6MTY5OTk5OTk0MH0."
         "9SBrQueKxX3aAhNz740aMJXSn2rYls-hBolI-IaJaiLziVq5hWF2XZZTidCjpkL1WM-b0OqF39muahulSL9lrA"},
        {{.exp_kind = JWT_EXP_TEXT},
         HS256 ".eyJzdWIiOiJyZXN0YmVuY2giLCJpYXQiOjE3MDAwMDAwMDAsImV4cCI6IjE3MDAwMDM2MDAifQ."
               "TXCPAaW_oF4lBdV7Ygm0BiwEbDomIiJ4BC55jbZuth8"},
        {{.exp_kind = JWT_EXP_NONE},
         HS256 ".eyJzdWIiOiJyZXN0YmVuY2giLCJpYXQiOjE3MDAwMDAwMDB9.kXbi-AsdhB7nqXmkCyZe2WGQE56zMX0b6y7kICICNJI"},
        {{.alg = "none", .exp_kind = JWT_EXP_IN},
         "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0." PAYLOAD ".xfOMix48cUKiUX5FQipye-4mSa__X4qEhfcuotVdHTk"},
        {{.sign = JWT_SIGN_EMPTY, .exp_kind = JWT_EXP_IN}, HS256 "." PAYLOAD "."},
        {{.sign = JWT_SIGN_CUT, .exp_kind = JWT_EXP_IN}, HS256 "." PAYLOAD},
        {{.sign = JWT_SIGN_EXTRA, .exp_kind = JWT_EXP_IN}, HS256 "." PAYLOAD "." SIGNATURE ".e30"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = make(cases[i].token);

        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

static void altered_tokens_differ_in_one_part(void **state)
{
    char *payload = make((struct jwt_token){.alter = JWT_ALTER_PAYLOAD, .exp_kind = JWT_EXP_IN});
    char *signature = make((struct jwt_token){.alter = JWT_ALTER_SIGNATURE, .exp_kind = JWT_EXP_IN});
    char *key = make((struct jwt_token){.alter = JWT_ALTER_KEY, .exp_kind = JWT_EXP_IN});

    (void)state;
    assert_memory_equal(payload, HS256 ".", strlen(HS256 "."));
    assert_memory_not_equal(payload, HS256 "." PAYLOAD, strlen(HS256 "." PAYLOAD));
    assert_string_equal(payload + strlen(payload) - strlen(SIGNATURE), SIGNATURE);
    assert_memory_equal(signature, HS256 "." PAYLOAD ".", strlen(HS256 "." PAYLOAD "."));
    assert_int_equal(strlen(signature), strlen(HS256 "." PAYLOAD "." SIGNATURE));
    assert_string_not_equal(signature, HS256 "." PAYLOAD "." SIGNATURE);
    assert_memory_equal(key, HS256 "." PAYLOAD ".", strlen(HS256 "." PAYLOAD "."));
    assert_string_not_equal(key, HS256 "." PAYLOAD "." SIGNATURE);
    free(payload);
    free(signature);
    free(key);
}

static void secrets_differ(void **state)
{
    struct err err = {0};
    char *one = NULL;
    char *other = NULL;

    (void)state;
    assert_int_equal(jwt_random_secret(&one, &err), 0);
    assert_int_equal(jwt_random_secret(&other, &err), 0);
    assert_int_equal(strlen(one), 43);
    assert_string_not_equal(one, other);
    free(one);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_what_others_make),
        cmocka_unit_test(altered_tokens_differ_in_one_part),
        cmocka_unit_test(secrets_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
