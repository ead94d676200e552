/*
 * What the parts of the Perfetto export share: the state of an export, and what writes packets.
 */
#ifndef KYMO_EXPORT_PERFETTO_PACKETS_H
#define KYMO_EXPORT_PERFETTO_PACKETS_H

#include "export/device_work.h"
#include "export/groups.h"
#include "export/perfetto/device.h"

#include "base/wire/wire.h"

/* Field numbers, by message. */
enum {
    TRACE_PACKET = 1,

    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,

    CLOCKS_CLOCK = 1,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,

    INTERNED_CATEGORIES = 1,
    INTERNED_EVENTS = 2,
    INTERNED_KEYS = 3,
    INTERNED_TEXTS = 29,
    ENTRY_ID = 1,
    ENTRY_TEXT = 2,

    TRACK_UUID = 1,
    TRACK_TITLE = 2,
    TRACK_AS_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_AS_COUNTER = 8,
    TRACK_CHILD_ORDER = 11,
    TRACK_RANK = 12,
    TRACK_MERGE = 15,
    TRACK_MERGE_KEY = 17,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,

    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_DOUBLE_VALUE = 44,
    EVENT_FLOW = 47,

    ANNOTATION_KEY = 1,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_JSON = 9,
    ANNOTATION_NAME = 10,
    ANNOTATION_INTERNED_TEXT = 17,
};

enum { FLAG_FIRST = 1, FLAG_USES_INTERNED = 2 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { BUILTIN_REALTIME = 1, BUILTIN_BOOTTIME = 6 };
enum { ORDER_EXPLICIT = 3, MERGE_BY_KEY = 3 };
enum { SEQUENCE = 1, MAX_INTERNED_BYTES = 256 << 10 };

/* The tracks of a lane. Events that overlap without nesting go to additional tracks of the same
 * name, which viewers merge. */
struct lane_tracks {
    uint64_t first; /* uuid; the others are consecutive */
    uint32_t count;
    uint8_t *of_event; /* NULL if there is only one track */
    /* The packets of unsorted lanes are buffered, then written in time order. */
    ARRAY(char) packets;
    uint64_t *starts, *ends; /* by event, offsets in packets; NULL for sorted lanes */
};

/* What events of Neuron's system profiles say of their place, as in the guides. */
enum place_key {
    PLACE_INSTANCE,
    PLACE_PROCESS,
    PLACE_THREAD,
    PLACE_CORE,
    PLACE_WORKER,
    PLACE_KEYS
};
struct perfetto {
    struct sink sink;
    const struct analysis *analysis;
    const struct catalog *catalog;
    const struct perfetto_options *options;
    struct output *out;
    struct groups groups;
    struct lane_tracks *lanes; /* by track */
    struct location *locations;
    uint32_t place_keys[PLACE_KEYS]; /* strings, or INTERN_NONE */
    bool has_places;                 /* events say where they happened */
    int64_t epoch_ns;
    uint64_t next_uuid;
    device_flow_list device_flows;
    struct device_work_list device_work;
    struct output *buffers; /* one per worker */
    struct sequencer turn;
    pthread_mutex_t lock; /* guards the packets of unsorted lanes */
};

enum track_kind { TRACK_OF_GROUP, TRACK_COUNTER, TRACK_DERIVED };

/* End times of the open events of one track, innermost last. */
typedef ARRAY(int64_t) end_stack;

enum { MAX_TRACKS = 255 };

/* tracks.c: what events refer to. */
uint64_t perfetto_time(const struct perfetto *perfetto, int64_t time_ps);
void perfetto_find_places(struct perfetto *perfetto);
/* The id of a string that is none of the catalog's. */
uint64_t perfetto_added_string(const struct perfetto *perfetto, uint64_t number);
void perfetto_put_clocks(struct perfetto *perfetto, struct output *out);
void perfetto_put_strings(struct perfetto *perfetto, struct output *out);
void perfetto_put_process(struct output *out, uint64_t uuid, const char *name);
void perfetto_put_track(struct output *out, uint64_t uuid, uint64_t parent, struct text name,
                        uint64_t rank, enum track_kind kind);
void perfetto_put_lane(struct perfetto *perfetto, struct output *out, uint32_t lane);
uint64_t perfetto_process(const struct perfetto *perfetto, uint32_t lane);
bool perfetto_is_gpu_lane(const struct perfetto *perfetto, uint32_t lane);
uint32_t perfetto_assign_track(end_stack *stacks, uint32_t *count, int64_t start, int64_t end);
/* A task for each track of the catalog. */
bool perfetto_plan(void *context, size_t index, unsigned worker);

/* events.c: packets of events. Several workers call these: they read shared tables only. */
void perfetto_put_event(const struct perfetto *perfetto, struct output *out,
                        const struct batch *batch, uint32_t event);
void perfetto_put_gpu_event(const struct perfetto *perfetto, struct output *out,
                            const struct batch *batch, uint32_t event);
void perfetto_put_sample(const struct perfetto *perfetto, struct output *out,
                         const struct batch *batch, uint32_t event);
void perfetto_put_run(const struct perfetto *perfetto, struct output *out, uint64_t track,
                      const struct row_event *run);
void perfetto_put_gpu_counters(const struct perfetto *perfetto, struct output *out);

#endif
