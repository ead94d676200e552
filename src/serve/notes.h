/*
 * Inside serve: what people note about a profile, favourites and markers. It lies in the
 * workspace's folder notes/<name>, not in the profile's own, and so outlives its being made again.
 */
#ifndef KYMO_SERVE_NOTES_H
#define KYMO_SERVE_NOTES_H

#include "serve/server.h"

bool notes_is_favourite(struct server *server, const char *name);
bool notes_set_favourite(struct server *server, const char *name, bool is_favourite,
                         struct error *err);
bool notes_rename(struct server *server, const char *name, const char *new_name, struct error *err);
void notes_remove(struct server *server, const char *name);

/* Forgets what is known about profiles; at the end. */
void profiles_cache_free(void);

#endif
