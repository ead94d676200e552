/*
 * Identifies files that are not captures ("PNG image"), for error messages.
 */
#ifndef KYMO_IMPORT_CONTENT_H
#define KYMO_IMPORT_CONTENT_H

#include "base/base.h"

/* Size of the prefix used to identify a file. */
enum { CONTENT_HEAD_SIZE = 64 << 10 };

/* Reads the first bytes of a file, decompressed if necessary; returns their number. */
size_t content_head(const char *path, const struct file *file,
                    uint8_t head[static CONTENT_HEAD_SIZE]);

/* "PNG image"; head has the first bytes of the file, decompressed. NULL when unknown. */
const char *content_kind(const uint8_t *head, size_t size);

/* Fails with a description of the file and of the formats that Kymo reads. */
bool content_refuse(const char *path, const uint8_t *head, size_t size, struct error *err);
/* The same for a directory without captures. */
bool content_refuse_directory(const char *path, struct error *err);

#endif
