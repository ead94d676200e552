/*
 * File paths and directory listings, internal to the importers.
 */
#ifndef KYMO_IMPORT_PATHS_H
#define KYMO_IMPORT_PATHS_H

#include "base/base.h"

typedef ARRAY(char *) path_list;

/* Free it with mem_free. */
char *path_join(const char *directory, const char *name);
/* The part after the last slash. */
const char *path_name(const char *path);

/* The number in "rank3", "rank_3" or "Rank-3" in a name; false if there is none. */
bool rank_in_name(const char *name, int64_t *rank);

/* Entries of a directory as full paths, sorted by name; false when it cannot be read. */
bool paths_list(const char *directory, path_list *paths, struct error *err);
void paths_free(path_list *paths);

#endif
