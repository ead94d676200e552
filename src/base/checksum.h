/*
 * Checksums that other tools compute as well: CRC-32 as in gzip and zlib, for damage; SHA-256, for
 * content addresses.
 */
#ifndef KYMO_BASE_CHECKSUM_H
#define KYMO_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum; the first call passes 0. */
uint32_t crc32_of(uint32_t crc, const void *data, size_t size);

enum { SHA256_SIZE = 32 };
struct sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    uint8_t block[64];
};
void sha256_begin(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t size);
void sha256_end(struct sha256 *sha, uint8_t digest[static SHA256_SIZE]);

#endif
