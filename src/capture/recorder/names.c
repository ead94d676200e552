/*
 * Names: an append-only file of texts and a hash table over it. The table is read without a lock:
 * entries never change, and a table that is too small is replaced by a copy and kept until the end.
 */
#include "capture/recorder/names.h"

#include "capture/recorder/lock.h"
#include "capture/recorder/region.h"
#include "kymo/kymo.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    /* Of the file at most. Values of args run out of room first, then names made at run time; names
     * and keys from the program's source have room to the end. */
    NAMES_SIZE = RING_NAMES_SIZE,
    DYNAMIC_SIZE = 48 << 20,
    VALUES_SIZE = 32 << 20,
    NAMES_STEP = 64 << 10, /* what is reserved at once */
    FIRST_SLOTS = 1024,
    LONGEST_TEXT = 1 << 20,
    SMALL_TEXT = 256, /* where it finds no room, no other is looked for */
};

/* A slot is hash << 32 | number, 0 when free. */
struct table {
    struct table *smaller; /* the one it replaced; a reader may still be in it */
    size_t mask, used;
    _Atomic uint64_t slots[];
};

static struct {
    struct lock lock;
    uint8_t *base; /* NAMES_SIZE bytes of addresses, the same in all captures */
    struct region region;
    struct table *_Atomic table;
    bool open;             /* new names may be made */
    _Atomic size_t closed; /* no room was found for texts that end at this size or a lower one */
    char path[PATH_MAX];
} names = {.lock = LOCK_INITIALIZER};

/* FNV-1a with a last mix, after Fowler, Noll and Vo; never 0. */
static uint32_t hash_text(const char *text, size_t size, unsigned attributes)
{
    uint64_t hash = 0xCBF29CE484222325u ^ attributes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001B3u;
    hash ^= hash >> 29;
    return (uint32_t)(hash ^ hash >> 32) | 1;
}

static const struct ring_name *name_of(uint32_t id)
{
    return (const struct ring_name *)(names.base + (size_t)id * 8);
}

static bool is_text(uint32_t id, const char *text, size_t size, enum ring_group group, int level)
{
    const struct ring_name *name = name_of(id);
    return name->size == size && name->group == group && name->level == level &&
           memcmp(name + 1, text, size) == 0;
}

static uint32_t find(const struct table *table, uint32_t hash, const char *text, size_t size,
                     enum ring_group group, int level)
{
    for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
        uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_acquire);
        if (slot == 0)
            return 0;
        if (slot >> 32 == hash && is_text((uint32_t)slot, text, size, group, level))
            return (uint32_t)slot;
    }
}

static void insert(struct table *table, uint64_t slot)
{
    size_t i = slot >> 32 & table->mask;
    while (atomic_load_explicit(&table->slots[i], memory_order_relaxed) != 0)
        i = (i + 1) & table->mask;
    atomic_store_explicit(&table->slots[i], slot, memory_order_release);
    table->used++;
}

/* A table with room for one more, or NULL. */
static struct table *roomy_table(void)
{
    struct table *table = atomic_load_explicit(&names.table, memory_order_relaxed);
    if (table && table->used < table->mask / 2)
        return table;
    size_t slots = table ? (table->mask + 1) * 2 : FIRST_SLOTS;
    struct table *larger = calloc(1, sizeof *larger + slots * sizeof *larger->slots);
    if (!larger)
        return NULL;
    larger->smaller = table;
    larger->mask = slots - 1;
    for (size_t i = 0; table && i <= table->mask; i++) {
        uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
        if (slot)
            insert(larger, slot);
    }
    atomic_store_explicit(&names.table, larger, memory_order_release);
    return larger;
}

static struct ring_names *header(void)
{
    return (struct ring_names *)names.base;
}

/* With the lock held; the end of a capture reads the count without it. */
static void count_lost(void)
{
    __atomic_store_n(&header()->lost, header()->lost + 1, __ATOMIC_RELAXED);
}

/* Appends an entry that ends before `most`; the lock is held. */
static uint32_t append(struct ring_name name, const char *text, size_t most)
{
    uint64_t used = header()->used;
    size_t size = (sizeof name + name.size + 7) & ~(size_t)7;
    size_t step = (used + size + NAMES_STEP - 1) / NAMES_STEP * NAMES_STEP;
    if (!names.open || used + size > most ||
        !region_reserve(&names.region, names.path, step < NAMES_SIZE ? step : NAMES_SIZE)) {
        if (names.open && size <= SMALL_TEXT &&
            most > atomic_load_explicit(&names.closed, memory_order_relaxed))
            atomic_store_explicit(&names.closed, most, memory_order_relaxed);
        return 0;
    }
    memcpy(names.base + used, &name, sizeof name);
    memcpy(names.base + used + sizeof name, text, name.size);
    __atomic_store_n(&header()->used, used + size, __ATOMIC_RELEASE);
    return (uint32_t)(used / 8);
}

static size_t bounded_size(const char *text)
{
    return strnlen(text, LONGEST_TEXT);
}

/* The lock is held. */
static uint32_t add_text(const char *text, size_t size, enum ring_group group, int level,
                         size_t most)
{
    struct table *table = roomy_table();
    if (!table)
        return 0;
    uint32_t hash = hash_text(text, size, (unsigned)group << 8 | (unsigned)level);
    uint32_t id = find(table, hash, text, size, group, level);
    if (id)
        return id;
    id = append((struct ring_name){.size = (uint32_t)size,
                                   .group = (uint8_t)group,
                                   .level = (uint8_t)level},
                text, most);
    if (id)
        insert(table, (uint64_t)hash << 32 | id);
    return id;
}

static uint32_t find_or_add(const char *text, enum ring_group group, int level, size_t most)
{
    if (!text)
        return 0;
    size_t size = bounded_size(text);
    const struct table *table = atomic_load_explicit(&names.table, memory_order_acquire);
    uint32_t hash = hash_text(text, size, (unsigned)group << 8 | (unsigned)level);
    uint32_t id = table ? find(table, hash, text, size, group, level) : 0;
    if (id || most <= atomic_load_explicit(&names.closed, memory_order_relaxed))
        return id;
    names_lock();
    id = names.open ? add_text(text, size, group, level, most) : 0;
    names_unlock();
    return id;
}

uint32_t names_text(const char *text, enum ring_group group, int level)
{
    return find_or_add(text, group, level, DYNAMIC_SIZE);
}

void names_count_lost(void)
{
    names_lock();
    if (names.open)
        count_lost();
    names_unlock();
}

/* A text's address mostly identifies it: keys are literals, and values come from the same places
 * again and again. The text there now is compared, which takes a third of the time of a search. */
static uint32_t find_by_address(const char *text, size_t most)
{
    enum { REMEMBERED = 1024 };
    static uint32_t remembered[REMEMBERED];
    if (!text)
        return 0;
    uint32_t *place = &remembered[((uintptr_t)text * 0x9E3779B97F4A7C15u) >> 54];
    uint32_t id = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (id) {
        const struct ring_name *name = name_of(id);
        if (strncmp((const char *)(name + 1), text, name->size) == 0 && text[name->size] == '\0')
            return id;
    }
    id = find_or_add(text, RING_SOFTWARE, 0, most);
    __atomic_store_n(place, id, __ATOMIC_RELEASE);
    return id;
}

uint32_t names_key(const char *key)
{
    return find_by_address(key, DYNAMIC_SIZE);
}

uint32_t names_value(const char *text)
{
    return find_by_address(text, VALUES_SIZE);
}

/* The lock is held. The same as a text, of which the place is a part. */
static uint32_t add_located(const char *text, int level, uint32_t file, uint32_t line)
{
    struct table *table = roomy_table();
    if (!table)
        return 0;
    size_t size = bounded_size(text);
    uint32_t hash = hash_text(text, size, file * 0x9E3779B1u + line);
    for (size_t i = hash & table->mask;; i = (i + 1) & table->mask) {
        uint64_t slot = atomic_load_explicit(&table->slots[i], memory_order_relaxed);
        if (slot == 0)
            break;
        const struct ring_name *name = name_of((uint32_t)slot);
        if (slot >> 32 == hash && name->file == file && name->line == line &&
            is_text((uint32_t)slot, text, size, RING_SOFTWARE, level))
            return (uint32_t)slot;
    }
    uint32_t id = append(
        (struct ring_name){
            .size = (uint32_t)size, .level = (uint8_t)level, .file = file, .line = line},
        text, DYNAMIC_SIZE);
    if (id)
        insert(table, (uint64_t)hash << 32 | id);
    return id;
}

uint32_t names_located(const char *text, int level, const char *file, uint32_t line)
{
    names_lock();
    uint32_t id = 0;
    if (names.open && text) {
        uint32_t place = file ? add_text(file, bounded_size(file), 0, 0, DYNAMIC_SIZE) : 0;
        id = add_located(text, level, place, line);
        if (id == 0)
            count_lost();
    }
    names_unlock();
    return id;
}

uint32_t names_site(struct kymo_site *site)
{
    names_lock();
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    if (id == 0 && names.open) {
        const char *name = site->name ? site->name : "";
        uint32_t file =
            site->file ? add_text(site->file, bounded_size(site->file), 0, 0, NAMES_SIZE) : 0;
        id = append((struct ring_name){.size = (uint32_t)bounded_size(name),
                                       .level = site->level,
                                       .group = site->group,
                                       .file = file,
                                       .line = site->line},
                    name, NAMES_SIZE);
        if (id == 0)
            count_lost();
        __atomic_store_n(&site->id, id, __ATOMIC_RELEASE);
    }
    names_unlock();
    return id;
}

/* Known keys are found without the lock: the id is stored before the key, so whoever sees the key
 * also sees its id. Keys beyond KYMO_SITE_KEYS are looked up each time. */
uint32_t names_site_key(struct kymo_site *site, const char *key)
{
    if (!key)
        return 0;
    for (size_t i = 0; i < KYMO_SITE_KEYS; i++) {
        const char *known = __atomic_load_n(&site->keys[i], __ATOMIC_ACQUIRE);
        if (known == key)
            return __atomic_load_n(&site->key_ids[i], __ATOMIC_RELAXED);
        if (!known)
            break;
    }
    uint32_t id = find_or_add(key, RING_SOFTWARE, 0, NAMES_SIZE);
    names_lock();
    if (id == 0 && names.open)
        count_lost();
    for (size_t i = 0; id && i < KYMO_SITE_KEYS; i++) {
        if (site->keys[i] == key)
            break;
        if (site->keys[i])
            continue;
        __atomic_store_n(&site->key_ids[i], id, __ATOMIC_RELAXED);
        __atomic_store_n(&site->keys[i], key, __ATOMIC_RELEASE);
        break;
    }
    names_unlock();
    return id;
}

/* The new file takes the place of the old one, with its content, at the same addresses. */
static bool replace_file(const char *path)
{
    struct region region;
    uint64_t used = names.region.base ? __atomic_load_n(&header()->used, __ATOMIC_ACQUIRE) : 0;
    size_t ready = used > NAMES_STEP ? (size_t)used : NAMES_STEP;
    if (!region_create(&region, path, NAMES_SIZE, ready, NULL))
        return false;
    if (used > 0)
        memcpy(region.base, names.base, (size_t)used);
    /* In a child of fork, the parent goes on adding to the old file meanwhile. */
    *(struct ring_names *)region.base =
        (struct ring_names){.magic = RING_NAMES_MAGIC,
                            .version = RING_VERSION,
                            .used = used > 0 ? used : sizeof(struct ring_names)};
    if (mremap(region.base, NAMES_SIZE, NAMES_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, names.base) ==
        MAP_FAILED) {
        region_unmap(&region);
        return false;
    }
    names.region = region;
    names.region.base = names.base;
    return true;
}

bool names_start(const char *path)
{
    names_lock();
    if (!names.base) {
        void *base =
            mmap(NULL, NAMES_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        names.base = base == MAP_FAILED ? NULL : base;
    }
    bool ok = names.base && replace_file(path);
    if (ok) {
        snprintf(names.path, sizeof names.path, "%s", path);
        names.open = true;
        atomic_store_explicit(&names.closed, 0, memory_order_relaxed);
    }
    names_unlock();
    return ok;
}

void names_stop(void)
{
    names_lock();
    names.open = false;
    names_unlock();
}

void names_lock(void)
{
    lock_take(&names.lock);
}

void names_unlock(void)
{
    lock_release(&names.lock);
}

void names_forked(void)
{
    names.open = false;
}

const struct ring_name *names_find(uint32_t id)
{
    /* The table is there before the first number is given out. */
    if (id == 0 || !atomic_load_explicit(&names.table, memory_order_acquire))
        return NULL;
    uint64_t used = __atomic_load_n(&header()->used, __ATOMIC_ACQUIRE);
    uint64_t text = (uint64_t)id * 8 + sizeof(struct ring_name);
    /* A program may give any number for one of its own. */
    return text <= used && name_of(id)->size <= used - text ? name_of(id) : NULL;
}

const struct ring_names *names_mapped(void)
{
    return header();
}
