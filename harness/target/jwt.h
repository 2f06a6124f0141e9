/*
 * jwt - tokens of RFC 7519 signed with HMAC (RFC 7515), made with libcrypto: good ones for a run, and each kind of bad
 * one that a server must refuse.
 *
 * A token is told by a struct jwt_token; one with only exp_kind JWT_EXP_IN and exp_in_s set is an ordinary HS256 token.
 */
#ifndef TARGET_JWT_H
#define TARGET_JWT_H

#include <stdint.h>

#include "base/err.h"

enum jwt_exp {
    JWT_EXP_NONE, /* no such claim */
    JWT_EXP_IN,   /* a number: exp_in_s seconds from now, negative: past */
    JWT_EXP_TEXT, /* a string: that number in quotes */
};

enum jwt_sign {
    JWT_SIGN_HS256,
    JWT_SIGN_HS512,
    JWT_SIGN_EMPTY, /* nothing behind the second dot */
    JWT_SIGN_CUT,   /* no second dot either: two parts */
    JWT_SIGN_EXTRA, /* signed, and a fourth part behind it */
};

enum jwt_alter {
    JWT_ALTER_NOTHING,
    JWT_ALTER_PAYLOAD,   /* another payload under the first one's signature */
    JWT_ALTER_SIGNATURE, /* one of its bits turned over */
    JWT_ALTER_KEY,       /* signed with another key */
};

struct jwt_token {
    const char *alg; /* what the header claims; NULL: HS256 */
    enum jwt_sign sign;
    enum jwt_alter alter;
    enum jwt_exp exp_kind;
    int64_t exp_in_s;
};

/* 256 random bits as 43 characters without quotes or blanks; the caller's. */
int jwt_random_secret(char **secret, struct err *err);

/* The token, the caller's. `now_s`: seconds since 1970. */
int jwt_make(const struct jwt_token *token, const char *secret, int64_t now_s, char **text, struct err *err);

#endif
