/*
 * Locates files installed with the program, relative to the program's own path, so that an
 * installation can be moved as a whole.
 */
#ifndef KYMO_BASE_INSTALLED_H
#define KYMO_BASE_INSTALLED_H

/* The path of one of Kymo's libraries, NULL when it does not exist; free it with mem_free. */
char *installed_library(const char *name);

#endif
