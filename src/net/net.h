/*
 * net: requests to servers over HTTP, through libcurl. The library is loaded when the first
 * connection is made: a program that makes none neither needs it nor waits for the thirty libraries
 * it brings along. Certificates are checked and proxies are found as libcurl does by itself.
 */
#ifndef KYMO_NET_H
#define KYMO_NET_H

#include "base/base.h"

/* A connection that stays open between requests; for one thread at a time. */
struct http;

bool http_create(struct http **http, struct error *err);
void http_destroy(struct http *http);

enum { HTTP_MAX_BODY = 4096, HTTP_MAX_REASON = 256, HTTP_MAX_HEADERS = 4 };

struct http_request {
    const char *url;
    const char *headers[HTTP_MAX_HEADERS]; /* "Name: value"; NULL behind the last */
    const void *body;                      /* what is posted */
    size_t body_size;
    unsigned timeout_ms; /* for all of it, connecting included; not 0 */
};

enum http_outcome {
    HTTP_COMPLETED,
    HTTP_UNREACHABLE, /* nothing was sent: there is no such server, or it does not listen */
    HTTP_LOST,        /* the connection broke or the time was up; the server may have acted */
};

struct http_response {
    enum http_outcome outcome;
    long status;                  /* when answered */
    unsigned retry_after_s;       /* what the server asks for; 0 when it does not */
    struct text body;             /* its beginning; valid until the next request */
    char reason[HTTP_MAX_REASON]; /* when not answered, why */
};

void http_post(struct http *http, const struct http_request *request,
               struct http_response *response);

/* Appends a text in the form that parts of a URL have: all but letters, digits and -._~ as %XX. */
void url_put(struct output *out, const char *text);

#endif
