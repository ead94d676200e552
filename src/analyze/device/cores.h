/*
 * Cores whose profiles are read as one: their executions, and the lanes on which people see them.
 * Part of device.h, which includes it.
 *
 * Lanes number what happens: event n of a lane is the same thing wherever the lanes are used, on
 * timelines as in tables. Executions follow each other.
 */
#ifndef KYMO_ANALYZE_DEVICE_CORES_H
#define KYMO_ANALYZE_DEVICE_CORES_H

#include "analyze/device/usage.h"

enum device_lane_kind {
    DEVICE_LANE_ENGINE,      /* unit: engine; of Tensor all but what goes through the array */
    DEVICE_LANE_MATRIX,      /* that */
    DEVICE_LANE_QUEUE,       /* unit: queue; its block runs */
    DEVICE_LANE_CC_CORE,     /* unit: CC-core; its steps */
    DEVICE_LANE_COLLECTIVES, /* unit: CC-core */
    DEVICE_LANE_ERRORS,
    DEVICE_LANE_THROTTLE,
    DEVICE_LANE_SERIES,     /* unit: enum device_series_kind */
    DEVICE_LANE_SCRATCHPAD, /* uses of its tensors */
    DEVICE_LANE_PACKETS,    /* unit: queue, part: DMA engine */
    DEVICE_LANE_SEMAPHORE,  /* unit: semaphore; its values */
    DEVICE_LANE_KINDS
};

struct device_lane {
    uint8_t kind;
    uint32_t unit, part;
    uint64_t events;
};

/* What an execution has on a lane. */
struct device_part {
    uint32_t execution, lane;
    uint64_t first, count; /* events of the lane */
};

struct device_core {
    struct device_profile *profile;
    char *neff_path, *ntff_path;
    struct device_execution *executions; /* all of them, their lists in slabs */
    ARRAY(char *) slabs;                 /* large blocks, which need not stay in memory */
    size_t slab_size, slab_left;         /* bytes of the last one, and how many are free */
    uint32_t execution_count;
    struct device_usage usage;        /* of all executions */
    struct device_analysis *analysis; /* of all executions; findings by device_analysis_find */
    bool tracks_memory;               /* set before it is read: scratchpad is made, and its lanes */
    device_scratchpad_uses *scratchpad; /* by execution; NULL: not tracked */
    ARRAY(struct device_lane) lanes;
    uint32_t first_track; /* of the lanes' consecutive tracks; set by the maker of tracks */
    ARRAY(struct device_part) parts; /* by execution, then lane */
    uint32_t *lane_of_slot;          /* slots: all lanes there could be */
};
struct device_cores { /* an array: see base/array.h */
    struct device_core *items;
    size_t count, capacity;
};

/* Adds a core and takes the profile over; also on failure. Its executions are read by
 * device_cores_read. */
void device_cores_add(struct device_cores *cores, struct device_profile *profile,
                      const char *neff_path, const char *ntff_path);
/* Reads all executions of all cores. Executions of the same number begin together: that is when
 * ranks meet. */
void device_cores_read(struct device_cores *cores, struct pool *pool);
void device_cores_free(struct device_cores *cores);

/* The lane of a kind, unit and part; NO_INDEX where there is none, as nothing ever happened on it.
 */
uint32_t device_lane_of(const struct device_core *core, enum device_lane_kind kind, uint32_t unit,
                        uint32_t part);
/* The lane of an instruction of an engine. */
uint32_t device_instruction_lane(const struct device_core *core, enum engine engine, uint32_t pc);
/* Number of the first event that an execution has on a lane, of all executions together. */
uint64_t device_lane_first(const struct device_core *core, uint32_t execution, uint32_t lane);
/* "TensorMatrix", "qSyncIO0", "Pending DMA": returns the length. */
size_t device_lane_name(const struct device_core *core, uint32_t lane, char *text, size_t size);

#endif
