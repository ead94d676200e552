/*
 * content: what a file that is no capture looks like, so that a message can say so.
 */
#ifndef KYMO_IMPORT_CONTENT_H
#define KYMO_IMPORT_CONTENT_H

#include "base/base.h"

/* Enough of a file to tell what it is. */
enum { CONTENT_HEAD_SIZE = 64 << 10 };

/* The first bytes of a file, unpacked if need be; their number. */
size_t content_head(const char *path, const struct file *file,
                    uint8_t head[static CONTENT_HEAD_SIZE]);

/* "PNG image"; head has the first bytes of the file, unpacked. NULL when nothing is known about
 * them. */
const char *content_kind(const uint8_t *head, size_t size);

/* Fails with what the file looks like and what Kymo reads instead. */
bool content_refuse(const char *path, const uint8_t *head, size_t size, struct error *err);
/* The same for a directory without captures. */
bool content_refuse_directory(const char *path, struct error *err);

#endif
