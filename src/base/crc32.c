/*
 * CRC-32 (the polynomial of gzip), eight bytes at a time: a table for each of them.
 */
#include "base/checksum.h"

#include <string.h>

static uint32_t tables[8][256];

__attribute__((constructor)) static void fill_tables(void)
{
    const uint32_t polynomial = 0xEDB88320u; /* bit-reversed */
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        tables[0][byte] = crc;
    }
    for (size_t table = 1; table < 8; table++)
        for (size_t byte = 0; byte < 256; byte++) {
            uint32_t before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][before & 0xFF];
        }
}

static uint32_t eight_bytes(uint32_t crc, const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    word ^= crc;
    return tables[7][word & 0xFF] ^ tables[6][word >> 8 & 0xFF] ^ tables[5][word >> 16 & 0xFF] ^
           tables[4][word >> 24 & 0xFF] ^ tables[3][word >> 32 & 0xFF] ^
           tables[2][word >> 40 & 0xFF] ^ tables[1][word >> 48 & 0xFF] ^ tables[0][word >> 56];
}

uint32_t crc32_of(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *at = data;
    crc = ~crc;
    for (; size >= 8; size -= 8, at += 8)
        crc = eight_bytes(crc, at);
    for (; size > 0; size--, at++)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xFF];
    return ~crc;
}
