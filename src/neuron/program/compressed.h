/*
 * The archive inside a NEFF may be compressed. Builds without zlib have compressed_none.c, which
 * takes plain archives alone.
 */
#ifndef KYMO_NEURON_PROGRAM_COMPRESSED_H
#define KYMO_NEURON_PROGRAM_COMPRESSED_H

#include "base/wire/wire.h"
#include "neuron/program/neff.h"

/* *unpacked is NULL for plain archives; else to be freed with mem_free. */
bool archive_unpack(const char *path, const uint8_t *data, size_t size, uint8_t **unpacked,
                    size_t *unpacked_size, struct error *err);
/* Replaces the content of a memory output; not where it would be refused when it is read. */
bool archive_pack(struct output *archive, struct error *err);

#endif
