/*
 * Data about profiles beside their content (id, favorites, markers), internal to serve. Stored in
 * the workspace's notes/<name>, outside the profile's folder, so it survives reprocessing.
 */
#ifndef KYMO_SERVE_RUNS_NOTES_H
#define KYMO_SERVE_RUNS_NOTES_H

#include "serve/http/server.h"

/* An id that stays the same when the profile is renamed or processed again; made on first use.
 * False if it cannot be stored. */
enum { PROFILE_ID_SIZE = 17 };
bool notes_id(struct server *server, const char *name, char id[static PROFILE_ID_SIZE]);
bool notes_is_favorite(struct server *server, const char *name);
bool notes_set_favorite(struct server *server, const char *name, bool is_favorite,
                        struct error *err);
bool notes_rename(struct server *server, const char *name, const char *new_name, struct error *err);
void notes_remove(struct server *server, const char *name);

#endif
