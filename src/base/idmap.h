/*
 * Map from 64-bit to 32-bit integers, filled once and then read millions of times. Small keys index
 * an array, the rest use a hash table. A later value for a key replaces an earlier one.
 */
#ifndef KYMO_BASE_IDMAP_H
#define KYMO_BASE_IDMAP_H

#include "base/array.h"

#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap_entry {
    uint64_t key;
    uint32_t value; /* IDMAP_NONE when free */
};

struct idmap {
    uint64_t base;         /* subtracted from keys; may be set while the map is empty */
    ARRAY(uint32_t) table; /* by key, for keys that are small for the number of entries */
    struct idmap_entry *slots;
    size_t slot_count, used;
    size_t entries; /* number of idmap_put calls */
};

void idmap_put(struct idmap *map, uint64_t key, uint32_t value);
uint32_t idmap_get_hashed(const struct idmap *map, uint64_t key);
void idmap_free(struct idmap *map);

static inline uint32_t idmap_get(const struct idmap *map, uint64_t key)
{
    uint64_t index = key - map->base;
    if (index < map->table.count && map->table.items[index] != IDMAP_NONE)
        return map->table.items[index];
    return idmap_get_hashed(map, key);
}

#endif
