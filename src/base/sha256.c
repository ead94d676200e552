/*
 * SHA-256, after FIPS 180-4.
 */
#include "base/checksum.h"

#include <string.h>

/* Fractional parts of the cube roots of the first 64 primes. */
static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t value, unsigned bits)
{
    return value >> bits | value << (32 - bits);
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void expand(const uint8_t *block, uint32_t words[64])
{
    for (size_t i = 0; i < 16; i++)
        words[i] = big_endian(block + 4 * i);
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + words[i - 7] +
                   (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
}

static void add_block(struct sha256 *sha, const uint8_t *block)
{
    uint32_t words[64];
    expand(block, words);
    uint32_t a = sha->state[0], b = sha->state[1], c = sha->state[2], d = sha->state[3],
             e = sha->state[4], f = sha->state[5], g = sha->state[6], h = sha->state[7];
    for (size_t i = 0; i < 64; i++) {
        uint32_t first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                         ((e & f) ^ (~e & g)) + rounds[i] + words[i];
        uint32_t second =
            (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++)
        sha->state[i] += sums[i];
}

void sha256_begin(struct sha256 *sha)
{
    /* Fractional parts of the square roots of the first 8 primes. */
    *sha = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                     0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *sha, const void *data, size_t size)
{
    const uint8_t *at = data;
    size_t used = sha->size % sizeof sha->block;
    sha->size += size;
    if (used > 0) {
        size_t part = sizeof sha->block - used < size ? sizeof sha->block - used : size;
        if (part > 0)
            memcpy(sha->block + used, at, part);
        at += part;
        size -= part;
        if (used + part < sizeof sha->block)
            return;
        add_block(sha, sha->block);
    }
    for (; size >= sizeof sha->block; at += sizeof sha->block, size -= sizeof sha->block)
        add_block(sha, at);
    if (size > 0)
        memcpy(sha->block, at, size);
}

void sha256_end(struct sha256 *sha, uint8_t digest[static SHA256_SIZE])
{
    static const uint8_t padding[64] = {0x80};
    uint8_t length[8];
    uint64_t bits = sha->size * 8;
    for (size_t i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    size_t used = sha->size % 64;
    sha256_add(sha, padding, used < 56 ? 56 - used : 120 - used);
    sha256_add(sha, length, sizeof length);
    for (size_t i = 0; i < SHA256_SIZE; i++)
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}
