/*
 * Hash tables of handles with linear probing, each with its own lock to keep contention low,
 * whose holder reaches no cancellation point.
 */
#include "capture/neuron/objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { TABLES = 16, FIRST_SLOTS = 64 };

struct entry {
    const void *handle; /* NULL: free */
    uint64_t size;
    uint32_t core;
    uint32_t name_size;
    char *name;
};

static struct table {
    pthread_mutex_t lock;
    struct entry *entries;
    size_t slots, used;
} tables[TABLES] = {[0 ... TABLES - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

/* Handles are addresses: their low bits carry little information. */
static uint64_t hash_of(const void *handle)
{
    uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

static struct table *lock_table(uint64_t hash)
{
    struct table *table = &tables[hash % TABLES];
    pthread_mutex_lock(&table->lock);
    return table;
}

/* The handle's entry, or the free one to insert it at. There is always a free one. */
static struct entry *find_slot(struct entry *entries, size_t slots, const void *handle)
{
    size_t i = hash_of(handle) / TABLES & (slots - 1);
    while (entries[i].handle && entries[i].handle != handle)
        i = (i + 1) & (slots - 1);
    return &entries[i];
}

static bool make_room(struct table *table)
{
    if (table->used + 1 < table->slots / 2)
        return true;
    size_t slots = table->slots ? table->slots * 2 : FIRST_SLOTS;
    struct entry *entries = calloc(slots, sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i < table->slots; i++)
        if (table->entries[i].handle)
            *find_slot(entries, slots, table->entries[i].handle) = table->entries[i];
    free(table->entries);
    table->entries = entries;
    table->slots = slots;
    return true;
}

void objects_add(const void *handle, uint32_t core, uint64_t size, const char *name)
{
    if (!handle)
        return;
    struct table *table = lock_table(hash_of(handle));
    if (make_room(table)) {
        struct entry *entry = find_slot(table->entries, table->slots, handle);
        if (entry->handle)
            free(entry->name);
        else
            table->used++;
        *entry = (struct entry){.handle = handle, .size = size, .core = core};
        entry->name = name ? strndup(name, OBJECT_NAME - 1) : NULL;
        entry->name_size = entry->name ? (uint32_t)strlen(entry->name) : 0;
    }
    pthread_mutex_unlock(&table->lock);
}

/* Moves up the entries after a freed one, so that probing does not stop early. */
static void close_gap(struct table *table, size_t gap)
{
    size_t mask = table->slots - 1;
    for (size_t i = (gap + 1) & mask; table->entries[i].handle; i = (i + 1) & mask) {
        size_t home = hash_of(table->entries[i].handle) / TABLES & mask;
        if (((i - home) & mask) < ((i - gap) & mask))
            continue;
        table->entries[gap] = table->entries[i];
        gap = i;
    }
    table->entries[gap] = (struct entry){0};
}

void objects_remove(const void *handle)
{
    if (!handle)
        return;
    struct table *table = lock_table(hash_of(handle));
    struct entry *entry = table->slots ? find_slot(table->entries, table->slots, handle) : NULL;
    if (entry && entry->handle) {
        free(entry->name);
        close_gap(table, (size_t)(entry - table->entries));
        table->used--;
    }
    pthread_mutex_unlock(&table->lock);
}

void objects_find(const void *handle, struct known_object *object)
{
    object->core = UINT32_MAX;
    object->size = 0;
    object->is_known = false;
    object->name[0] = '\0';
    if (!handle)
        return;
    struct table *table = lock_table(hash_of(handle));
    const struct entry *entry =
        table->slots ? find_slot(table->entries, table->slots, handle) : NULL;
    if (entry && entry->handle) {
        object->core = entry->core;
        object->size = entry->size;
        object->is_known = true;
        if (entry->name)
            memcpy(object->name, entry->name, entry->name_size + 1);
    }
    pthread_mutex_unlock(&table->lock);
}

void objects_lock(void)
{
    for (size_t i = 0; i < TABLES; i++)
        pthread_mutex_lock(&tables[i].lock);
}

void objects_unlock(void)
{
    for (size_t i = 0; i < TABLES; i++)
        pthread_mutex_unlock(&tables[i].lock);
}
