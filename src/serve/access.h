/*
 * Inside serve: who may ask. A page from elsewhere must not reach a server on this machine, whether
 * by its own address (Origin) or by a name that was made to point here (Host); and who comes over a
 * network needs the token.
 */
#ifndef KYMO_SERVE_ACCESS_H
#define KYMO_SERVE_ACCESS_H

#include "serve/server.h"

/* token NULL: none is needed. Ports are those the server listens on. */
struct access *access_create(const char *host, const char *token, const uint16_t *ports,
                             size_t port_count);
void access_destroy(struct access *access);
/* True when the request may go on; otherwise it was replied to. */
bool access_check(const struct access *access, struct request *request, struct reply *reply);
/* 32 random hex digits. */
enum { TOKEN_SIZE = 33 };
bool token_make(char token[static TOKEN_SIZE], struct error *err);

#endif
