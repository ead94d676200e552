/*
 * CRC-32, as zlib and Ethernet compute it.
 */
#ifndef KYMO_NEURONCORE_CRC_H
#define KYMO_NEURONCORE_CRC_H

#include <stddef.h>
#include <stdint.h>

struct crc_tables {
    uint32_t entries[8][256];
};
void crc_prepare(struct crc_tables *tables);
/* Of more bytes, after those that gave `crc`; 0 to begin with. */
uint32_t crc_update(const struct crc_tables *tables, uint32_t crc, const uint8_t *data,
                    size_t size);

#endif
