/*
 * net: an HTTP client over libcurl. The library is loaded on first use: other commands neither need
 * it nor pay for the thirty libraries it depends on. Certificates and proxies are left to libcurl.
 */
#ifndef KYMO_BASE_HTTP_HTTP_H
#define KYMO_BASE_HTTP_HTTP_H

#include "base/base.h"

/* A persistent connection; for one thread at a time. */
struct http;

bool http_create(struct http **http, struct error *err);
void http_destroy(struct http *http);

enum { HTTP_MAX_BODY = 4096, HTTP_MAX_REASON = 256, HTTP_MAX_HEADERS = 4 };

struct http_request {
    const char *url;
    const char *headers[HTTP_MAX_HEADERS]; /* "Name: value", NULL-terminated if fewer */
    const void *body;
    size_t body_size;
    unsigned timeout_ms; /* in total, including connecting; not 0 */
};

enum http_outcome {
    HTTP_COMPLETED,
    HTTP_UNREACHABLE, /* nothing was sent: unknown host, or connection refused */
    HTTP_LOST,        /* connection lost or timeout; the server may have processed the request */
};

struct http_response {
    enum http_outcome outcome;
    long status;                  /* if completed */
    unsigned retry_after_s;       /* Retry-After, or 0 */
    struct text body;             /* the first HTTP_MAX_BODY bytes; valid until the next request */
    char reason[HTTP_MAX_REASON]; /* if not completed */
};

void http_post(struct http *http, const struct http_request *request,
               struct http_response *response);

/* What takes an answer as it comes. */
struct http_sink {
    /* A header or trailer, its name in lower case. */
    void (*header)(void *context, struct text name, struct text value);
    /* False ends the request, which is lost then. */
    bool (*data)(void *context, const uint8_t *data, size_t size);
    bool (*is_over)(void *context); /* asked about every second; ends the request as well */
    void *context;
};

/* A POST over HTTP/2 without encryption and without asking for it (prior knowledge), past proxies:
 * what gRPC is. A connection is used for these alone. The response has no body. */
void http2_post(struct http *http, const struct http_request *request, const struct http_sink *sink,
                struct http_response *response);

/* Appends percent-encoded text: all but letters, digits and -._~ as %XX. */
void url_put(struct output *out, const char *text);

#endif
