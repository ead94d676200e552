/*
 * Inside analyze: the rules that make findings. Each group of rules has a file; all thresholds are
 * here. docs/findings.md tells users the same.
 */
#ifndef KYMO_ANALYZE_PROFILE_FINDINGS_H
#define KYMO_ANALYZE_PROFILE_FINDINGS_H

#include "analyze/profile/analysis_passes.h"

/* Thresholds. Shares are of the steps, or of the time that devices work in where there are none. */

/* What costs less than this is not worth a reader's time: runs differ by as much. */
#define MIN_SHARE 0.03
/* A device that is busy this much of the time is not waiting for anybody. */
#define BUSY_SHARE 0.80
/* Launching a kernel costs the host 5 to 10 us, from Python with a profiler up to some hundred; a
 * gap that is longer has another reason than the launch. */
#define LAUNCH_GAP_PS INT64_C(1000000000)
/* Kernels that take longer on average keep the device busy while the host launches the next. */
#define SHORT_KERNEL_PS INT64_C(100000000)
/* A device needs 1 to 2 us between kernels that depend on each other, a graph or another stream
 * some more; after that it waits for something. */
#define QUEUED_GAP_PS INT64_C(20000000)
/* A wait for the device returns within this time of its last work; clocks differ by less. */
#define SYNC_RETURN_PS INT64_C(20000000)
/* A device with less than this of the busiest one's work has no part in what is measured. */
#define MIN_DEVICE_WORK 0.05
/* A step that takes this many times the median is an outlier: jitter stays below. */
#define OUTLIER_FACTOR 1.5
/* Medians and outliers of fewer steps are chance. */
#define MIN_STEPS 5
/* An outlier is compared with as many steps before and after it. */
#define NEIGHBOURS 16
/* How much more work the slowest rank has than the median before it holds up the others. */
#define STRAGGLER_FACTOR 1.10
/* Calls of the driver's allocator in a step: an allocator that keeps a pool has none, once warm. */
#define MIN_ALLOCATIONS 3
/* Reserved memory that is in use at the moment most is reserved. */
#define RESERVED_IN_USE 0.70
/* Fragmentation below a gibibyte fits anywhere. */
#define MIN_WASTED_BYTES (INT64_C(1) << 30)
/* A copy of fewer bytes takes as long as its latency, about 10 us at 25 GB/s. */
#define SMALL_COPY_BYTES (INT64_C(256) << 10)
/* Small copies that are worth batching. */
#define MIN_SMALL_COPIES 50
/* Threads on a multiprocessor, of the most it can hold, below which latencies show. */
#define LOW_OCCUPANCY 0.25
/* A device's time is looked at in so many parts, and one in which it is busy less than this is low:
 * the values of Nsight's rule gpu_time_util. */
#define USAGE_PARTS 30
#define LOW_USAGE   0.50
/* Of more waves of blocks the last one does not matter. */
#define MAX_TAIL_WAVES 8

/* "the steps", or "the guessed steps". */
const char *name_of_steps(const struct analysis *analysis);

/* A finding under construction; texts are copied. */
struct finding *finding_add(struct analysis *analysis, const char *rule, const char *title,
                            int64_t cost_ps, double share, const char *share_of);
/* One line of text made as printf does, kept with the findings. */
const char *finding_text(struct analysis *analysis, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A time to look at, and an event in it or TRACK_NONE. */
void finding_span(const struct analysis *analysis, struct finding *finding, const char *label,
                  int64_t from_ps, int64_t to_ps, struct event_ref event);
void finding_event(const struct analysis *analysis, struct finding *finding, const char *label,
                   struct event_ref event);
/* A name in a sentence: shortened. */
const char *finding_name(struct analysis *analysis, struct text name);
const char *finding_type(struct analysis *analysis, uint32_t type);
/* A name as a literal of SQL. */
const char *finding_literal(struct analysis *analysis, uint32_t string);

/* A part of a time range in which one event was the innermost of a host lane. */
struct host_part {
    int64_t from_ps, to_ps;
    uint32_t type;
    enum host_class class; /* the greatest of the events around it */
    uint32_t class_type;   /* the event that has it, as the next */
    int64_t class_from_ps;
    bool has_waited; /* for a device, before this part; the last time: */
    uint32_t waited_type;
    int64_t waited_from_ps, waited_to_ps;
};
struct host_range {
    int64_t from_ps, to_ps;
    size_t owner;
};
typedef ARRAY(struct host_range) range_list;
/* Visits what a lane did in ranges, which are sorted and do not overlap, from the event at a
 * position on; time without events is not visited. */
typedef void host_visit(void *context, const struct host_range *range,
                        const struct host_part *part);
void visit_host(const struct analysis *analysis, uint32_t lane, uint64_t first,
                const range_list *ranges, host_visit *visit, void *context);

/* The rules. */
struct rules {
    struct analysis *analysis;
    const activity_list *activities;
    const struct facts *facts;
    /* Devices that take part, and their sums. */
    ARRAY(const struct device_activity *) devices;
    int64_t window_ps, work_ps;
    uint64_t work_events;
    const char *share_of;
};
void find_idle(struct rules *rules);
void find_device_work(struct rules *rules);
void find_low_usage(struct rules *rules);
void find_step_outliers(struct rules *rules);
void find_host_steps(struct rules *rules);
void find_compilation(struct rules *rules);
void find_stragglers(struct rules *rules);
void find_facts(struct rules *rules);

/* Has the findings from an index on say so where lanes they rest on lack dropped events: those of
 * the devices, or of the host's threads with launches and steps. */
enum { RESTS_ON_DEVICES = 1, RESTS_ON_HOST = 2 };
void note_incomplete(struct rules *rules, size_t first, unsigned rests_on);

/* The role of the tracks with a device's work, as in the table of tracks. */
static inline const char *work_role_name(const struct device_activity *device)
{
    return device->role == LANE_OPS ? "ops" : device->role == LANE_STREAM ? "stream" : "plain";
}

/* A sum over the devices as the mean of one. */
static inline int64_t per_device(const struct rules *rules, int64_t sum_ps)
{
    return rules->devices.count ? sum_ps / (int64_t)rules->devices.count : 0;
}

static inline double share_of_window(const struct rules *rules, int64_t sum_ps)
{
    return rules->window_ps > 0 ? (double)sum_ps / (double)rules->window_ps : 0;
}

#endif
