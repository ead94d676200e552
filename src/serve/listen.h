/*
 * Inside serve: sockets to listen on.
 */
#ifndef KYMO_SERVE_LISTEN_H
#define KYMO_SERVE_LISTEN_H

#include "serve/server.h"

/*
 * Listens on an address and a port; *port becomes the one that was taken. When the port is in use:
 * if it was given, that fails and says which is free; otherwise the next free one is taken.
 */
bool listen_on(const char *host, struct serve_port wanted, const char *option, uint16_t *port,
               int *socket, struct error *err);
/* Whether the address can be reached from this machine alone. */
bool is_loopback(const char *host);

#endif
