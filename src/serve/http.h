/*
 * HTTP server on top of libmicrohttpd, internal to serve.
 */
#ifndef KYMO_SERVE_HTTP_H
#define KYMO_SERVE_HTTP_H

#include "serve/server.h"

/* Serves on a listening socket and takes ownership of it. */
struct http;
bool http_start(struct http **http, struct server *server, int socket, bool has_ui,
                struct error *err);
/* Lets pages of this machine show the UI in a frame; call it before http_start. */
void http_allow_frames(void);
/* Who may, as in frame-ancestors of a Content-Security-Policy. */
const char *http_frame_ancestors(void);
/* Closes all connections; returns once the last request has finished. */
void http_stop(struct http *http);
/* Closes connections past their deadline; call periodically. */
void http_tick(struct http *http);

#endif
