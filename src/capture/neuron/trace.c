/*
 * Dispatches an event to the rings and to libkymo.
 */
#include "capture/neuron/trace.h"

#include "capture/neuron/rings.h"

#include <errno.h>

enum { ID_BLOCK = 1024 }; /* ids a thread reserves at once */

static uint32_t type_ids[EVENT_TYPES]; /* libkymo's ids, once assigned */

uint64_t trace_next_id(void)
{
    static uint64_t next = 1;
    static __thread uint64_t mine, end;
    if (mine == end) {
        mine = __atomic_fetch_add(&next, ID_BLOCK, __ATOMIC_RELAXED);
        end = mine + ID_BLOCK;
    }
    return mine++;
}

/* Unpublished events, which only the interposer emits, have a less important level. */
static int level_of(enum runtime_event type)
{
    return (int)type < (int)EVENT_PUBLISHED ? 1 : 2;
}

static uint32_t type_id(enum runtime_event type)
{
    uint32_t id = __atomic_load_n(&type_ids[type], __ATOMIC_RELAXED);
    if (id == 0) {
        id = kymo_type_id(event_type_name(type),
                          event_type_group(type) == EVENT_HARDWARE ? KYMO_HARDWARE : KYMO_SOFTWARE,
                          level_of(type));
        __atomic_store_n(&type_ids[type], id, __ATOMIC_RELAXED);
    }
    return id;
}

static void to_capture(const struct trace_record *event, const struct kymo_arg *args, size_t count)
{
    static const uint8_t kinds[] = {[TRACE_POINT] = KYMO_KIND_INSTANT,
                                    [TRACE_START] = KYMO_KIND_BEGIN,
                                    [TRACE_STOP] = KYMO_KIND_END};
    const struct kymo_lane_event there = {
        .type = type_id(event->type),
        .core = event->core < KYMO_NO_CORE ? (uint16_t)event->core : (uint16_t)KYMO_NO_CORE,
        .kind = kinds[event->phase],
        .id = event->tracking_id,
        .ticks = event->monotonic_ns ? kymo_ticks_at(event->monotonic_ns) : 0};
    kymo_lane_record(NULL, &there, args, count);
}

void trace_emit(const struct trace_record *event, const struct kymo_arg *args, size_t count)
{
    int problem = errno;
    if (__atomic_load_n(&trace_in_rings, __ATOMIC_RELAXED))
        rings_push(event, args, count);
    if (kymo_wants(level_of(event->type)))
        to_capture(event, args, count);
    errno = problem;
}
