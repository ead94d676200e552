/*
 * analyze: computes everything views show of a profile, once: steps, flows, the operation and
 * program of each kernel, how busy devices and threads were. Reads a source and keeps times and
 * results; names stay in the source's catalog, which must outlive the analysis.
 */
#ifndef KYMO_ANALYZE_PROFILE_ANALYZE_H
#define KYMO_ANALYZE_PROFILE_ANALYZE_H

#include "analyze/findings/findings.h"
#include "analyze/peaks/gpus.h"
#include "model/model.h"
#include "neuron/hardware/hardware.h"

#include <stdatomic.h>

#define NO_INDEX UINT32_MAX

/* An event: its lane and its number in it. */
struct event_ref {
    uint32_t track;
    uint64_t event;
};

struct extent {
    bool has_times; /* false if all events only count occurrences */
    int64_t first_ps, last_ps;
};

struct lane_analysis {
    uint64_t *order;       /* events by start, longer first; NULL if stored in that order */
    uint64_t *rank;        /* position of each event in `order`; NULL if that is */
    uint32_t *group;       /* step index plus one, 0 for none; NULL if no event has a step */
    uint64_t *correlation; /* device lanes: links to the launch on the host, 0 for none */
    uint32_t *label;       /* device lanes: index in labels plus one, 0 for none */
    uint64_t *external;    /* device lanes: "External id", 0 for none; NULL if no event has one */
    uint32_t *operator;    /* device lanes: index in calls plus one; NULL without operators */
    uint32_t first_call, calls; /* host lanes: the calls on them */
    int64_t *self_ps;           /* time no event inside it covers; NULL: events contain no others */
    int64_t *device_start_ps,
        *device_duration_ps;   /* times on the device's own clock, more precise than
                                  those on the host's; NULL if there are none */
    int64_t first_ps, last_ps; /* first_ps > last_ps: no timed events */
    struct extent work;        /* the same without the profiler's own events */
    int64_t busy_ps;     /* time covered by at least one event, but for the profiler's own and the
                            frames of steps */
    int64_t profiler_ps; /* time covered by the profiler's own */
};

/* Memory of the lanes' columns, lane after lane. */
struct lane_columns {
    uint64_t *order, *rank, *correlation, *external;
    uint32_t *group, *label, *operator;
    int64_t *device_start_ps, *device_duration_ps;
    int64_t *self_ps;
};

/* Where the steps of a profile are from: annotations on the host, the devices' own lines of steps,
 * or the runs of the program that takes most time, because nothing marks them. */
enum step_origin { STEPS_ANNOTATED, STEPS_RECORDED, STEPS_GUESSED };

/* A step of the program. Its start and time on the host are those of its annotation; of its events
 * on the lines of steps; or until the next step begins. */
struct step {
    struct event_ref root;
    int64_t number;
    int64_t start_ps, host_ps;
    int64_t frame_ps; /* of recorded steps: the longest of the devices' events; else 0 */
    int64_t device_start_ps,
        device_end_ps; /* over all devices; TIME_UNSET if it has no device work */
    int64_t device_ps; /* from its first to its last work on one device, where that takes longest */
    uint64_t device_events;
};

/* The part of a step that one device has; devices may be out of phase. */
struct device_step {
    uint32_t device, step; /* source track; index */
    uint64_t events;
    int64_t start_ps, end_ps; /* of its work, if it has events */
    bool has_frame;           /* the device recorded the step itself: */
    int64_t frame_start_ps, frame_end_ps;
};

/* A host call that submitted work to a device. */
struct launch {
    struct event_ref event;
    uint64_t correlation;
    bool has_run;
    int64_t run;        /* id of the program execution it is part of */
    uint32_t execution; /* the same without an id: its number, 0 when not known */
    int64_t scope;      /* id of the annotation it was made in, 0 for none; and of the outermost one
                           around that, which is the program execution's */
    int64_t outer_scope;
    uint32_t device; /* source track of its device work, TRACK_NONE if not captured */
    uint32_t call;   /* the innermost call around it, NO_INDEX for none */
    _Atomic int64_t first_device_ps; /* start of its first device event */
};

/*
 * A call of an operator, an annotation or a module on the host. The calls of a lane stand together
 * in order of time, so that a call comes after the calls around it.
 */
struct call {
    uint64_t index;    /* of its event, in columns over all events of the trace */
    uint32_t parent;   /* the call around it; NO_INDEX for none, as the next two */
    uint32_t operator; /* the innermost operator at or around it, else the innermost annotation */
    uint32_t forward;  /* the call of the forward pass whose backward pass this is a part of */
    bool is_outermost; /* no call of its type is around it */
    _Atomic uint32_t device_events; /* device work launched in it, in no call in between */
    _Atomic int64_t device_ps;      /* the time of that */
};

/* Kineto's number of a call in its process, which device work repeats. There are many of these: the
 * event's number has 32 bits, events beyond that have none. */
struct external {
    uint64_t id;
    uint32_t track, event;
};

enum flow_kind { FLOW_LAUNCH, FLOW_CONTEXT };

struct flow {
    enum flow_kind kind;
    struct event_ref from, to;
    uint64_t id;
};

/* How the operation of device work is known. */
enum attributed {
    ATTRIBUTED_NOT,
    ATTRIBUTED_RECORDED, /* the source names it */
    ATTRIBUTED_NAME,     /* the kernel is named after it */
    ATTRIBUTED_ORDER,    /* its place among the kernels of a graph is that of the operation */
    ATTRIBUTED_OPERATOR, /* by the framework's operator that launched it */
    ATTRIBUTIONS,
};

/* What a device event says about its program, or without one, of the framework's operator. */
struct hlo_label {
    uint32_t operation, module; /* strings; operation STRING_NONE if only the module is known, both
                                   without a program */
    uint32_t framework_op;      /* string: XLA's or TensorFlow's name of the operator */
    int64_t program_id;
    bool has_program_id;
    bool is_by_order; /* the operation was found by its place in the schedule */
    uint32_t program; /* index in catalog.programs, NO_INDEX if missing there */
    uint32_t found;   /* its operation there, NO_INDEX if it has none of that name */
};

/* Derived rows, which the source does not have: program executions and operations on a GPU
 * stream. */
struct row_event {
    int64_t start_ps, duration_ps;
    int64_t kernel_ps;           /* sum of its kernels */
    uint32_t name;               /* string */
    uint32_t program, operation; /* indexes, NO_INDEX when unknown */
    uint32_t group;              /* step index plus one */
    uint32_t kernels;
};

struct derived_row {
    uint32_t lane;  /* the stream it is derived from */
    bool is_module; /* otherwise operations */
    bool is_only;   /* the only such row of the device */
    ARRAY(struct row_event) events;
};

/* Totals over all events of one name, operation or thread. */
struct totals {
    uint64_t count;
    int64_t total_ps, self_ps, min_ps, max_ps;
};

struct distribution {
    uint64_t count;
    double mean, min, p50, p99, max;
};

struct ranked {
    struct text name;
    struct totals totals;
    double mean_ps;          /* of the total */
    double share;            /* of the self time of all in its ranking */
    uint8_t device_class;    /* kernels, copies and recorded operations; see enum device_class */
    struct kernel_kind kind; /* kernels only */
    /* operations only */
    struct text module, category, op_name, file;
    uint32_t line;
    uint32_t program; /* in the catalog, of operations that kernels belong to; or NO_INDEX */
    uint64_t kernels;
};

typedef ARRAY(struct ranked) ranked_list;

/* All calls of one operator, annotation or module. Times on the device are sums over kernels,
 * copies and memsets, whatever runs beside them. */
struct operator_summary {
    struct text name; /* "aten::mm"; of a module "Linear_3", or TorchScript's path */
    enum type_role role;
    struct totals host; /* of the calls themselves; of a path, its outermost operators */
    uint64_t device_events;
    int64_t self_ps;          /* of work launched directly by it */
    int64_t device_ps;        /* with what it calls */
    int64_t with_backward_ps; /* with the backward pass of all that */
    double share;             /* of self_ps in the time of all device work */
};
typedef ARRAY(struct operator_summary) operator_list;

/* All kernels of a family. */
struct family_summary {
    enum kernel_family family;
    uint64_t count;
    int64_t total_ps;
    double share; /* of the durations of all kernels */
};

struct device_summary {
    uint32_t track; /* the source track */
    uint64_t events;
    int64_t busy_ps;   /* time in which at least one of its streams works */
    int64_t sum_ps;    /* the same for each stream, added up: more where streams overlap */
    double busy_share; /* busy_ps as a share of the span */
    struct distribution launch_delay_ns;
};

struct thread_summary {
    uint32_t track;
    uint64_t events;
    int64_t busy_ps;
    double busy_share;
};

enum counter_unit { UNIT_NONE, UNIT_PERCENT, UNIT_BYTES, UNIT_WATTS };

struct counter_summary {
    uint32_t track;
    char label[64]; /* what it measures, for people */
    enum counter_unit unit;
    uint64_t samples;
    double min, mean, max, last;
};

struct source_summary {
    size_t lanes;
    uint64_t events;
    struct extent extent;
};

struct summary {
    uint64_t events;
    int64_t first_ps, last_ps;           /* over all timed events; equal when there are none */
    int64_t work_first_ps, work_last_ps; /* without the profiler's own events */
    double span_ps;                      /* between these: what percentages refer to */
    int64_t profiler_ps;                 /* time covered by those, over all threads */
    struct source_summary *sources;      /* by track, of those that are sources */
    struct distribution step_ns;         /* step time: see the glossary */
    struct distribution step_host_ns, step_device_ns, step_period_ns;
    ranked_list operations, kernels, copies, host_events; /* most self time first; memsets are
                                                             among copies */
    ARRAY(struct family_summary) families;                /* of kernels of GPUs, most time first */
    operator_list operators, modules;                     /* most time on the device first */
    ARRAY(struct device_summary) devices;
    ARRAY(struct thread_summary) threads;
    ARRAY(struct counter_summary) counters;
    uint64_t launch_flows, context_flows;
};

enum mark_kind {
    MARK_PRODUCER,
    MARK_CONSUMER,
    MARK_ROOT,
    MARK_RUN,
    MARK_LAUNCH,
    MARK_GROUP,
    MARK_SEQUENCE,    /* an operator that autograd numbered */
    MARK_MODULE_PATH, /* an operator that names the module it ran in */
    MARK_OPERATION,   /* an HLO operation that the host executes */
};

/* A link of an event to others. */
enum { NO_FORWARD_THREAD = -1 };
struct mark {
    struct event_ref ref;
    enum mark_kind kind;
    int64_t type; /* of the context, for producers and consumers; scope of a launch; for operators,
                     autograd's number of the thread of the forward pass, 0 for that pass itself,
                     NO_FORWARD_THREAD where the source does not tell */
    int64_t id;   /* of the context, the step, the run, the launch or the source's own group; the
                     sequence number; the path, a string; the index of a label */
};

/* What an event type on the host means for performance. Of nested ones the greater counts. */
enum host_class {
    HOST_PLAIN,
    HOST_LAUNCH,     /* hands work to a device */
    HOST_SYNC,       /* waits for a device */
    HOST_ALLOCATION, /* memory from the driver */
    HOST_INPUT,      /* waits for data */
    HOST_COMPILE,
    HOST_PROFILER, /* the profiler's own */
    HOST_CLASSES,
};
/* The same on devices. */
enum device_class {
    DEVICE_COMPUTE,
    DEVICE_COPY, /* between the host and a device */
    DEVICE_COMMUNICATION,
    DEVICE_CLASSES,
    DEVICE_WAIT, /* a stream's wait for another: no work */
};

/* A device, or a host that computes: what it is, can do, and did. */
enum device_kind { KIND_GPU, KIND_TPU, KIND_NEURON, KIND_OTHER, KIND_CPU };
struct device_figures {
    uint32_t track; /* the source track */
    enum device_kind kind;
    bool has_number;
    int64_t number; /* on its machine */
    char name[64], type[64];
    struct gpu_facts facts;
    int64_t memory_bytes; /* 0 if unknown, as all that follow */
    struct gpu_peaks peaks;
    const char *peaks_from; /* NULL if they are not known */
    int peak_type;          /* enum peak_type of most products of matrices; -1 if none is known */
    double peak_flops, xprof_peak_flops;
    double sram_read, sram_write, cmem_read, cmem_write, vmem_read, vmem_write; /* bytes/s */
    struct extent work;
    int64_t busy_ps, op_ps;
};

/* All executions of an operation on a device. */
struct device_operation {
    uint32_t device;             /* index in analysis.devices */
    uint32_t program, operation; /* indexes, NO_INDEX when unknown */
    bool has_program_id;
    uint64_t program_id;
    /* Strings: */
    uint32_t name, category, expression, framework_op, framework_type, file, parent, compute_type;
    uint32_t deduplicated; /* the operation that it is the same as */
    uint32_t line;
    uint32_t type; /* of its first event */
    uint8_t core;  /* 1: a TPU's sparse core */
    enum attributed attribution;
    uint64_t kernels;
    struct totals totals; /* of executions */
    int64_t matrix_unit_ps;
    /* Over all executions; NAN and -1 when unknown. */
    double flops, matrix_flops, xprof_flops, xprof_device_flops;
    int64_t bytes, hbm_bytes, cmem_read, cmem_write, vmem_read, vmem_write, stall_ps;
    struct event_ref first;
};

/* What a device, or the host without one, did in a step. The parts are disjoint; of work that runs
 * at the same time, the first of these counts. */
enum step_part {
    PART_COMPUTE_16,
    PART_COMPUTE_32,
    PART_COMPUTE_OTHER,
    PART_TO_HOST,
    PART_BETWEEN,
    PART_COLLECTIVES,
    PART_TO_DEVICE,
    /* The device is idle: what the host did. */
    PART_COMPILE,
    PART_INPUT_WAIT,
    PART_LAUNCH,
    PART_HOST_COMPUTE,
    PART_OTHER, /* the rest */
    STEP_PARTS,
};

/* What a device does, when ranks are compared. */
enum rank_class { RANK_COMPUTE, RANK_COMMUNICATION, RANK_COPY, RANK_CLASSES };

/* What a device did in a step, when ranks are compared. compute_ps, exposed_ps, copy_ps and idle
 * time are disjoint: what communicates while something computes is in overlap_ps, too, and copies
 * count where nothing else goes on. */
struct rank_figures {
    int64_t compute_ps, exposed_ps, overlap_ps, copy_ps;
    int64_t idle_host_ps, idle_kernel_ps; /* the rest of the step is idle for other reasons */
    uint32_t kernels, collectives;
    int64_t hash; /* of the names of the kernels that compute longest */
};

struct step_breakdown {
    uint32_t device, step; /* indexes; the device is NO_INDEX where there is none */
    int64_t start_ps, end_ps;
    int64_t parts_ps[STEP_PARTS];
    int64_t idle_ps, infeed_ps, outfeed_ps;
    struct rank_figures rank;
};

/* A kernel in a step of a device, or all that are not listed. */
struct rank_kernel {
    uint32_t device, step; /* indexes */
    uint32_t name;         /* string; STRING_NONE: those that are not listed */
    enum rank_class class;
    uint64_t count;
    int64_t total_ps;
};

struct analysis {
    const struct catalog *catalog;
    struct memory_trace trace;
    uint8_t *type_roles;         /* by event type: enum type_role */
    struct lane_analysis *lanes; /* by track */
    struct lane_columns columns;
    ARRAY(struct mark) marks; /* sorted by track, event, kind */
    ARRAY(struct hlo_label) labels;
    ARRAY(struct step) steps;
    ARRAY(struct device_step) device_steps;
    struct idmap device_step_index; /* device and step -> index */
    enum step_origin step_origin;
    const char *step_marks; /* what guessed steps are guessed from */
    ARRAY(struct launch) launches;
    ARRAY(struct call) calls;
    ARRAY(struct external) externals;    /* sorted when the first is looked up */
    struct idmap *launch_by_correlation; /* by track of the process */
    ARRAY(struct derived_row) rows;
    uint8_t *host_class, *device_class; /* by event type; see the enums */
    struct kernel_kind *kernel_kinds;   /* by event type */
    _Atomic uint16_t *kernel_traits;    /* by event type; see kernel_precision */
    ARRAY(struct device_figures) devices;
    struct idmap device_by_track;                     /* source track -> index in devices */
    ARRAY(struct device_operation) device_operations; /* by device, most self time first */
    ARRAY(struct step_breakdown) breakdowns;          /* by device and step */
    ARRAY(struct rank_kernel) rank_kernels;           /* by device */
    ARRAY(struct event_ref) collectives;              /* on devices, by device and start */
    struct summary summary;
    struct findings findings; /* the costliest first */
    int64_t idle_excess_ps;   /* that their rules claimed beyond the idle time; left out of them */
};

/* How long a step takes on the host, or on the device that recorded the longest. */
static inline int64_t step_duration(const struct step *step)
{
    return step->frame_ps > 0 ? step->frame_ps : step->host_ps;
}

/* "annotated", "recorded" or "guessed". */
struct text step_origin_name(enum step_origin origin);

bool analyze(struct analysis *analysis, struct source *source, struct pool *pool,
             struct error *err);
void analysis_free(struct analysis *analysis);

/* Calls visit for every flow, in no particular order, until it returns false. */
bool analysis_flows(const struct analysis *analysis,
                    bool (*visit)(void *context, const struct flow *flow), void *context);

/* CPU or memory usage of a host at a time. */
struct usage_sample {
    int64_t time_ps;
    uint32_t instance, name; /* strings: the host; the CPU or memory counter */
    double value;            /* percent of a CPU, bytes of memory */
    double percent;          /* of all memory; not a number if unknown */
};
typedef bool usage_visit(void *context, const struct usage_sample *sample);
/* Both call visit for every sample, counter by counter, until it returns false. */
bool analysis_cpu_usage(const struct analysis *analysis, usage_visit *visit, void *context);
bool analysis_memory_usage(const struct analysis *analysis, usage_visit *visit, void *context);

/* What a counter lane measures: a name that is clear without its source, and the unit. */
enum counter_unit counter_meaning(const struct catalog *catalog, uint32_t lane,
                                  char label[static 64]);

/* The operation of the label's program that a kernel of this type belongs to, or NO_INDEX. */
uint32_t kernel_operation(const struct analysis *analysis, const struct hlo_label *label,
                          uint32_t type);
enum attributed kernel_attribution(const struct analysis *analysis, const struct hlo_label *label,
                                   uint32_t type);
/* "kernel name" */
struct text attribution_name(enum attributed attribution);
/* The operation a kernel is known to belong to, or NULL. */
const struct operation *kernel_operation_of(const struct analysis *analysis,
                                            const struct hlo_label *label, uint32_t type);
/* Whether a kernel multiplies matrices in units made for that; its operation may be NULL. */
enum tensor_cores kernel_tensor_cores(const struct analysis *analysis, uint32_t type,
                                      const struct operation *operation);
/* The call of the operator that launched an event on a device, or that is the operator of a call on
 * the host; or NULL. */
const struct call *operator_call(const struct analysis *analysis, uint32_t track, uint64_t event);
/* The launch with a correlation id in a process, or NULL. */
struct launch *find_launch(const struct analysis *analysis, uint32_t process, uint64_t correlation);
/* Index in analysis.marks of the first mark at or after an event. */
size_t first_mark(const struct analysis *analysis, uint32_t track, uint64_t event);

/* The name of a derived row: "XLA Ops", with the stream's number where a device has several. */
size_t derived_row_name(const struct analysis *analysis, const struct derived_row *row,
                        char name[static 64]);

#endif
