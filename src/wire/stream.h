/*
 * Compressed streams: gzip (also several members in a row) and zstd (also several frames), told
 * apart by their first bytes. A source that is not compressed passes through.
 */
#ifndef KYMO_WIRE_STREAM_H
#define KYMO_WIRE_STREAM_H

#include "base/base.h"

enum stream_kind { STREAM_PLAIN, STREAM_GZIP, STREAM_ZSTD };

enum stream_kind stream_kind_of(const uint8_t *data, size_t size);
const char *stream_kind_name(enum stream_kind kind);

struct stream;

/* name is for error messages; name and data must outlive the stream. */
struct stream *stream_open(const char *name, const uint8_t *data, size_t size);
/* Fills as much of buffer as there is data for; *got < size means the end was reached. */
bool stream_read(struct stream *stream, uint8_t *buffer, size_t size, size_t *got,
                 struct error *err);
void stream_close(struct stream *stream);

/* Unpacks everything into one block of memory that the caller frees with mem_free. */
bool stream_unpack(const char *name, const uint8_t *data, size_t size, uint8_t **unpacked,
                   size_t *unpacked_size, struct error *err);

/* Packs blocks with gzip, one after the other, each a file by itself; for one thread. */
struct packer;
struct packer *packer_create(void);
/* Replaces what out, a memory output, holds. */
void packer_pack(struct packer *packer, const char *data, size_t size, struct output *out);
void packer_destroy(struct packer *packer);

#endif
