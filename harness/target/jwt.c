#include "target/jwt.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void add_base64url(struct text *text, const void *data, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *bytes = data;

    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i < 3 ? len - i : 3;
        unsigned v = (unsigned)bytes[i] << 16;

        v |= left > 1 ? (unsigned)bytes[i + 1] << 8 : 0;
        v |= left > 2 ? bytes[i + 2] : 0;
        for (size_t k = 0; k <= left; k++)
            text_add_char(text, alphabet[v >> (18 - 6 * k) & 63]);
    }
}

int jwt_random_secret(char **secret, struct err *err)
{
    unsigned char bytes[32];
    struct text text = {0};

    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return err_set(err, "libcrypto has no random numbers");
    add_base64url(&text, bytes, sizeof bytes);
    *secret = text_take(&text);
    return 0;
}

static void add_header(struct text *text, const struct jwt_token *token)
{
    struct text json = {0};

    text_addf(&json, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", token->alg != NULL ? token->alg : "HS256");
    add_base64url(text, json.data, json.len);
    text_add_char(text, '.');
    text_free(&json);
}

static void add_payload(struct text *text, const struct jwt_token *token, int64_t now_s, const char *subject)
{
    const char *quote = token->exp_kind == JWT_EXP_TEXT ? "\"" : "";
    struct text json = {0};

    text_addf(&json, "{\"sub\":\"%s\",\"iat\":%" PRId64, subject, now_s);
    if (token->exp_kind != JWT_EXP_NONE)
        text_addf(&json, ",\"exp\":%s%" PRId64 "%s", quote, now_s + token->exp_in_s, quote);
    text_add_char(&json, '}');
    add_base64url(text, json.data, json.len);
    text_free(&json);
}

int jwt_make(const struct jwt_token *token, const char *secret, int64_t now_s, char **text, struct err *err)
{
    const EVP_MD *digest = token->sign == JWT_SIGN_HS512 ? EVP_sha512() : EVP_sha256();
    const char *key = token->alter == JWT_ALTER_KEY ? "another key, which the server does not have" : secret;
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned sum_len = 0;
    struct text made = {0};

    add_header(&made, token);
    add_payload(&made, token, now_s, "restbench");
    if (HMAC(digest, key, (int)strlen(key), (unsigned char *)made.data, made.len, sum, &sum_len) == NULL) {
        text_free(&made);
        return err_set(err, "libcrypto cannot make an HMAC");
    }
    if (token->alter == JWT_ALTER_SIGNATURE)
        sum[sum_len / 2] ^= 1;
    if (token->alter == JWT_ALTER_PAYLOAD) {
        text_clear(&made);
        add_header(&made, token);
        add_payload(&made, token, now_s, "somebody else");
    }
    if (token->sign != JWT_SIGN_CUT)
        text_add_char(&made, '.');
    if (token->sign != JWT_SIGN_CUT && token->sign != JWT_SIGN_EMPTY)
        add_base64url(&made, sum, sum_len);
    if (token->sign == JWT_SIGN_EXTRA)
        text_add(&made, ".e30");
    *text = text_take(&made);
    return 0;
}
