/*
 * url - the parts of an http:// or https:// URL that a request needs.
 *
 * The scheme may be in any case. The fragment is dropped. Path and query go out as written: escapes
 * are not touched, and a byte that may not stand in a request target (blank, control, non-ASCII) is refused.
 */
#ifndef LOAD_URL_H
#define LOAD_URL_H

#include <stdbool.h>

#include "base/err.h"

struct url {
    bool tls;
    char *host;      /* to resolve; without brackets */
    char *port;      /* "80" or "443" when not given */
    char *authority; /* for Host: host and port as written */
    char *target;    /* begins with '/' */
    char *userinfo;  /* decoded "user:password"; NULL: none */
};

int url_parse(const char *text, struct url *url, struct err *err);
void url_free(struct url *url);

#endif
