/*
 * Event filter: by core, and by type with a cached result per type. All state is in words that are
 * read and written atomically, as a late thread may still use it when the next capture begins.
 */
#include "capture/recorder/filter.h"

#include "capture/recorder/lane.h"

#include "capture/recorder/names.h"

enum { REMEMBERED = 256 };

bool filter_is_set;
static bool by_core;
static uint64_t cores[EVENT_CORE_WORDS];
static struct event_filter whole; /* read under the names' lock alone */
static uint32_t generation;
/* Number of the name << 32 | generation << 1 | whether it passes. */
static uint64_t answers[REMEMBERED];

void filter_set(const struct event_filter *filter)
{
    names_lock();
    whole = *filter;
    __atomic_store_n(&generation, generation + 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < EVENT_CORE_WORDS; i++)
        __atomic_store_n(&cores[i], filter->cores[i], __ATOMIC_RELAXED);
    __atomic_store_n(&by_core, filter->by_core, __ATOMIC_RELAXED);
    __atomic_store_n(&filter_is_set, filter->by_core || filter->by_type, __ATOMIC_RELAXED);
    names_unlock();
}

static bool type_passes(uint32_t id)
{
    uint64_t *place = &answers[id % REMEMBERED];
    uint64_t answer = __atomic_load_n(place, __ATOMIC_RELAXED);
    uint64_t key =
        (uint64_t)id << 32 | (__atomic_load_n(&generation, __ATOMIC_RELAXED) & 0x7FFFFFFF) << 1;
    if ((answer & ~(uint64_t)1) == key)
        return answer & 1;
    const struct ring_name *name = names_find(id);
    names_lock();
    bool passes = !whole.by_type ||
                  (name && event_filter_has_name(&whole, (const char *)(name + 1), name->size,
                                                 (enum event_group)name->group));
    names_unlock();
    __atomic_store_n(place, key | passes, __ATOMIC_RELAXED);
    return passes;
}

static bool core_passes(uint32_t core)
{
    if (!__atomic_load_n(&by_core, __ATOMIC_RELAXED))
        return true;
    if (core >= EVENT_CORES)
        return core == UINT32_MAX; /* events without a core */
    return __atomic_load_n(&cores[core / 64], __ATOMIC_RELAXED) >> (core % 64) & 1;
}

bool filter_asked(uint32_t name, uint16_t core, const struct kymo_lane *lane)
{
    return core_passes(core == RING_NO_CORE ? lane->header->core : core) && type_passes(name);
}
