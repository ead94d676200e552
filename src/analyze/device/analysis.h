/*
 * The analysis of device profiles: metrics, roll-ups, dependencies, the critical path, findings.
 * Part of device.h, which includes it. Sums go over all executions of a profile, which are read and
 * added one after the other.
 */
#ifndef KYMO_ANALYZE_DEVICE_ANALYSIS_H
#define KYMO_ANALYZE_DEVICE_ANALYSIS_H

#include "analyze/findings/findings.h"
#include "neuron/profile_file/ntff.h"
#include "neuron/program/neff.h"

struct device_profile;
struct device_execution;
struct device_core;
struct device_cores;

/* --- Active time: sorted intervals that do not touch. --- */
struct device_interval {
    int64_t start_ps, end_ps;
};
typedef ARRAY(struct device_interval) device_intervals;

/* What can be active: the engines by their numbers, and these. */
enum device_unit {
    DEVICE_UNIT_TENSOR = ENGINE_TENSOR,
    DEVICE_UNIT_VECTOR = ENGINE_VECTOR,
    DEVICE_UNIT_SCALAR = ENGINE_SCALAR,
    DEVICE_UNIT_GPSIMD = ENGINE_GPSIMD,
    DEVICE_UNIT_SYNC = ENGINE_SYNC,
    DEVICE_UNIT_DMA = ENGINE_COUNT,
    DEVICE_UNIT_COLLECTIVES,
    DEVICE_UNIT_CC_CORES,
    DEVICE_UNITS,
};
/* As in ActiveTime: "tensor", "dma", "cc_op". */
const char *device_unit_name(enum device_unit unit);
void device_active(const struct device_execution *execution, enum device_unit unit,
                   device_intervals *active);
int64_t device_active_ps(const device_intervals *active);

/* --- Metrics of Summary. --- */
enum device_dma_class { DMA_CLASS_STATIC, DMA_CLASS_SOFTWARE, DMA_CLASS_HARDWARE, DMA_CLASSES };

/* What metrics are made of: sums over executions. */
struct device_sums {
    uint32_t executions;
    int64_t total_ps, work_ps, active_ps, unit_active_ps[DEVICE_UNITS];
    int64_t instruction_ps[ENGINE_COUNT], activate_ps, cc_op_ps, cc_step_ps;
    uint64_t instructions[ENGINE_COUNT], matmuls, activates, cc_ops, cc_steps;
    uint64_t flops, transpose_flops, adjusted_flops, adjusted_transpose_flops;
    int64_t packet_ps, transfer_ps, class_active_ps[DMA_CLASSES], dynamic_active_ps;
    uint64_t packets[DMA_CLASSES], packet_bytes[DMA_CLASSES];
    uint64_t transfers, transfer_bytes;
    uint64_t hbm_read, hbm_write, sbuf_read, sbuf_write, psum_read, psum_write;
    uint64_t spill_save, spill_reload, evacuations, evacuated_bytes;
    uint64_t input_bytes, output_bytes, weight_bytes;
    uint64_t updates, errors;
    int64_t throttled_ps[2];               /* by enum throttle_kind */
    double limit_ps, throttle_limit_ps[2]; /* time, weighted with the rate that is left */
    uint64_t throttles;
};
void device_sums_add(struct device_sums *sums, const struct device_profile *profile,
                     const struct device_execution *execution);

struct device_metrics {
#define INTEGER                                   int64_t
#define REAL                                      double
#define METRIC(name, type, unit, meaning, source) type name;
#include "analyze/device/metrics.def"
#undef METRIC
#undef INTEGER
#undef REAL
};

/* Rates a second: of the Tensor engine in BF16, of one stack of HBM, of all DMA engines. */
double device_peak_flops(const struct core_hardware *hardware);
double device_hbm_rate(const struct core_hardware *hardware);
double device_dma_rate(const struct core_hardware *hardware);

/* NaN: there is nothing to divide by, no value. */
void device_metrics_make(struct device_metrics *metrics, const struct device_profile *profile,
                         const struct device_sums *sums);

struct device_metric {
    const char *name, *unit, *meaning, *formula;
    bool is_integer;
    size_t offset; /* in struct device_metrics */
};
/* In the order of the schema; NULL after the last. */
const struct device_metric *device_metric_at(size_t index);
static inline int64_t device_metric_integer(const struct device_metrics *metrics,
                                            const struct device_metric *metric)
{
    return *(const int64_t *)((const char *)metrics + metric->offset);
}
static inline double device_metric_real(const struct device_metrics *metrics,
                                        const struct device_metric *metric)
{
    return *(const double *)((const char *)metrics + metric->offset);
}

/* --- Roll-ups. All but the bounds are zeroed by the caller first, and add up. --- */

/* OpcodeSummary. */
struct device_opcode {
    uint64_t count;
    int64_t time_ps;   /* added up */
    int64_t active_ps; /* union */
};
struct device_opcodes {
    struct device_opcode items[ENGINE_COUNT][OP_COUNT];
};
void device_opcodes_add(struct device_opcodes *opcodes, const struct device_profile *profile,
                        const struct device_execution *execution);

/* TensorInfo: loads of a variable to SBUF, and when it is in use. */
struct device_tensor {
    uint64_t loads, load_bytes;
    uint64_t distinct_bytes;   /* what a packet gives to several partitions counts once */
    int64_t load_ps;           /* of these packets, added up */
    int64_t first_ps, last_ps; /* of all packets and collectives that touch it */
    uint64_t accesses;
    uint32_t first_load, last_load; /* transfers of the last execution that was added */
    struct device_interval first_span, last_span; /* of these */
    uint32_t first_run, last_run;                 /* and the runs of their blocks */
    uint32_t first_block, last_block;
};
/* By variable; free with mem_free. */
struct device_tensor *device_tensors_new(const struct device_profile *profile);
void device_tensors_add(struct device_tensor *tensors, const struct device_profile *profile,
                        const struct device_execution *execution);
/* How often the whole tensor is loaded in an execution, by distinct bytes; NaN for an empty one. */
double device_repeat_factor(const struct device_tensor *tensor, const struct variable *variable,
                            uint32_t executions);

/* HbmUsageSummaryByType: what the program keeps in HBM. */
enum { DEVICE_HBM_TYPES = 4 };
struct device_hbm_use {
    const char *type;
    uint64_t bytes;
};
void device_hbm_usage(const struct core_program *program,
                      struct device_hbm_use uses[static DEVICE_HBM_TYPES]);

/* Time of layers, framework operators and HLO operations. */
enum device_rollup_kind { ROLLUP_LAYERS, ROLLUP_FRAMEWORK, ROLLUP_OPERATIONS, DEVICE_ROLLUPS };
struct device_rollup_interval {
    int64_t start_ps, end_ps;
    /* Of what begins in it. */
    uint64_t elements, transpose_elements, flops, transpose_flops, hbm_bytes;
};
struct device_rollup_node {
    struct text path; /* "/gpt/block0/attention"; "" is the root, with all there is */
    struct text name; /* its last part */
    uint32_t parent;  /* NO_INDEX of the root */
    ARRAY(struct device_rollup_interval) intervals; /* in which it has instructions or DMA */
    uint64_t flops, transpose_flops, model_flops;
    uint64_t hbm_read, hbm_write, sbuf_read, sbuf_write, load_weight_bytes;
    uint64_t instructions[ENGINE_COUNT];
    int64_t time_ps[ENGINE_COUNT]; /* added up */
};
struct device_rollup {
    ARRAY(struct device_rollup_node) nodes; /* parents before children; 0 is the root */
    uint32_t *of_origin;                    /* node of each origin of the program */
    struct intern paths;
};
void device_rollup_begin(struct device_rollup *rollup, const struct core_program *program,
                         enum device_rollup_kind kind);
/* What an execution adds to roll-ups, in order of start. */
struct device_work {
    int64_t start_ps, end_ps;
    uint32_t origin; /* NO_INDEX: none */
    uint32_t part;   /* pc of an instruction, or a block */
    uint8_t engine;  /* ENGINE_COUNT: a block */
};
typedef ARRAY(struct device_work) device_works;
void device_works_find(device_works *works, const struct device_profile *profile,
                       const struct device_execution *execution);
void device_rollup_add(struct device_rollup *rollup, const struct device_profile *profile,
                       const device_works *works);
void device_rollup_free(struct device_rollup *rollup);
/* Time in which the node has work. */
int64_t device_rollup_active_ps(const struct device_rollup_node *node);

/* The times that limits of the hardware allow for the same work, in seconds. */
struct device_bounds {
    double memory;               /* as it ran: DMA is active */
    double memory_ideal;         /* its bytes at the full rate of all DMA engines */
    double memory_ideal_once;    /* inputs, weights and outputs once */
    double compute;              /* as it ran: the Tensor engine is active */
    double compute_ideal;        /* its operations at the peak rate */
    double compute_ideal_useful; /* without transposes */
    double pipeline;             /* the busiest of engines and DMA: all others at the same time */
    uint8_t busiest;             /* enum device_unit */
    /* total time / the larger of the bound and the busiest of the others */
    double memory_speedup, compute_speedup, pipeline_speedup;
};
void device_bounds_make(struct device_bounds *bounds, const struct device_profile *profile,
                        const struct device_sums *sums);

/* --- Dependencies: what had to happen before an item of an execution could begin. --- */
enum device_item_kind {
    ITEM_NONE,
    ITEM_INSTRUCTION,
    ITEM_TRANSFER,
    ITEM_BLOCK,
    ITEM_COLLECTIVE,
    ITEM_ERROR, /* only in evidence: has no length and waits for nothing */
};
struct device_item {
    uint8_t kind;   /* enum device_item_kind */
    uint8_t engine; /* of an instruction */
    uint32_t index; /* in the execution's list */
};
enum device_edge_kind {
    EDGE_SEMAPHORE, /* its wait ended with what `from` did to the semaphore */
    EDGE_ORDER,     /* an engine runs its list in order */
    EDGE_TRIGGER,   /* an instruction starts transfers and collectives */
    EDGE_RING,      /* a DMA engine, or a CC-core, takes one after the other */
    EDGE_DATA,      /* reads what `from` wrote to HBM */
    EDGE_KINDS,
};
struct device_edge {
    struct device_item from, to;
    uint8_t kind;       /* enum device_edge_kind */
    int64_t release_ps; /* when `from` let `to` go on */
};
struct device_dependencies {
    const struct device_profile *profile;
    const struct device_execution *execution;
    uint32_t
        *met_by[ENGINE_COUNT]; /* by instruction: the update that ended its wait, or NO_INDEX */
    uint32_t *last_transfer;   /* by block: which ended last */
    int64_t *ready_ps;         /* by collective: all ranks are there, and it is set up */
    struct device_item *wrote; /* by block: who wrote to HBM what it reads */
};
void device_dependencies_find(struct device_dependencies *dependencies,
                              const struct device_profile *profile,
                              const struct device_execution *execution);
void device_dependencies_free(struct device_dependencies *dependencies);
enum { DEVICE_MAX_EDGES = 4 };
size_t device_predecessors(const struct device_dependencies *dependencies, struct device_item item,
                           struct device_edge edges[static DEVICE_MAX_EDGES]);
struct device_interval device_item_span(const struct device_execution *execution,
                                        struct device_item item);
/* What it runs: the instruction's pc, the transfer's descriptor, the block, the collective. */
uint32_t device_item_part(const struct device_execution *execution, struct device_item item);
/* "Vector TENSOR_COPY at 17, layer /gpt/norm", "DMA of wq on qSyncIO0", "AllReduce of grads". */
size_t device_item_text(const struct core_program *program, struct device_item item, uint32_t part,
                        char *text, size_t size);
/* "semaphore", "order", ... */
const char *device_edge_name(enum device_edge_kind kind);

/* --- The critical path: from the execution's end back to its start, always by what an item waited
 * for last. Its segments tile the execution. --- */
enum device_wait {
    WAIT_NOT,        /* an item works */
    WAIT_BEGIN,      /* nothing that was recorded came before */
    WAIT_DMA_START,  /* from a trigger to the first byte */
    WAIT_DMA_END,    /* from the last byte to the semaphore */
    WAIT_SEMAPHORE,  /* from a semaphore's update to the start; or its source is unknown */
    WAIT_ENGINE,     /* from an instruction's end to the next: results, shared ports */
    WAIT_COLLECTIVE, /* a collective is set up, or waits for other ranks */
    WAIT_END,        /* nothing that was recorded came after */
    DEVICE_WAITS,
};
/* "DMA start", ... for people. */
const char *device_wait_name(enum device_wait wait);
struct device_segment {
    int64_t start_ps, end_ps;
    struct device_item item; /* that works, or that waits */
    uint8_t wait;            /* enum device_wait */
};
struct device_path {
    ARRAY(struct device_segment) segments; /* in order of time, without gaps */
    int64_t engine_ps[ENGINE_COUNT], dma_ps, collective_ps, wait_ps[DEVICE_WAITS];
};
void device_critical_path(const struct device_dependencies *dependencies, struct device_path *path);
void device_path_free(struct device_path *path);

/* --- Findings: what costs time, and what to do about it. --- */

/* The item that a finding's evidence names. */
static inline struct device_item device_item_of(const struct evidence *evidence)
{
    return (struct device_item){.kind = evidence->item.kind,
                                .engine = evidence->item.engine,
                                .index = evidence->item.index};
}

struct device_error {
    int64_t time_ps;
    uint8_t kind; /* enum error_kind */
    uint8_t unit;
    uint32_t at, detail; /* see ntff.h */
};

/* What rules look at besides the sums: gathered from the executions. */
struct device_gathered {
    struct { /* executions that ended with a status or notified errors */
        uint32_t count;
        struct ntff_execution info; /* of the first, if it has one */
        bool has_info, has_error;
        struct device_error error; /* its first */
        struct evidence evidence;
    } failed;
    int64_t throttle_lost_ps; /* what matmuls took longer because of throttling */
    struct evidence throttle;
    uint64_t small_packets, small_bytes;
    int64_t small_ps, small_excess_ps; /* excess: beyond the rate of large ones */
    struct evidence small;
    int64_t spill_ps;
    struct evidence spill;
    int64_t transpose_ps;
    struct evidence transpose;
    struct evidence matmul;              /* the longest on the critical path */
    struct evidence waits[DEVICE_WAITS]; /* the longest on the critical path */
};
/* A collective's runs, by operation and size. */
struct device_collective_run {
    uint32_t group;
    int64_t duration_ps;
    struct evidence evidence;
};

struct device_analysis {
    const struct device_profile *profile;
    const char *nki_source_root; /* as device_analysis_find was told */
    bool *is_nki; /* by origin: of an NKI kernel; NULL: not known, or before device_analysis_find */
    struct device_sums sums;
    struct device_metrics metrics;
    struct device_bounds bounds;
    struct device_opcodes *opcodes;
    struct device_tensor *tensors;                /* by variable */
    struct device_rollup rollups[DEVICE_ROLLUPS]; /* by enum device_rollup_kind */
    uint64_t *runs[ENGINE_COUNT];                 /* of each instruction */
    struct device_path path;                      /* sums over all executions, without segments */
    struct device_gathered gathered;
    ARRAY(uint64_t) groups; /* keys of collectives: operation, bytes */
    struct idmap group_ids;
    ARRAY(struct device_collective_run) durations;
    struct findings findings; /* the greatest gain first */
    struct ntff_loss loss;    /* damage of the file that is known by now */
};
/* By origin: whether its source is in the directory of NKI kernels, which may be NULL; then NULL.
 * Free with mem_free. */
bool *device_nki_origins(const struct core_program *program, const char *nki_source_root);
/* All executions of a profile, with findings. nki_source_root may be NULL. */
void device_analyze(struct device_analysis *analysis, const struct device_profile *profile,
                    const char *nki_source_root, struct pool *pool);
void device_analysis_begin(struct device_analysis *analysis, const struct device_profile *profile);
/* What is worked out of an execution on its own, by any thread, before it is added to others. */
struct device_prepared {
    struct device_path path;
    device_works works;
};
void device_prepare(struct device_prepared *prepared, const struct device_profile *profile,
                    const struct device_execution *execution);
void device_prepared_free(struct device_prepared *prepared);
void device_analysis_add(struct device_analysis *analysis, const struct device_execution *execution,
                         const struct device_prepared *prepared);
/* When all have been added: metrics and bounds; then findings. */
void device_analysis_end(struct device_analysis *analysis);
void device_analysis_find(struct device_analysis *analysis, const char *nki_source_root);
void device_analysis_free(struct device_analysis *analysis);
/* Adds findings on ranks that worked together. */
void device_cores_find(const struct device_cores *cores, struct findings *findings);

/* --- Warnings: what is marked on the timeline. --- */
enum device_warning_kind {
    WARNING_RELOADED,  /* a tensor is loaded to SBUF more than twice */
    WARNING_THROTTLED, /* the Tensor engine's rate is capped */
    WARNING_SMALL_DMA, /* packets of less than 2 KiB */
};
struct device_warning {
    uint8_t kind; /* enum device_warning_kind */
    int64_t from_ps, to_ps;
    uint32_t queue, variable; /* NO_INDEX: none */
    uint64_t count, bytes;    /* of packets; count of throttling: intervals */
    double amount;            /* how often it is loaded; share of the rate that is left */
};
typedef ARRAY(struct device_warning) device_warnings;
/* Appends those of an execution. */
void device_warnings_find(const struct device_profile *profile,
                          const struct device_execution *execution, device_warnings *warnings);
const char *device_warning_title(enum device_warning_kind kind);
/* A sentence with its figures; returns its length, what does not fit is cut. */
size_t device_warning_text(const struct core_program *program, const struct device_warning *warning,
                           char *text, size_t size);

/* --- Ranks: collectives of several profiles of one NEFF, matched. Clocks of devices differ, so
 * ranks are compared by how long each waited in a collective: the one that waited least came last.
 * Executions that did not overlap by the wall clocks of their hosts have no collectives in common.
 * --- */
struct device_arrival {
    uint32_t execution, collective, occurrence; /* of the collective in the execution */
    uint32_t group;                             /* of ranks */
    uint32_t rank;                              /* index in device_ranks.ranks */
    int64_t start_ps, wait_ps;                  /* on the rank's clock */
    uint64_t from_ns, to_ns; /* of its execution, by the wall clock of its host; 0: not known */
};
struct device_rank {
    uint32_t rank, device, core;
    int64_t total_ps;   /* of its executions */
    int64_t waited_ps;  /* for ranks that came later */
    int64_t held_up_ps; /* what all others waited for it */
    uint64_t collectives, came_last;
};
/* One collective of one group of ranks. */
struct device_meeting {
    uint32_t execution, collective, occurrence, group;
    uint32_t ranks;    /* that took part and were profiled */
    uint32_t last;     /* index of the rank that came last */
    int64_t skew_ps;   /* between the first and the last */
    int64_t waited_ps; /* by all others together */
    int64_t start_ps;  /* of the last one, on its clock */
};
struct device_ranks {
    const struct core_program *program;
    ARRAY(struct device_rank) ranks;
    ARRAY(struct device_arrival) arrivals;
    ARRAY(struct device_meeting) meetings; /* the greatest skew first */
    uint64_t apart;   /* collectives of executions that did not overlap: not in meetings */
    uint32_t current; /* index: whose executions are added */
    uint32_t slowest; /* index: for whom others waited longest; NO_INDEX: nobody waited */
};
/* Adds a rank, then its executions, one by one, by their numbers in the capture. A rank whose
 * executions are in several files is one. */
void device_ranks_begin(struct device_ranks *ranks, const struct device_profile *profile,
                        const struct device_rank *rank);
void device_ranks_add_execution(struct device_ranks *ranks, uint32_t number,
                                const struct device_execution *execution);
void device_ranks_end(struct device_ranks *ranks);
/* All at once: of cores whose executions are in memory. Those of another NEFF than the first one's
 * are left out. */
void device_ranks_of(struct device_ranks *ranks, const struct device_cores *cores);
void device_ranks_free(struct device_ranks *ranks);

#endif
