/*
 * Hashing for the tables of this module and of those above. The function differs from one run of
 * the program to the next, so that no file can be crafted to make all its names collide; nothing
 * that is written may depend on it.
 */
#ifndef KYMO_BASE_HASH_H
#define KYMO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t size);
uint64_t hash_u64(uint64_t value);

/* The exception: the same in every run and on every machine, for checksums and names of contents.
 * Different seeds give independent results. */
uint64_t hash_content(const void *data, size_t size, uint64_t seed);

#endif
