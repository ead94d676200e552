/*
 * Hash functions for in-memory tables. They are seeded at random in each process, so that no file
 * can be crafted to make all its names collide; nothing written to a file may depend on them.
 */
#ifndef KYMO_BASE_HASH_H
#define KYMO_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t size);
uint64_t hash_u64(uint64_t value);

/* Unseeded, unlike the others: the same in every run and on every machine, for checksums and
 * content addresses. Different seeds give independent results. */
uint64_t hash_content(const void *data, size_t size, uint64_t seed);

#endif
