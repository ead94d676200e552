/*
 * Bit packing: integers of a fixed width of a few bits, without gaps, least significant bit first,
 * as in Parquet and the timeline index. Reads and writes whole words: 16 bytes after the packed
 * ones must be accessible.
 */
#ifndef KYMO_BASE_WIRE_BITS_H
#define KYMO_BASE_WIRE_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BITS_SLACK = 16 };

/* The bit width a value needs; 0 for 0. */
static inline unsigned bits_needed(uint64_t value)
{
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

static inline size_t bits_bytes(size_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Values must fit in width bits. */
static inline void bits_pack(uint8_t *out, const uint64_t *values, size_t count, unsigned width)
{
    uint64_t word = 0;
    unsigned used = 0;
    for (size_t i = 0; i < count; i++) {
        word |= values[i] << used;
        used += width;
        if (used >= 64) {
            memcpy(out, &word, 8);
            out += 8;
            used -= 64;
            word = used ? values[i] >> (width - used) : 0;
        }
    }
    memcpy(out, &word, 8);
}

static inline uint64_t bits_mask(unsigned width)
{
    return width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
}

/* Reads one packed value. */
static inline uint64_t bits_at(const uint8_t *packed, size_t index, unsigned width)
{
    size_t bit = index * width;
    unsigned shift = bit & 7;
    uint64_t word;
    memcpy(&word, packed + bit / 8, 8);
    word >>= shift;
    if (shift > 0 && shift + width > 64)
        word |= (uint64_t)packed[bit / 8 + 8] << (64 - shift);
    return word & bits_mask(width);
}

#endif
