/*
 * Files of the web UI, internal to serve. cmake/embed.cmake generates the table from ui/dist at
 * build time.
 */
#ifndef KYMO_SERVE_HTTP_ASSETS_H
#define KYMO_SERVE_HTTP_ASSETS_H

#include "serve/http/server.h"

struct asset {
    const char *path, *type, *tag; /* path: without a leading slash; tag: content hash */
    const unsigned char *data, *end;
    bool is_packed; /* gzip */
};

extern const struct asset assets[];
extern const size_t asset_count;

/* Replies with the file at the request's path, or index.html if the path names no file. */
void assets_reply(struct request *request, struct reply *reply);

/* Lets pages of this machine show the UI in a frame; call it before the server starts. */
void assets_allow_in_frames(void);
bool assets_allowed_in_frames(void);

#endif
