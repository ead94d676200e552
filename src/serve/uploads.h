/*
 * Inside serve: files on their way from a client to the disk.
 */
#ifndef KYMO_SERVE_UPLOADS_H
#define KYMO_SERVE_UPLOADS_H

#include "serve/server.h"

/* What takes the bytes of a body. False when it will take no more. */
bool upload_write(struct upload *upload, const char *data, size_t size);
/* When the request is over, however it ended; NULL does nothing. */
void upload_close(struct upload *upload);

#endif
