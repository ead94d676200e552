/*
 * Streams uploaded files to disk, internal to serve.
 */
#ifndef KYMO_SERVE_UPLOADS_H
#define KYMO_SERVE_UPLOADS_H

#include "serve/jobs.h"

/* Writes a chunk of the body. False to abort the connection. */
bool upload_write(struct upload *upload, const char *data, size_t size);
/* Call when the request has ended in any way; NULL is ignored. */
void upload_close(struct upload *upload);

/* Creates a job if its name is free, and replies with its id; otherwise replies why not. It
 * replaces failed ones with the same name. */
bool upload_create(struct server *server, struct reply *reply, const struct job *job);
/* Bytes that uploads and captures may still take; 0 with the reply set if there are none. */
uint64_t upload_bytes_left(struct server *server, struct reply *reply);

#endif
