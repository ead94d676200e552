/*
 * Recordings, internal to the importer: the session files of libkymo (schema/). Every process has a
 * directory with ntrace.pb (events), trace_info.pb (metadata of the capture), cpu_util.pb and
 * host_mem.pb; all processes of a capture form one profile.
 */
#ifndef KYMO_IMPORT_RECORDING_RECORDING_PASSES_H
#define KYMO_IMPORT_RECORDING_RECORDING_PASSES_H

#include "base/wire/wire.h"
#include "import/neuron_systrace/runtime.h"
#include "import/recording/recording.h"
#include "import/recording/xla_ranges.h"
#include "model/model.h"

/* As in schema/ntrace.proto. */
enum recorded_phase {
    RECORDED_NONE,
    RECORDED_START,
    RECORDED_STOP,
    RECORDED_INSTANT,
    RECORDED_COUNTER,
    RECORDED_FLOW_START,
    RECORDED_FLOW_STEP,
    RECORDED_FLOW_STOP,
    RECORDED_STEP_START,
    RECORDED_RANGE,
    RECORDED_PHASES
};

struct recorded_name {
    uint32_t string, key; /* of the catalog; key: with malformed UTF-8 replaced */
    uint32_t file, line;  /* source location of the event type; file is a name, or 0 */
    bool is_runtime;      /* a call of Neuron's runtime */
};

/* Where a thread's events that others recorded are shown. */
enum lane_place { PLACE_OWN, PLACE_SHARED, PLACE_APART, PLACES };

struct recorded_lane {
    uint32_t name; /* string */
    uint64_t thread;
    enum lane_place place;
    int64_t start_ns, end_ns;
    uint32_t shown; /* the lane whose track has its events: itself, or one of the same thread */
    bool is_core, has_core;
    uint32_t core;
    int64_t first_ns; /* of its events */
    bool has_dropped; /* events, as its ring was full */
    bool has_track;   /* of the catalog, for its ranges */
    uint32_t track;
};

/* One event as it was recorded. */
struct recorded {
    uint32_t lane, name; /* indexes in the file */
    enum recorded_phase phase;
    bool has_core;
    uint32_t core;
    int64_t time_ns, tracking_id;
    int64_t duration_ns; /* of a range */
    double value;        /* of a counter */
    arg_buffer args;     /* keys and texts of the catalog */
    uint64_t number;     /* index in the file */
};

/* ntrace.pb, and an iterator over its events in file order. */
struct recorded_file {
    const uint8_t *data;
    size_t size;
    ARRAY(struct recorded_name) names; /* number 0 means none */
    ARRAY(struct recorded_lane) lanes;
};

struct recorded_walk;
/* Reads names and lanes. */
bool recorded_layout(struct recorded_file *file, struct catalog *catalog, const char *path,
                     struct error *err);
void recorded_file_free(struct recorded_file *file);

struct recorded_walk *recorded_walk_begin(const struct recorded_file *file);
/* The next event; false at the end, or with `problem` and its position set. */
bool recorded_walk_next(struct recorded_walk *walk, struct recorded *event);
const char *recorded_walk_problem(const struct recorded_walk *walk, uint64_t *offset);
void recorded_walk_end(struct recorded_walk *walk);

/* Refuses session files of later versions, of any kind. */
bool session_version_check(const uint8_t *data, size_t size, const char *path, struct error *err);

/* trace_info.pb */
struct session_info {
    struct text instance, process_name, program;
    uint32_t process;
    int64_t start_ns, end_ns;
    bool recovered;
    uint64_t recorded, kept, lost, lost_names;
    uint32_t rank, world_size; /* the rank plus one; 0: unknown */
};
bool session_info_read(const uint8_t *data, size_t size, struct session_info *info,
                       struct pb_reader *failed);
/* Marks the lanes that dropped events according to the file. */
void session_lanes_read(const uint8_t *data, size_t size, struct recorded_file *events);
/* The events that a process dropped and kept, its own and its GPUs'. */
struct drops session_drops(const struct session_info *info, struct drops gpu);

/* The times of CLOCK_MONOTONIC, as `device` times, and since the epoch; false if it has none. */
bool session_clock_read(const uint8_t *data, size_t size, struct clock_fit *fit);

/* The samples of cpu_util.pb and host_mem.pb. */
struct usage_point {
    int64_t time_ns;
    bool is_average;
    uint32_t cpu;          /* unless it is an average */
    double value, percent; /* memory has bytes and percent; a CPU's value is its percentage */
};
typedef bool usage_point_visit(void *context, const struct usage_point *point);
bool usage_read(enum session_file kind, const uint8_t *data, size_t size, usage_point_visit *visit,
                void *context, struct pb_reader *failed);

/* Args that carry the times of cores, and those that the analysis uses. */
struct known_keys {
    uint32_t device_time, host_time, run, physical_core;
    uint32_t producer_type, producer, consumer_type, consumer, root, phase;
    uint32_t call, sequence, sizes, category; /* of PyTorch's operators */
    uint32_t source_file, source_line;
    uint32_t communicator, collective, group; /* of NCCL's calls */
    uint32_t start, stop;                     /* strings */
};

/* A stop record, which is pushed together with its start. */
struct recorded_stop {
    uint64_t number;
    int64_t time_ns, device_ns;
    bool has_device_time;
    struct arg_list args;
};

/* A process. Its events file has the same index in the source's files. */
struct process {
    struct recorded_file events;
    struct file usage[SESSION_FILES]; /* cpu_util.pb and host_mem.pb, if they exist */
    struct file gpu_file;             /* gpu_trace.pb, if it exists */
    struct gpu *gpu;
    struct clock_fit monotonic;
    struct xla_ranges ranges;
    struct session_info info;
    struct file info_file;
    bool is_from_rings; /* read from rings, described by `rings` */
    struct record_summary rings;
    struct runtime_facts facts;
    ARRAY(struct recorded_stop) stops; /* sorted by number */
    uint32_t track;
    uint32_t *types; /* by name */
};

struct recording {
    struct record_source base; /* its files: ntrace.pb of each process */
    ARRAY(struct process) processes;
    struct known_keys keys;
    struct idmap located; /* event types, by their name and place in the source */
};

/* Counts an event, or pushes it when there is a pusher, with the args added to that. */
bool recording_put(struct recording *recording, uint32_t process, struct pusher *pusher,
                   uint32_t track, uint32_t type, int64_t start_ns, int64_t end_ns, double value,
                   struct error *err);
/* The lane of a thread, during layout: that of its annotations if it has any, otherwise one of this
 * name, which may be empty. */
uint32_t recording_thread_lane(struct recording *recording, uint32_t process, uint64_t thread,
                               struct text name);

/* The category of an event in torch.profiler's terms; empty when it is not PyTorch's. */
struct text torch_category(const struct known_keys *keys, const struct recorded *event,
                           struct text name);
/* An arg of an event in the form of torch.profiler's files: sizes are lists. */
struct arg torch_arg(const struct known_keys *keys, const struct catalog *catalog,
                     struct pusher *pusher, const struct arg *arg);

/* Whether the start of an event is that of a PyTorch operator; the caller sets its name. */
bool torch_start_of(const struct known_keys *keys, const struct recorded *event,
                    struct torch_start *start);

/* For NCCL calls, the args of a collective in torch.profiler's files. */
void nccl_args(const struct known_keys *keys, struct pusher *pusher, const struct recorded *event,
               struct text name);

/* The passes over the events and samples of one process. */
bool recording_gather(struct recording *recording, uint32_t number, struct error *err);
/* Counts them, or pushes them when there is a pusher. */
bool recording_take_events(struct recording *recording, uint32_t number, struct pusher *pusher,
                           struct error *err);

#endif
