/*
 * A pass over the activities of a GPU recording, and what all parts of it share: adding events and
 * creating lanes.
 */
#ifndef KYMO_IMPORT_RECORDING_GPU_PASS_H
#define KYMO_IMPORT_RECORDING_GPU_PASS_H

#include "import/recording/gpu_file.h"
#include "import/recording/gpu_names.h"
#include "import/recording/recording_passes.h"

/* Where a pass puts the events of a process. */
struct gpu_target {
    struct recording *recording;
    uint32_t number;       /* of the process */
    struct pusher *pusher; /* NULL while lanes are laid out and events counted */
    struct error *err;
};

struct gpu;
struct gpu_pass {
    struct gpu *gpu;
    struct gpu_names *names;
    const struct gpu_file *file;
    const struct gpu_target *target;
    const struct process *process;
};

/* Args of the event to be added next. */
void gpu_add_number(const struct gpu_pass *pass, enum gpu_key key, uint64_t value);
void gpu_add_string(const struct gpu_pass *pass, enum gpu_key key, uint32_t string);
void gpu_add_text(const struct gpu_pass *pass, enum gpu_key key, const char *text);

/* An event from start to end, nanoseconds of the monotonic clock, or a sample. */
bool gpu_put(const struct gpu_pass *pass, uint32_t track, uint32_t type, uint64_t start_ns,
             uint64_t duration_ns);
bool gpu_put_counter(const struct gpu_pass *pass, uint32_t track, uint32_t type, uint64_t time_ns,
                     double value);

/* The source of a device, with its properties. */
uint32_t gpu_device_source(const struct gpu_pass *pass, uint32_t id);
/* A lane of the host where events of all threads overlap, created when *track is TRACK_NONE. */
uint32_t gpu_host_track(const struct gpu_pass *pass, uint32_t *track, struct text name);
/* A new lane below the streams of a device. */
uint32_t gpu_counter_track(const struct gpu_pass *pass, uint32_t device, struct text name);

#endif
