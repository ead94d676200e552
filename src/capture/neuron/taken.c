/*
 * Fetched events on their way into the capture: types by their current names, times from the
 * runtime's clock to the capture's.
 */
#include "capture/neuron/taken.h"

#include "base/clock.h"
#include "capture/neuron/call.h"

#include <stdio.h>
#include <string.h>

#define SECOND  ((int64_t)1000000000)
#define OUTSIDE (60 * SECOND) /* a time this far from the trace's is wrong */

/* Types that have a wrapper. */
static const uint16_t wrapped_types[] = {
#define STATUS(name, ...)                 EVENT_##name,
#define VALUE(type, otherwise, name, ...) EVENT_##name,
#define VOID(name, ...)                   EVENT_##name,
#include "capture/neuron/calls.def"
};

static struct {
    uint64_t skipped[EVENT_TYPE_WORDS];          /* recorded by their wrappers */
    struct kymo_lane *lanes[EVENT_CORES + 1];    /* the last: of no core */
    int64_t begun_ns;                            /* CLOCK_MONOTONIC */
    enum { UNKNOWN, REALTIME, MONOTONIC } clock; /* the runtime's */
    /* Of the fetch at hand. */
    int64_t now_ns, epoch_ns; /* CLOCK_MONOTONIC; the epoch's time at its zero */
    uint64_t ticks;           /* of the capture, now; 0: not read */
    double ticks_per_ns;
    uint64_t wrong;
    char texts[FETCHED_TEXTS];
} taken;

void taken_begin(const uint64_t *types)
{
    memset(taken.skipped, 0, sizeof taken.skipped);
    for (size_t i = 0; i < sizeof wrapped_types / sizeof *wrapped_types; i++)
        event_set_bit(taken.skipped, wrapped_types[i], !event_bit(types, wrapped_types[i]));
    taken.begun_ns = clock_monotonic_ns();
    taken.clock = UNKNOWN;
}

void taken_end(void)
{
    for (size_t i = 0; i <= EVENT_CORES; i++) {
        kymo_lane_close(taken.lanes[i]);
        taken.lanes[i] = NULL;
    }
}

/* Whether a time on a clock with this offset from CLOCK_MONOTONIC may be one of the trace. */
static bool is_within(int64_t time_ns, int64_t offset_ns, int64_t *monotonic_ns)
{
    return !__builtin_sub_overflow(time_ns, offset_ns, monotonic_ns) &&
           *monotonic_ns > taken.begun_ns - OUTSIDE && *monotonic_ns < taken.now_ns + OUTSIDE;
}

/* The published documents do not say which clock a timestamp is of: the first one tells. */
static bool monotonic_time(int64_t time_ns, int64_t *monotonic_ns)
{
    if (taken.clock != MONOTONIC && is_within(time_ns, taken.epoch_ns, monotonic_ns))
        taken.clock = REALTIME;
    else if (taken.clock != REALTIME && is_within(time_ns, 0, monotonic_ns))
        taken.clock = MONOTONIC;
    else
        return false;
    return true;
}

/* All times of a fetch with the same measure, so that they keep their order. */
static uint64_t ticks_at(int64_t monotonic_ns)
{
    if (taken.ticks == 0) {
        taken.ticks = kymo_ticks_at(taken.now_ns);
        taken.ticks_per_ns =
            (double)(taken.ticks - kymo_ticks_at(taken.now_ns - SECOND)) / (double)SECOND;
    }
    return taken.ticks +
           (uint64_t)(int64_t)((double)(monotonic_ns - taken.now_ns) * taken.ticks_per_ns);
}

/* The other half of a sync point is on the host's clock, which is the epoch's in a capture. */
static void adjust_args(struct fetched_event *event)
{
    for (size_t i = 0; taken.clock == MONOTONIC && i < event->count; i++)
        if (event->args[i].type == KYMO_INT && strcmp(event->args[i].key, "cpu_timestamp_ns") == 0)
            __builtin_add_overflow(event->args[i].value.i, taken.epoch_ns, &event->args[i].value.i);
}

static struct kymo_lane *lane_of(const struct fetched_event *event)
{
    char name[32] = "runtime";
    bool has_lane = event->has_core && event->core < EVENT_CORES;
    struct kymo_lane **lane = &taken.lanes[has_lane ? event->core : EVENT_CORES];
    if (!*lane && has_lane)
        snprintf(name, sizeof name, "runtime %u", event->core);
    if (!*lane)
        *lane = kymo_lane_open(name, has_lane ? event->core : UINT32_MAX);
    return *lane;
}

static void record_event(const struct fetched_event *event, enum runtime_event type,
                         int64_t monotonic_ns)
{
    static const uint8_t kinds[] = {[TRACE_POINT] = KYMO_KIND_INSTANT,
                                    [TRACE_START] = KYMO_KIND_BEGIN,
                                    [TRACE_STOP] = KYMO_KIND_END};
    bool is_known = type != EVENT_TYPES;
    bool is_hardware = is_known && event_type_group(type) == EVENT_HARDWARE;
    struct kymo_lane *lane = lane_of(event);
    if (!lane)
        return;
    const struct kymo_lane_event there = {
        .type = kymo_type_id(is_known ? event_type_name(type) : event->type,
                             is_hardware ? KYMO_HARDWARE : KYMO_SOFTWARE,
                             is_known ? call_level(type) : 1),
        .core = event->has_core ? (uint16_t)event->core : (uint16_t)KYMO_NO_CORE,
        .kind = kinds[event->phase],
        .id = event->tracking_id,
        .ticks = ticks_at(monotonic_ns)};
    kymo_lane_record(lane, &there, event->args, event->count);
}

static void take(void *user, struct fetched_event *event)
{
    (void)user;
    enum runtime_event type = event_type_find(event->type, strlen(event->type));
    int64_t monotonic_ns;
    if (type != EVENT_TYPES && event_bit(taken.skipped, type))
        return;
    if (!kymo_wants(type != EVENT_TYPES ? call_level(type) : 1))
        return;
    if (!monotonic_time(event->time_ns, &monotonic_ns)) {
        taken.wrong++;
        return;
    }
    adjust_args(event);
    record_event(event, type, monotonic_ns);
}

void taken_record(const char *json, size_t size, struct fetched *found)
{
    taken.now_ns = clock_monotonic_ns();
    taken.epoch_ns = clock_epoch_ns();
    taken.ticks = 0;
    taken.wrong = 0;
    fetched_read(json, size, taken.texts, take, NULL, found);
    if (taken.wrong + found->non_events + found->lost > 0)
        kymo_count_lost(taken.wrong + found->non_events + found->lost);
}
