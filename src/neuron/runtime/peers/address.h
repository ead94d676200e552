/*
 * Addresses of processes: IPv4 or IPv6, and a port.
 */
#ifndef KYMO_NEURON_RUNTIME_PEERS_ADDRESS_H
#define KYMO_NEURON_RUNTIME_PEERS_ADDRESS_H

#include "base/base.h"

#include <sys/socket.h>

enum { ADDRESS_TEXT = 64 };

struct peer_address {
    uint16_t family; /* 4 or 6 */
    uint16_t port;
    uint8_t ip[16];
};

/* "ip:port", "[ipv6]:port" or "name:port"; all addresses of the name, free with mem_free. */
struct peer_address *addresses_of(const char *text, size_t *count, struct error *err);
const char *address_text(const struct peer_address *address, char text[static ADDRESS_TEXT]);
/* Of this end of a connection. */
bool address_own(int file, struct peer_address *address);
/* Of the other end. */
bool address_other(int file, struct peer_address *address);

/* A listening socket; port 0: any, and address gets it. -1: errno says why. */
int address_listen(struct peer_address *address);
/* A socket that has begun to connect. -1: errno says why. */
int address_connect(const struct peer_address *address);
/* Options of an established connection. */
void connection_tune(int file, uint64_t timeout_s);

#endif
