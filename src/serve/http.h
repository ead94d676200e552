/*
 * Inside serve: HTTP itself.
 */
#ifndef KYMO_SERVE_HTTP_H
#define KYMO_SERVE_HTTP_H

#include "serve/server.h"

/* Answers on a listening socket, which it takes over. */
struct http;
bool http_start(struct http **http, struct server *server, int socket, bool has_ui,
                struct error *err);
/* Ends all connections; returns when the last request is over. */
void http_stop(struct http *http);
/* Ends connections that take too long; to be called now and then. */
void http_tick(struct http *http);

#endif
