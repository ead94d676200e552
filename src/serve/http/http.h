/*
 * HTTP server on top of libmicrohttpd, internal to serve.
 */
#ifndef KYMO_SERVE_HTTP_HTTP_H
#define KYMO_SERVE_HTTP_HTTP_H

#include "serve/http/server.h"

/* Serves on a listening socket and takes ownership of it. */
struct http;
bool http_start(struct http **http, struct server *server, int socket, bool has_ui,
                struct error *err);
/* Closes all connections; returns once the last request has finished. */
void http_stop(struct http *http);
/* Closes connections past their deadline; call periodically. */
void http_tick(struct http *http);

#endif
