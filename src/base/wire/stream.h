/*
 * Compressed streams: gzip (including several members) and zstd (including several frames),
 * recognized by their magic numbers. Uncompressed data passes through.
 */
#ifndef KYMO_BASE_WIRE_STREAM_H
#define KYMO_BASE_WIRE_STREAM_H

#include "base/base.h"

enum stream_kind { STREAM_PLAIN, STREAM_GZIP, STREAM_ZSTD };

enum stream_kind stream_kind_of(const uint8_t *data, size_t size);
const char *stream_kind_name(enum stream_kind kind);

struct stream;

/* name is for error messages; name and data must outlive the stream. */
struct stream *stream_open(const char *name, const uint8_t *data, size_t size);
/* Fills as much of buffer as there is data for; *got < size at the end. */
bool stream_read(struct stream *stream, uint8_t *buffer, size_t size, size_t *got,
                 struct error *err);
void stream_close(struct stream *stream);

/* Decompression bombs: a few KB can expand to terabytes. Profiles compress to about a tenth; a far
 * higher ratio is accepted only up to a small size. */
enum { STREAM_UNCHECKED_SIZE = 1 << 30, STREAM_MAX_RATIO = 1000 };

/* Decompresses everything into one block that the caller frees with mem_free. Above
 * STREAM_UNCHECKED_SIZE it may be at most max_ratio times the size of the data. */
bool stream_unpack_within(const char *name, const uint8_t *data, size_t size, size_t max_ratio,
                          uint8_t **unpacked, size_t *unpacked_size, struct error *err);
/* The same, up to STREAM_MAX_RATIO. */
bool stream_unpack(const char *name, const uint8_t *data, size_t size, uint8_t **unpacked,
                   size_t *unpacked_size, struct error *err);

/* Compresses blocks with gzip, each as a complete file; for use by one thread. */
struct packer;
struct packer *packer_create(void);
/* Replaces the content of out, a memory output. */
void packer_pack(struct packer *packer, const char *data, size_t size, struct output *out);
void packer_destroy(struct packer *packer);

#endif
