/*
 * CRC-32, eight bytes at a time: a table for each of the eight places.
 */
#include "neuroncore/crc.h"

void crc_prepare(struct crc_tables *tables)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
        tables->entries[0][i] = crc;
    }
    for (unsigned place = 1; place < 8; place++)
        for (unsigned i = 0; i < 256; i++) {
            uint32_t before = tables->entries[place - 1][i];
            tables->entries[place][i] = before >> 8 ^ tables->entries[0][before & 255];
        }
}

uint32_t crc_update(const struct crc_tables *tables, uint32_t crc, const uint8_t *data, size_t size)
{
    const uint32_t (*entries)[256] = tables->entries;
    crc = ~crc;
    for (; size >= 8; data += 8, size -= 8) {
        crc ^= data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
        crc = entries[7][crc & 255] ^ entries[6][crc >> 8 & 255] ^ entries[5][crc >> 16 & 255] ^
              entries[4][crc >> 24] ^ entries[3][data[4]] ^ entries[2][data[5]] ^
              entries[1][data[6]] ^ entries[0][data[7]];
    }
    for (; size > 0; data++, size--)
        crc = crc >> 8 ^ entries[0][(crc ^ *data) & 255];
    return ~crc;
}
