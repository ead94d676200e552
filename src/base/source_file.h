/*
 * Source files that profiles name: paths on the machine that compiled a program, looked up below a
 * directory on this one.
 */
#ifndef KYMO_BASE_SOURCE_FILE_H
#define KYMO_BASE_SOURCE_FILE_H

enum { SOURCE_FILE_MAX_BYTES = 8 << 20 }; /* larger files are not shown */

/* The file below the root; leading directories of its name are dropped until one exists, NULL if
 * none does. Free with mem_free. */
char *source_file_find(const char *root, const char *name);

#endif
