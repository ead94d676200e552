/*
 * What the parts of a GPU recording's import share: its lanes, and a pass over its activities.
 */
#ifndef KYMO_IMPORT_RECORDING_GPU_PASS_H
#define KYMO_IMPORT_RECORDING_GPU_PASS_H

#include "import/recording/gpu.h"
#include "import/recording/gpu_memory.h"
#include "import/recording/gpu_names.h"

/* What a stream has done; XLA's tracer names streams by it. */
enum work { WORK_COMPUTE = 1, WORK_SET = 2, WORK_COPY = 4, WORK_COPIES = GPU_COPY_KINDS };

struct gpu_lane {
    uint32_t track; /* TRACK_NONE until it has an event */
    uint32_t work;  /* a bit for each enum work, from WORK_COPY on for each kind of copies */
};

/* A counter of a device, and where its samples go. */
struct gpu_counter {
    uint32_t track, type;
    double divisor;
};

struct gpu {
    struct gpu_file file;
    struct gpu_names names;
    struct gpu_lane *streams;
    uint32_t waits, overheads, windows; /* tracks */
    uint64_t window_count, window_ns;
    struct gpu_memory memory;
    ARRAY(struct gpu_counter) counters;
    struct idmap counter_by_id; /* device and text */
    struct idmap threads;       /* tracks of threads with calls */
};

struct gpu_pass {
    struct gpu *gpu;
    const struct gpu_target *target;
    const struct process *process;
};

/* Args of the event that is put next. */
void gpu_add_number(const struct gpu_pass *pass, enum gpu_key key, uint64_t value);
void gpu_add_string(const struct gpu_pass *pass, enum gpu_key key, uint32_t string);
void gpu_add_text(const struct gpu_pass *pass, enum gpu_key key, const char *text);

/* An event from start to end, nanoseconds of the monotonic clock, or a sample. */
bool gpu_put(const struct gpu_pass *pass, uint32_t track, uint32_t type, uint64_t start_ns,
             uint64_t duration_ns);
bool gpu_put_counter(const struct gpu_pass *pass, uint32_t track, uint32_t type, uint64_t time_ns,
                     double value);

/* A lane of the host where events of all threads overlap, made when *track is TRACK_NONE. */
uint32_t gpu_host_track(const struct gpu_pass *pass, uint32_t *track, struct text name);
/* A new lane below the streams of a device. */
uint32_t gpu_counter_track(const struct gpu_pass *pass, uint32_t device, struct text name);

#endif
