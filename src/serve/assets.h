/*
 * Inside serve: the files of the UI, which are part of the program. cmake/embed.cmake makes the
 * table from ui/dist when the program is built.
 */
#ifndef KYMO_SERVE_ASSETS_H
#define KYMO_SERVE_ASSETS_H

#include "serve/server.h"

struct asset {
    const char *path, *type, *tag; /* path: without a slash before it; tag: of the content */
    const unsigned char *data, *end;
    bool is_packed; /* with gzip */
};

extern const struct asset assets[];
extern const size_t asset_count;

/* The file of the request's path; for paths that are none of a file, index.html. */
void assets_reply(struct request *request, struct reply *reply);

#endif
