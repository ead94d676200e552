/*
 * The archive inside a NEFF may be compressed. Builds without zlib have compressed_none.c, which
 * takes only plain archives.
 */
#ifndef KYMO_NEURON_PROGRAM_COMPRESSED_H
#define KYMO_NEURON_PROGRAM_COMPRESSED_H

#include "base/wire/wire.h"
#include "neuron/program/neff.h"

/* *unpacked is NULL for plain archives; otherwise free it with mem_free. */
bool archive_unpack(const char *path, const uint8_t *data, size_t size, uint8_t **unpacked,
                    size_t *unpacked_size, struct error *err);
/* Replaces the content of a memory output, unless it would be refused when read. */
bool archive_pack(struct output *archive, struct error *err);

#endif
