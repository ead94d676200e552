/*
 * The open connections of a listener, internal to serve: what each waits for, until when, and which
 * one gives way when there are too many.
 */
#ifndef KYMO_SERVE_HTTP_CLIENTS_H
#define KYMO_SERVE_HTTP_CLIENTS_H

#include "serve/http/server.h"

/* What a connection waits for its client to do. Those being served wait for the server. */
enum client_phase {
    CLIENT_SENDS_HEADER, /* or is idle between requests */
    CLIENT_SENDS_BODY,
    CLIENT_RECEIVES,
    CLIENT_PHASES,
    CLIENT_IS_SERVED = CLIENT_PHASES,
};

/* max: of all addresses; one gets MAX_ADDRESS_PERCENT. */
struct clients;
struct clients *clients_create(size_t max);
void clients_destroy(struct clients *clients);
/* For MHD_OPTION_NOTIFY_CONNECTION. A connection too many closes another one, or itself where all
 * others are being served. */
void clients_notify(void *clients, struct MHD_Connection *connection, void **socket_context,
                    enum MHD_ConnectionNotificationCode code);
/* Closes connections past their deadline; call periodically. */
void clients_tick(struct clients *clients);

/* The wait begins, for so long at most; 0 for no deadline. */
void client_enter(struct MHD_Connection *connection, enum client_phase phase, int64_t within_ms);
/* Some of what it waits for has come; the deadline stays. */
void client_progress(struct MHD_Connection *connection);

/* An IPv4 address, or the /64 prefix of an IPv6 address: a client owns all of its /64. */
struct client_address {
    uint64_t family, number;
};
struct client_address client_address(struct MHD_Connection *connection);
bool client_is_same(struct client_address a, struct client_address b);

#endif
