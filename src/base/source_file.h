/*
 * Source files that profiles name: paths on the machine that compiled a program, looked up below a
 * directory on this one.
 */
#ifndef KYMO_BASE_SOURCE_FILE_H
#define KYMO_BASE_SOURCE_FILE_H

enum { SOURCE_FILE_MAX_BYTES = 8 << 20 }; /* larger files are not shown */

/* A directory and, once a file was not where its name says, the list of its files. For one thread.
 * NULL of a directory that is NULL or not there, which has no files; close with source_root_close.
 */
struct source_root;
struct source_root *source_root_open(const char *directory);
void source_root_close(struct source_root *root);

/*
 * The file below the directory that has most of the name's last parts: "/home/me/gpt/train.py" is
 * gpt/train.py, else train.py, else in whatever folder, as archives have one at their top, the
 * only one of that name. NULL if there is none, or several are as good. Free with mem_free.
 */
char *source_file_find(struct source_root *root, const char *name);

#endif
