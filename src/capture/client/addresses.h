/*
 * Addresses of servers: HOST:PORT, with IPv6 addresses in brackets.
 */
#ifndef KYMO_CAPTURE_CLIENT_ADDRESSES_H
#define KYMO_CAPTURE_CLIENT_ADDRESSES_H

#include "base/base.h"

struct remote_address {
    char *given; /* HOST:PORT */
    char *host;  /* as in a URL */
    char *name;  /* of the file: HOST_PORT, or what was set */
    unsigned port;
};
typedef ARRAY(struct remote_address) address_list;

/* `names`: of the files, as many as there are addresses, with commas between them; or NULL. */
bool addresses_read(address_list *list, const char *text, const char *names, struct error *err);
void addresses_free(address_list *list);

#endif
