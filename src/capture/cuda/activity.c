/*
 * Buffers go from CUPTI into a queue on whatever thread it hands them over; their records become
 * rows on ours.
 */
#include "capture/cuda/activity.h"

#include "base/clock.h"
#include "capture/cuda/calls.h"
#include "capture/cuda/counters.h"
#include "capture/cuda/pm_sampling.h"
#include "capture/cuda/say.h"
#include "capture/cuda/trace_file.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { ROWS_PER_LOCK = 256 };

static const struct cupti *library;
static struct gpu_options options;

/* For CUPTI to call. */
static uint64_t now_ns(void)
{
    return (uint64_t)clock_monotonic_ns();
}

/* ---- Records to rows ----------------------------------------------------------------------- */

static uint64_t duration(uint64_t start, uint64_t end)
{
    return end > start ? end - start : 0;
}

static void put_kernel(const struct cupti_kernel *k)
{
    trace_row(TRACE_KERNELS,
              (const uint64_t[]){k->start, duration(k->start, k->end),
                                 trace_stream(k->device, k->context, k->stream), trace_shape(k),
                                 k->correlation, k->graph_node, k->graph});
}

static void put_copy(const struct cupti_memcpy *c)
{
    trace_row(TRACE_COPIES,
              (const uint64_t[]){c->start, duration(c->start, c->end),
                                 trace_stream(c->device, c->context, c->stream), c->copy_kind,
                                 c->source_kind, c->destination_kind, c->flags, c->bytes,
                                 c->correlation, c->graph_node, c->graph, 0, 0});
}

static void put_peer_copy(const struct cupti_memcpy2 *c)
{
    trace_row(TRACE_COPIES, (const uint64_t[]){c->start, duration(c->start, c->end),
                                               trace_stream(c->device, c->context, c->stream),
                                               c->copy_kind, c->source_kind, c->destination_kind,
                                               c->flags, c->bytes, c->correlation, c->graph_node,
                                               c->graph, (uint64_t)c->source_device + 1,
                                               (uint64_t)c->destination_device + 1});
}

static void put_fill(const struct cupti_memset *f)
{
    trace_row(TRACE_FILLS, (const uint64_t[]){f->start, duration(f->start, f->end),
                                              trace_stream(f->device, f->context, f->stream),
                                              f->value, f->memory_kind, f->bytes, f->correlation,
                                              f->graph_node, f->graph});
}

static void put_call(const struct cupti_call *c)
{
    const char *name = NULL;
    library->GetCallbackName(c->kind == CUPTI_DRIVER ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME,
                             c->id, &name);
    trace_thread(c->thread);
    trace_row(TRACE_CALLS,
              (const uint64_t[]){c->start, duration(c->start, c->end), trace_text(name), c->thread,
                                 c->correlation, c->result});
}

static void put_wait(const struct cupti_synchronization *w)
{
    trace_row(TRACE_WAITS, (const uint64_t[]){w->start, duration(w->start, w->end), w->type,
                                              w->context, w->stream, w->event, w->correlation});
}

static void put_graph(const struct cupti_graph_trace *g)
{
    trace_row(TRACE_GRAPHS, (const uint64_t[]){g->start, duration(g->start, g->end),
                                               trace_stream(g->device, g->context, g->stream),
                                               g->graph, g->correlation});
}

static void put_overhead(const struct cupti_overhead *o)
{
    trace_row(TRACE_OVERHEADS, (const uint64_t[]){o->start, duration(o->start, o->end),
                                                  o->overhead_kind, o->object_kind, o->object[1]});
}

/* Of no stream, or of none that is known. */
static uint32_t stream_of(const struct cupti_memory *m)
{
    return m->is_async && m->stream != UINT32_MAX ? trace_stream(m->device, m->context, m->stream)
                                                  : 0;
}

/* For a pool shared by another process, CUPTI reports the process instead of the size. */
static void put_allocation(const struct cupti_memory *m)
{
    bool has_pool = m->pool_type == CUPTI_POOL_LOCAL;
    trace_row(TRACE_ALLOCATIONS,
              (const uint64_t[]){m->timestamp, m->operation, m->memory_kind, m->bytes, m->address,
                                 stream_of(m), m->device, m->correlation, m->pool_address,
                                 m->is_async != 0, has_pool ? m->pool_size : 0,
                                 has_pool ? m->pool_used : 0});
}

static void put_pool(const struct cupti_memory_pool *p)
{
    trace_row(TRACE_POOLS, (const uint64_t[]){p->timestamp, p->operation, p->type, p->device,
                                              p->address, p->size, p->used, p->release_threshold,
                                              p->kept_bytes, p->correlation});
}

static bool is_wanted(uint32_t device)
{
    return options.devices == 0 || device < options.devices;
}

/* What the GPUs did. Records whose times CUPTI could not get have none. */
static void put_work(const struct cupti_record *record)
{
    const void *data = record;
    const struct cupti_kernel *kernel = data;
    const struct cupti_memcpy *copy = data;
    const struct cupti_memcpy2 *peer = data;
    const struct cupti_memset *fill = data;
    const struct cupti_graph_trace *graph = data;
    switch (record->kind) {
    case CUPTI_MEMCPY:
        if (is_wanted(copy->device))
            put_copy(copy);
        break;
    case CUPTI_MEMCPY2:
        if (is_wanted(peer->device))
            put_peer_copy(peer);
        break;
    case CUPTI_MEMSET:
        if (is_wanted(fill->device))
            put_fill(fill);
        break;
    case CUPTI_GRAPH_TRACE:
        if (is_wanted(graph->device))
            put_graph(graph);
        break;
    default:
        if (is_wanted(kernel->device))
            put_kernel(kernel);
    }
}

/* A device that is not wanted has no counters. */
static void put_device(const struct cupti_device *device)
{
    trace_device(device);
    if (is_wanted(device->id)) {
        counters_add(device);
        pm_sampling_add(device->id);
    }
}

/* Unknown kinds are ignored: newer versions of CUPTI may add some. */
static void put_record(const struct cupti_record *record)
{
    const void *data = record;
    switch (record->kind) {
    case CUPTI_KERNEL:
    case CUPTI_CONCURRENT_KERNEL:
    case CUPTI_MEMCPY:
    case CUPTI_MEMCPY2:
    case CUPTI_MEMSET:
    case CUPTI_GRAPH_TRACE:
        put_work(record);
        break;
    case CUPTI_DRIVER:
    case CUPTI_RUNTIME:
        put_call(data);
        break;
    case CUPTI_SYNCHRONIZATION:
        put_wait(data);
        break;
    case CUPTI_OVERHEAD:
        put_overhead(data);
        break;
    case CUPTI_MEMORY2:
        put_allocation(data);
        break;
    case CUPTI_MEMORY_POOL:
        put_pool(data);
        break;
    case CUPTI_DEVICE:
        put_device(data);
        break;
    default:
        break;
    }
}

/* ---- Buffers ------------------------------------------------------------------------------- */

static void requested(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = buffers_take();
    *size = *buffer ? BUFFER_SIZE : 0;
    *most_records = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    if (buffer)
        buffers_fill(&(struct filled){
            .buffer = buffer, .valid = valid, .context = context, .stream = stream});
}

/* A buffer that cannot be read to its end has lost at least one record. */
static void note_end(uint32_t result)
{
    static atomic_bool said;
    if (result == CUPTI_ERROR_MAX_LIMIT_REACHED)
        return;
    trace_file_lock();
    trace_lost(1);
    trace_file_unlock();
    if (!atomic_exchange(&said, true))
        say("records of GPUs are lost: CUPTI's buffer cannot be read: %s",
            cupti_result(library, result));
}

/* The lock is released now and then: a thread of the program may wait for it, see graphs.c. */
static void put_records(const struct filled *filled)
{
    struct cupti_record *record = NULL;
    uint32_t result = CUPTI_SUCCESS;
    while (result == CUPTI_SUCCESS) {
        trace_file_lock();
        for (int i = 0; result == CUPTI_SUCCESS && i < ROWS_PER_LOCK; i++) {
            result = library->ActivityGetNextRecord(filled->buffer, filled->valid, &record);
            if (result == CUPTI_SUCCESS)
                put_record(record);
        }
        trace_file_unlock();
    }
    note_end(result);
}

void activity_decode(const struct filled *filled)
{
    size_t dropped = 0;
    put_records(filled);
    if (library->ActivityGetNumDroppedRecords(filled->context, filled->stream, &dropped) !=
        CUPTI_SUCCESS)
        dropped = 0;
    trace_file_lock();
    trace_lost(dropped);
    trace_file_unlock();
    buffers_return(filled);
}

/* ---- Control ------------------------------------------------------------------------------- */

static bool check(uint32_t result, const char *what, char problem[static 256])
{
    if (result != CUPTI_SUCCESS)
        snprintf(problem, 256, "CUPTI refuses %s: %s", what, cupti_result(library, result));
    return result == CUPTI_SUCCESS;
}

/* Attributes that a version does not know are left alone. */
static void set_attributes(void)
{
    uint8_t zeroed = 1;
    size_t size = sizeof zeroed;
    library->ActivitySetAttribute(CUPTI_ZEROED_OUT_BUFFER, &size, &zeroed);
    size_t count = 6;
    size = sizeof count;
    library->ActivitySetAttribute(CUPTI_DEVICE_BUFFER_PRE_ALLOCATE, &size, &count);
}

/* Without the first there is nothing to see; the others may be missing. Those before
 * graphs come in windows where the capture is sampled. */
static const struct {
    uint32_t kind;
    const char *name;
} kinds[] = {
    {CUPTI_CONCURRENT_KERNEL, "kernels"},
    {CUPTI_MEMCPY, "copies"},
    {CUPTI_MEMCPY2, "copies between devices"},
    {CUPTI_MEMSET, "fills"},
    {CUPTI_SYNCHRONIZATION, "synchronization"},
    {CUPTI_OVERHEAD, "its own overhead"},
    {CUPTI_GRAPH_TRACE, "graphs"}, /* at this level of detail only */
    {CUPTI_DEVICE, "devices"},     /* these are always on */
    {CUPTI_MEMORY2, "allocations"},
    {CUPTI_MEMORY_POOL, "pools of memory"},
};
enum { KINDS = sizeof kinds / sizeof *kinds, GRAPHS = KINDS - 4 };

/* Devices that CUDA has initialized before are reported only on request. */
static uint32_t enable_kind(uint32_t kind)
{
    return kind == CUPTI_DEVICE && library->ActivityEnableAndDump
               ? library->ActivityEnableAndDump(kind)
               : library->ActivityEnable(kind);
}

static bool enable_kinds(char problem[static 256])
{
    for (size_t i = 0; i < KINDS; i++) {
        if (i == GRAPHS && options.detail != GPU_GRAPHS)
            continue;
        uint32_t result = enable_kind(kinds[i].kind);
        if (i == 0 && !check(result, "to record kernels", problem))
            return false;
        if (result != CUPTI_SUCCESS)
            say("CUPTI does not record %s: %s", kinds[i].name, cupti_result(library, result));
    }
    calls_enable(library, true);
    return true;
}

void activity_enable(bool is_on)
{
    for (size_t i = 0; i < GRAPHS; i++)
        if (is_on)
            library->ActivityEnable(kinds[i].kind);
        else
            library->ActivityDisable(kinds[i].kind);
    calls_enable(library, is_on);
}

bool activity_start(const struct cupti *cupti, const struct gpu_options *wanted, bool attached,
                    char problem[static 256])
{
    library = cupti;
    options = *wanted;
    set_attributes();
    calls_choose(cupti, options.calls, attached);
    cupti->SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
    return check(cupti->ActivityRegisterTimestampCallback(now_ns), "our clock", problem) &&
           check(cupti->ActivityRegisterCallbacks(requested, completed), "our buffers", problem) &&
           enable_kinds(problem);
}

void activity_flush(bool all)
{
    library->ActivityFlushAll(all ? CUPTI_FLUSH_FORCED : 0);
}

void activity_stop(void)
{
    activity_enable(false);
    for (size_t i = GRAPHS; i < KINDS; i++)
        library->ActivityDisable(kinds[i].kind);
    activity_flush(true);
}
