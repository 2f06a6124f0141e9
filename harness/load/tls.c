#include "load/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *method;
    SSL_SESSION *session; /* the last one, for the next connection */
    char *host;
    bool host_is_address;
    bool insecure;
    char why[256];
};

struct tls {
    struct tls_context *context;
    SSL *ssl;
    const char *in; /* what the engine received and OpenSSL has not taken yet */
    size_t in_len;
    struct text out;
    struct text later; /* made while `out` was held */
    bool held;
    bool open;
};

static int bio_read(BIO *bio, char *bytes, int len)
{
    struct tls *tls = BIO_get_data(bio);
    size_t take = tls->in_len < (size_t)len ? tls->in_len : (size_t)len;

    BIO_clear_retry_flags(bio);
    if (take == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(bytes, tls->in, take);
    tls->in += take;
    tls->in_len -= take;
    return (int)take;
}

static int bio_write(BIO *bio, const char *bytes, int len)
{
    struct tls *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    text_add_bytes(tls->held ? &tls->later : &tls->out, bytes, (size_t)len);
    return len;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls *tls = SSL_get_app_data(ssl);

    SSL_SESSION_free(tls->context->session);
    tls->context->session = session;
    return 1; /* it is ours now */
}

static const char *last_error(void)
{
    unsigned long code = ERR_get_error();
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    return reason != NULL ? reason : "unknown error";
}

int tls_context_new(const struct tls_options *options, struct tls_context **context, struct err *err)
{
    static const unsigned char protocols[] = "\x08http/1.1";
    struct tls_context *made = text_alloc(sizeof *made);
    struct in6_addr address;

    *context = made;
    made->host = text_dup(options->host);
    made->host_is_address =
        inet_pton(AF_INET, options->host, &address) == 1 || inet_pton(AF_INET6, options->host, &address) == 1;
    made->insecure = options->insecure;
    made->ssl = SSL_CTX_new(TLS_client_method());
    made->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "restbench");
    if (made->ssl == NULL || made->method == NULL)
        return err_set(err, "OpenSSL: %s", last_error());
    (void)BIO_meth_set_read(made->method, bio_read);
    (void)BIO_meth_set_write(made->method, bio_write);
    (void)BIO_meth_set_ctrl(made->method, bio_ctrl);
    (void)SSL_CTX_set_min_proto_version(made->ssl, TLS1_2_VERSION);
    if (options->many)
        (void)SSL_CTX_set_mode(made->ssl, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_alpn_protos(made->ssl, protocols, sizeof protocols - 1);
    (void)SSL_CTX_set_session_cache_mode(made->ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(made->ssl, keep_session);
    SSL_CTX_set_verify(made->ssl, options->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (options->ca_file != NULL) {
        if (SSL_CTX_load_verify_locations(made->ssl, options->ca_file, NULL) != 1)
            return err_set(err, "--cacert %s: no certificates could be read: %s", options->ca_file, last_error());
    } else if (!options->insecure) {
        (void)SSL_CTX_set_default_verify_paths(made->ssl);
    }
    return 0;
}

void tls_context_free(struct tls_context *context)
{
    if (context == NULL)
        return;
    SSL_SESSION_free(context->session);
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->method);
    free(context->host);
    free(context);
}

struct tls *tls_new(struct tls_context *context)
{
    struct tls *tls = text_alloc(sizeof *tls);

    tls->context = context;
    return tls;
}

void tls_free(struct tls *tls)
{
    if (tls == NULL)
        return;
    tls_end(tls);
    text_free(&tls->out);
    text_free(&tls->later);
    free(tls);
}

void tls_end(struct tls *tls)
{
    if (tls->ssl != NULL) {
        /* Without a shutdown the session would not be taken up again; the peer need not hear of it. */
        SSL_set_quiet_shutdown(tls->ssl, 1);
        if (tls->open)
            (void)SSL_shutdown(tls->ssl);
        SSL_free(tls->ssl);
        ERR_clear_error();
    }
    tls->ssl = NULL;
    tls->open = false;
    tls->in_len = 0;
    tls->held = false;
    text_clear(&tls->out);
    text_clear(&tls->later);
}

static enum tls_result failed(struct tls *tls)
{
    long verified = SSL_get_verify_result(tls->ssl);

    if (!tls->context->insecure && verified != X509_V_OK)
        (void)snprintf(tls->context->why, sizeof tls->context->why, "the certificate is not accepted: %s",
                       X509_verify_cert_error_string(verified));
    else
        (void)snprintf(tls->context->why, sizeof tls->context->why, "TLS: %s", last_error());
    ERR_clear_error();
    return TLS_FAILED;
}

static enum tls_result handshake(struct tls *tls)
{
    int rc = SSL_do_handshake(tls->ssl);

    if (rc == 1) {
        tls->open = true;
        return TLS_OPEN;
    }
    return SSL_get_error(tls->ssl, rc) == SSL_ERROR_WANT_READ ? TLS_MORE : failed(tls);
}

static int name_peer(struct tls *tls)
{
    const struct tls_context *context = tls->context;

    if (context->host_is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), context->host) == 1 ? 0 : -1;
    if (SSL_set_tlsext_host_name(tls->ssl, context->host) != 1)
        return -1;
    return SSL_set1_host(tls->ssl, context->host) == 1 ? 0 : -1;
}

int tls_begin(struct tls *tls)
{
    BIO *bio = BIO_new(tls->context->method);

    tls_end(tls);
    tls->ssl = SSL_new(tls->context->ssl);
    if (tls->ssl == NULL || bio == NULL) {
        BIO_free(bio);
        return -1;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    (void)SSL_set_app_data(tls->ssl, tls);
    SSL_set_connect_state(tls->ssl);
    if (name_peer(tls) != 0)
        return -1;
    if (tls->context->session != NULL)
        (void)SSL_set_session(tls->ssl, tls->context->session);
    return handshake(tls) == TLS_FAILED ? -1 : 0;
}

enum tls_result tls_receive(struct tls *tls, const char *bytes, size_t len, char *plain, size_t size, size_t *got)
{
    int rc;

    if (len > 0) {
        tls->in = bytes;
        tls->in_len = len;
    }
    *got = 0;
    if (!tls->open)
        return handshake(tls);
    rc = SSL_read_ex(tls->ssl, plain, size, got);
    if (rc == 1)
        return TLS_DATA;
    switch (SSL_get_error(tls->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_CLOSED;
    default:
        return failed(tls);
    }
}

int tls_write(struct tls *tls, const char *bytes, size_t len)
{
    size_t written;

    if (SSL_write_ex(tls->ssl, bytes, len, &written) == 1 && written == len)
        return 0;
    ERR_clear_error();
    return -1;
}

const char *tls_out(const struct tls *tls, size_t *len)
{
    *len = tls->out.len;
    return tls->out.data;
}

void tls_sent_all(struct tls *tls)
{
    struct text sent = tls->out;

    text_clear(&sent);
    tls->out = tls->later;
    tls->later = sent;
    tls->held = false;
}

void tls_hold_out(struct tls *tls)
{
    tls->held = true;
}

const char *tls_why(const struct tls *tls)
{
    return tls->context->why;
}
