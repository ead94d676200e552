/*
 * Paths and directories, inside the importers.
 */
#ifndef KYMO_IMPORT_PATHS_H
#define KYMO_IMPORT_PATHS_H

#include "base/base.h"

typedef ARRAY(char *) path_list;

/* To be freed with mem_free. */
char *path_join(const char *directory, const char *name);
/* What is behind the last slash. */
const char *path_name(const char *path);

/* Entries of a directory as full paths, sorted by name; false when it cannot be read. */
bool paths_list(const char *directory, path_list *paths, struct error *err);
void paths_free(path_list *paths);

#endif
