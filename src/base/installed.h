/*
 * Files that were installed with the program, found from where the program itself lies: a tree that
 * was moved as a whole still works.
 */
#ifndef KYMO_BASE_INSTALLED_H
#define KYMO_BASE_INSTALLED_H

/* The path of a library of ours, NULL when it is not there; free it with mem_free. */
char *installed_library(const char *name);

#endif
