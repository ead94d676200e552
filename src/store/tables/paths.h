/*
 * Inside store: paths and locks of the workspace.
 */
#ifndef KYMO_STORE_TABLES_PATHS_H
#define KYMO_STORE_TABLES_PATHS_H

#include "base/base.h"

#define WORKSPACE "/profiles/global"
#define PARTIAL   ".partial"
#define REPLACED  ".replaced"
#define REMOVED   ".removed"
#define LOCK      ".lock"

/* The directory of all profiles. */
char *profiles_path(const char *data_path, struct error *err);
/* "name" of an entry "name@latest", or empty. */
struct text profile_name(const char *entry);

#endif
