/*
 * Inside store: paths and locks of the workspace.
 */
#ifndef KYMO_STORE_PATHS_H
#define KYMO_STORE_PATHS_H

#include "base/base.h"

#define WORKSPACE "/profiles/global"
#define PARTIAL   ".partial"
#define REPLACED  ".replaced"
#define REMOVED   ".removed"
#define LOCK      ".lock"

bool make_directories(const char *path, struct error *err);

/* The directory of all profiles. */
char *profiles_path(const char *data_path, struct error *err);
/* "name" of an entry "name@latest", or empty. */
struct text profile_name(const char *entry);

/* Returns the descriptor of the lock file, or -1 with errno set; EWOULDBLOCK if another process
 * holds it. */
int take_lock(const char *path);
void drop_lock(const char *path, int lock);

#endif
