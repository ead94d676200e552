/*
 * Bytes allocated before the capture are not known: use starts at 0 and never falls below. For a
 * pool, each allocation gives its size and use.
 */
#include "import/recording/gpu_memory.h"

#include "import/neuron_systrace/neuron.h"
#include "import/recording/gpu_pass.h"

#include <stdio.h>

enum { NAME_SIZE = 96, ALLOCATION = 1, DEVICE_MEMORY = 3 };

static const char *const kinds[] = {"unknown", "pageable", "pinned",        "device",
                                    "array",   "managed",  "device_static", "managed_static"};

const char *gpu_memory_kind(uint64_t kind)
{
    return kinds[kind < sizeof kinds / sizeof *kinds ? kind : 0];
}

/* For a release, CUPTI gives the use before it. */
static uint64_t used_afterwards(const uint64_t *v)
{
    uint64_t released = v[1] == ALLOCATION ? 0 : v[3];
    return v[11] > released ? v[11] - released : 0;
}

/* Columns are those of schema/gpu_trace.proto. Rows are only collected: memory in use can be summed
 * only in order of time, and threads write theirs out of order. */
void gpu_memory_collect(struct gpu_memory *memory, enum gpu_table table, const uint64_t *v)
{
    if (table == GPU_ALLOCATIONS)
        *array_push(&memory->changes) = (struct gpu_memory_change){
            .time_ns = v[0],
            .operation = (uint32_t)v[1],
            .kind = (uint32_t)v[2],
            .bytes = v[3] < INT64_MAX ? v[3] : INT64_MAX,
            .address = v[4],
            .device = (uint32_t)v[6],
            .correlation = v[7],
            .pool = v[10] ? v[8] : 0, /* without its size, nothing is known of a pool */
            .pool_bytes = v[10],
            .pool_used = used_afterwards(v)};
    if (table == GPU_POOLS)
        *array_push(&memory->changes) = (struct gpu_memory_change){.time_ns = v[0],
                                                                   .operation = (uint32_t)v[1],
                                                                   .kind = DEVICE_MEMORY,
                                                                   .device = (uint32_t)v[3],
                                                                   .pool = v[4],
                                                                   .pool_bytes = v[5],
                                                                   .pool_used = v[6],
                                                                   .threshold = v[7],
                                                                   .correlation = v[9],
                                                                   .is_of_pool = true};
}

static bool is_earlier(const void *a, const void *b, const void *context)
{
    (void)context;
    const struct gpu_memory_change *m = a, *n = b;
    return m->time_ns < n->time_ns;
}

void gpu_memory_sort(struct gpu_memory *memory)
{
    sort_items(memory->changes.items, memory->changes.count, sizeof *memory->changes.items,
               is_earlier, NULL);
}

void gpu_memory_free(struct gpu_memory *memory)
{
    array_free(&memory->changes);
    array_free(&memory->allocators);
    array_free(&memory->uses);
}

/* ---- Allocators ---------------------------------------------------------------------------- */

static bool is_of_device(uint32_t kind)
{
    return kind == DEVICE_MEMORY;
}

static struct gpu_allocator new_allocator(struct gpu_memory *memory, const struct gpu_pass *pass,
                                          const struct gpu_memory_change *change)
{
    struct catalog *catalog = &pass->target->recording->base.source.catalog;
    struct gpu_allocator allocator = {
        change->pool, change->kind, change->device, STRING_NONE, TRACK_NONE, TRACK_NONE, 0};
    char name[NAME_SIZE];
    if (!change->pool) {
        if (is_of_device(change->kind))
            snprintf(name, sizeof name, "GPU %u", change->device);
        else
            snprintf(name, sizeof name, "%s memory", gpu_memory_kind(change->kind));
        allocator.name = catalog_string(catalog, text_of(name));
        return allocator;
    }
    uint32_t number = ++memory->pools;
    snprintf(name, sizeof name, "GPU %u, memory pool %u", change->device, number);
    allocator.name = catalog_string(catalog, text_of(name));
    snprintf(name, sizeof name, "Memory pool %u: size (bytes)", number);
    allocator.size = gpu_counter_track(pass, change->device, text_of(name));
    snprintf(name, sizeof name, "Memory pool %u: used (bytes)", number);
    allocator.used = gpu_counter_track(pass, change->device, text_of(name));
    return allocator;
}

static struct gpu_allocator *allocator_of(struct gpu_memory *memory, const struct gpu_pass *pass,
                                          const struct gpu_memory_change *change)
{
    struct gpu_allocator *allocator;
    array_each (allocator, &memory->allocators)
        if (allocator->pool == change->pool && allocator->device == change->device &&
            (change->pool || allocator->kind == change->kind))
            return allocator;
    struct gpu_allocator added = new_allocator(memory, pass, change);
    allocator = array_push(&memory->allocators);
    *allocator = added;
    return allocator;
}

/* ---- Events and counters ------------------------------------------------------------------- */

static int64_t add_change(int64_t bytes, const struct gpu_memory_change *change)
{
    int64_t size = (int64_t)change->bytes;
    bytes = add_saturated(bytes, change->operation == ALLOCATION ? size : -size);
    return bytes < 0 ? 0 : bytes;
}

/* The counter of a device's memory, created with its first change. */
static struct gpu_memory_use *use_of(struct gpu_memory *memory, const struct gpu_pass *pass,
                                     uint32_t device)
{
    struct gpu_memory_use *use;
    array_each (use, &memory->uses)
        if (use->device == device)
            return use;
    uint32_t track = gpu_counter_track(pass, device, TEXT("Memory in use (bytes)"));
    use = array_push(&memory->uses);
    *use = (struct gpu_memory_use){device, track, 0};
    return use;
}

static bool put_use(struct gpu_memory *memory, const struct gpu_pass *pass,
                    const struct gpu_memory_change *change)
{
    struct gpu_memory_use *use = use_of(memory, pass, change->device);
    use->bytes = add_change(use->bytes, change);
    return gpu_put_counter(pass, use->track, pass->names->memory, change->time_ns,
                           (double)use->bytes);
}

static bool put_pool(const struct gpu_pass *pass, const struct gpu_memory_change *change,
                     const struct gpu_allocator *allocator)
{
    uint32_t type = pass->names->pools[0];
    return gpu_put_counter(pass, allocator->size, type, change->time_ns,
                           (double)change->pool_bytes) &&
           gpu_put_counter(pass, allocator->used, type, change->time_ns, (double)change->pool_used);
}

static void add_args(const struct gpu_pass *pass, const struct gpu_memory_change *change,
                     const struct gpu_allocator *allocator)
{
    bool has_pool = change->pool != 0;
    gpu_add_string(pass, KEY_ALLOCATOR, allocator->name);
    if (!change->is_of_pool) {
        gpu_add_number(pass, KEY_BYTES, change->bytes);
        gpu_add_number(pass, KEY_ADDRESS, change->address);
        gpu_add_text(pass, KEY_MEMORY_KIND, gpu_memory_kind(change->kind));
    } else if (change->threshold)
        gpu_add_number(pass, KEY_THRESHOLD, change->threshold);
    gpu_add_number(pass, KEY_USED, has_pool ? change->pool_used : (uint64_t)allocator->bytes);
    gpu_add_number(pass, KEY_RESERVED, has_pool ? change->pool_bytes : (uint64_t)allocator->bytes);
    if (is_of_device(change->kind))
        gpu_add_number(pass, KEY_DEVICE, change->device);
    gpu_add_number(pass, KEY_CORRELATION, change->correlation);
}

static bool take_change(struct gpu_memory *memory, const struct gpu_pass *pass,
                        const struct gpu_memory_change *change)
{
    const struct gpu_names *names = pass->names;
    struct gpu_allocator *allocator = allocator_of(memory, pass, change);
    uint32_t lane = gpu_host_track(pass, &memory->lane, TEXT("CUDA memory"));
    uint32_t operation = change->operation < GPU_POOL_OPERATIONS ? change->operation : 0;
    uint32_t type = change->is_of_pool                ? names->pools[operation]
                    : change->operation == ALLOCATION ? names->allocation
                                                      : names->release;
    if (!change->is_of_pool)
        allocator->bytes = add_change(allocator->bytes, change);
    if (pass->target->pusher)
        add_args(pass, change, allocator);
    return gpu_put(pass, lane, type, change->time_ns, 0) &&
           (!change->pool || put_pool(pass, change, allocator)) &&
           (change->is_of_pool || !is_of_device(change->kind) || put_use(memory, pass, change));
}

bool gpu_memory_take(struct gpu_memory *memory, const struct gpu_pass *pass)
{
    struct gpu_allocator *allocator;
    struct gpu_memory_use *use;
    const struct gpu_memory_change *change;
    array_each (allocator, &memory->allocators)
        allocator->bytes = 0;
    array_each (use, &memory->uses)
        use->bytes = 0;
    array_each (change, &memory->changes)
        if (!take_change(memory, pass, change))
            return false;
    return true;
}
