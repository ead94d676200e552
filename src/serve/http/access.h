/*
 * Access control, internal to serve. Rejects requests by pages of other sites, be it cross-origin
 * (Origin) or by DNS rebinding (Host), and requests without the token if one is set.
 */
#ifndef KYMO_SERVE_HTTP_ACCESS_H
#define KYMO_SERVE_HTTP_ACCESS_H

#include "serve/http/server.h"

/* token NULL: no token required. ports: those the server listens on. */
struct access *access_create(const char *host, const char *token, const uint16_t *ports,
                             size_t port_count);
void access_destroy(struct access *access);
/* is_data: the path is not a page or file of the UI. False if rejected; the reply is then set. */
bool access_check(const struct access *access, struct request *request, bool is_data,
                  struct reply *reply);
/* 32 random hex digits. */
enum { TOKEN_SIZE = 33 };
bool token_make(char token[static TOKEN_SIZE], struct error *err);

#endif
