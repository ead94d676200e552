/*
 * Integer map: an array for the small, dense keys that writers assign in order; a hash table for
 * the others.
 */
#include "base/idmap.h"

#include "base/hash.h"

#include <assert.h>
#include <string.h>

enum { FIRST_SLOTS = 64, FIRST_TABLE = 256 };

static struct idmap_entry *probe(const struct idmap *map, uint64_t key)
{
    size_t mask = map->slot_count - 1;
    for (size_t at = hash_u64(key) & mask;; at = (at + 1) & mask)
        if (map->slots[at].value == IDMAP_NONE || map->slots[at].key == key)
            return &map->slots[at];
}

static void slots_grow(struct idmap *map)
{
    struct idmap_entry *old = map->slots;
    size_t old_count = map->slot_count;
    map->slot_count = old_count ? old_count * 2 : FIRST_SLOTS;
    map->slots = mem_alloc(map->slot_count * sizeof *map->slots);
    memset(map->slots, 0xFF, map->slot_count * sizeof *map->slots);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].value != IDMAP_NONE)
            *probe(map, old[i].key) = old[i];
    mem_free(old);
}

void idmap_put(struct idmap *map, uint64_t key, uint32_t value)
{
    assert(value != IDMAP_NONE);
    uint64_t index = key - map->base;
    map->entries++;
    if (index < FIRST_TABLE + 4 * map->entries) { /* a mostly empty table wastes memory */
        if (index >= map->table.count) {
            array_reserve(&map->table, index + 1);
            memset(map->table.items + map->table.count, 0xFF,
                   (index + 1 - map->table.count) * sizeof *map->table.items);
            map->table.count = index + 1;
        }
        map->table.items[index] = value;
        return;
    }
    if (map->used * 2 >= map->slot_count)
        slots_grow(map);
    struct idmap_entry *entry = probe(map, key);
    map->used += entry->value == IDMAP_NONE;
    *entry = (struct idmap_entry){key, value};
}

uint32_t idmap_get_hashed(const struct idmap *map, uint64_t key)
{
    return map->slot_count ? probe(map, key)->value : IDMAP_NONE;
}

void idmap_free(struct idmap *map)
{
    array_free(&map->table);
    mem_free(map->slots);
    *map = (struct idmap){0};
}
