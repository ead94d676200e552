/*
 * Records become rows on the thread on which CUPTI hands them over, which is its own while the
 * program runs.
 */
#include "cuda/activity.h"

#include "cuda/buffers.h"
#include "cuda/trace_file.h"

#include <stdio.h>
#include <time.h>

enum { ROWS_PER_LOCK = 256 };

static const struct cupti *library;

/* Calls that launch work; others are recorded on request. */
static const uint32_t driver_launches[] = {307, 442, 514, 515, 652, 653};
static const uint32_t runtime_launches[] = {211, 214, 269, 311, 312, 430, 431};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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
    trace_row(TRACE_COPIES, (const uint64_t[]){c->start, duration(c->start, c->end),
                                               trace_stream(c->device, c->context, c->stream),
                                               c->copy_kind, c->source_kind, c->destination_kind,
                                               c->flags, c->bytes, c->correlation, c->graph_node,
                                               c->graph, 0, 0});
}

static void put_peer_copy(const struct cupti_memcpy2 *c)
{
    trace_row(TRACE_COPIES,
              (const uint64_t[]){c->start, duration(c->start, c->end),
                                 trace_stream(c->device, c->context, c->stream), c->copy_kind,
                                 c->source_kind, c->destination_kind, c->flags, c->bytes,
                                 c->correlation, c->graph_node, c->graph,
                                 (uint64_t)c->source_device + 1,
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

/* Records whose times CUPTI could not get have none. */
static void put_record(const struct cupti_record *record)
{
    const void *data = record;
    switch (record->kind) {
    case CUPTI_KERNEL:
    case CUPTI_CONCURRENT_KERNEL:
        put_kernel(data);
        break;
    case CUPTI_MEMCPY:
        put_copy(data);
        break;
    case CUPTI_MEMCPY2:
        put_peer_copy(data);
        break;
    case CUPTI_MEMSET:
        put_fill(data);
        break;
    case CUPTI_DRIVER:
    case CUPTI_RUNTIME:
        put_call(data);
        break;
    case CUPTI_SYNCHRONIZATION:
        put_wait(data);
        break;
    case CUPTI_GRAPH_TRACE:
        put_graph(data);
        break;
    case CUPTI_OVERHEAD:
        put_overhead(data);
        break;
    case CUPTI_DEVICE:
        trace_device(data);
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

/* The lock is let go now and then: threads of the program wait for it to name a graph's node. */
static void put_records(uint8_t *buffer, size_t valid)
{
    struct cupti_record *record = NULL;
    bool more = true;
    while (more) {
        trace_file_lock();
        for (int i = 0; more && i < ROWS_PER_LOCK; i++) {
            more = library->ActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS;
            if (more)
                put_record(record);
        }
        trace_file_unlock();
    }
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)size;
    size_t dropped = 0;
    if (!buffer)
        return;
    put_records(buffer, valid);
    library->ActivityGetNumDroppedRecords(context, stream, &dropped);
    trace_file_lock();
    trace_lost(dropped);
    trace_file_flush();
    trace_file_unlock();
    buffers_return(buffer, valid);
}

/* ---- Control ------------------------------------------------------------------------------- */

static bool check(uint32_t result, const char *what, char problem[static 256])
{
    if (result != CUPTI_SUCCESS)
        snprintf(problem, 256, "%s: %s", what, cupti_result(library, result));
    return result == CUPTI_SUCCESS;
}

/* Attributes that a version does not know are left alone. */
static void set_attributes(void)
{
    uint8_t zeroed = 1;
    size_t size = sizeof zeroed;
    library->ActivitySetAttribute(CUPTI_ZEROED_OUT_BUFFER, &size, &zeroed);
    size_t buffers = 6;
    size = sizeof buffers;
    library->ActivitySetAttribute(CUPTI_DEVICE_BUFFER_PRE_ALLOCATE, &size, &buffers);
}

static void enable_launches(void)
{
    if (!library->ActivityEnableDriverApi || !library->ActivityEnableRuntimeApi) {
        library->ActivityEnable(CUPTI_RUNTIME);
        return;
    }
    for (size_t i = 0; i < sizeof driver_launches / sizeof *driver_launches; i++)
        library->ActivityEnableDriverApi(driver_launches[i], 1);
    for (size_t i = 0; i < sizeof runtime_launches / sizeof *runtime_launches; i++)
        library->ActivityEnableRuntimeApi(runtime_launches[i], 1);
}

static const uint32_t kinds[] = {CUPTI_DEVICE,  CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY,
                                 CUPTI_MEMCPY2, CUPTI_MEMSET,            CUPTI_SYNCHRONIZATION,
                                 CUPTI_OVERHEAD};

bool activity_start(const struct cupti *cupti, enum activity_detail detail,
                    char problem[static 256])
{
    library = cupti;
    set_attributes();
    cupti->SetThreadIdType(CUPTI_THREAD_ID_SYSTEM);
    if (!check(cupti->ActivityRegisterTimestampCallback(now_ns), "clock", problem) ||
        !check(cupti->ActivityRegisterCallbacks(requested, completed), "buffers", problem))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!check(cupti->ActivityEnable(kinds[i]), "activity", problem))
            return false;
    if (detail == ACTIVITY_GRAPHS)
        cupti->ActivityEnable(CUPTI_GRAPH_TRACE);
    enable_launches();
    return true;
}

void activity_flush(const struct cupti *cupti, bool all)
{
    cupti->ActivityFlushAll(all ? CUPTI_FLUSH_FORCED : 0);
}

void activity_stop(const struct cupti *cupti)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        cupti->ActivityDisable(kinds[i]);
    cupti->ActivityDisable(CUPTI_GRAPH_TRACE);
    activity_flush(cupti, true);
}
