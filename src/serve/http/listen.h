/*
 * Listening sockets, internal to serve.
 */
#ifndef KYMO_SERVE_HTTP_LISTEN_H
#define KYMO_SERVE_HTTP_LISTEN_H

#include "serve/http/server.h"

/*
 * Listens on an address and port; *port is set to the actual one. If the port is in use and was
 * given explicitly, fails with a free one in the message; otherwise takes the next free one.
 */
bool listen_on(const char *host, struct serve_port wanted, const char *option, uint16_t *port,
               int *socket, struct error *err);
/* Whether the address is reachable from this machine only. */
bool is_loopback(const char *host);

#endif
