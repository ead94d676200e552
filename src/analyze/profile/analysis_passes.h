/*
 * Inside analyze: the passes in the order they run. Each fills its part of struct analysis from the
 * results of the earlier ones.
 */
#ifndef KYMO_ANALYZE_PROFILE_ANALYSIS_PASSES_H
#define KYMO_ANALYZE_PROFILE_ANALYSIS_PASSES_H

#include "analyze/profile/analyze.h"

struct facts; /* see facts.h */

/* 1. Reads the source: times, marks, labels, correlations, sums of other args. */
bool collect(struct analysis *analysis, struct source *source, struct pool *pool,
             struct facts *facts, struct error *err);

/* 2. The meaning of event types. */
void classify_types(struct analysis *analysis);

/* 3. Per lane: order, extent, busy time, totals per event type. */
struct type_totals {
    struct totals *kernels, *operations, *host; /* by event type */
};
void survey_lanes(struct analysis *analysis, struct pool *pool, struct type_totals *totals);
void type_totals_free(struct type_totals *totals);
/* Totals of one lane by event type, on the device's clock where it has times on that. */
void measure_types(const struct analysis *analysis, uint32_t track, struct totals *totals);

/* The scopes around scopes, which XLA's tracers write as a plane of its own: ids of annotations
 * with the id of the annotation around each. */
struct scope_tree {
    struct idmap index; /* hash of process and scope -> its place in outer */
    ARRAY(int64_t) outer;
};
void scope_tree_make(struct scope_tree *tree, const struct catalog *catalog);
void scope_tree_free(struct scope_tree *tree);
/* The outermost scope around a scope; itself if there is none. */
int64_t outermost_scope(const struct scope_tree *tree, uint32_t process, int64_t scope);

/* 4. Finds launches and assigns host events to steps. */
void find_launches(struct analysis *analysis);
/* Those around launches whose thread does not tell. */
void find_executions(struct analysis *analysis);
void group_steps(struct analysis *analysis);
/* Without annotations: the steps that devices recorded; without those, guessed ones. */
void take_recorded_steps(struct analysis *analysis);
void guess_steps(struct analysis *analysis);
bool guess_from_optimizers(struct analysis *analysis);
bool guess_from_annotations(struct analysis *analysis);
/* Steps that say what the program means by one: annotated, or too many to be a coincidence. */
static inline bool has_certain_steps(const struct analysis *analysis)
{
    enum { CERTAIN_STEPS = 5 };
    return analysis->step_origin == STEPS_ANNOTATED ? analysis->steps.count > 0
                                                    : analysis->steps.count >= CERTAIN_STEPS;
}

/* 5. Nests calls of operators, finds the calls of launches, and links backward passes. */
void find_calls(struct analysis *analysis, struct pool *pool);
void link_backward(struct analysis *analysis);
/* The call that an event is, or NO_INDEX. */
uint32_t find_call(const struct analysis *analysis, uint32_t track, uint64_t event);
/* The call with an external id in a process, or NO_INDEX; once they are sorted. */
void sort_externals(struct analysis *analysis);
uint32_t find_external(const struct analysis *analysis, uint32_t process, uint64_t id);

/* 6. Finds the operations of kernels in graphs, once programs of labels are known. */
void order_kernels(struct analysis *analysis);

/* Gives kernels without a label, between kernels of one operation in one execution, that operation,
 * if it has such kernels elsewhere. */
void fill_labels(struct analysis *analysis);

/* Widths of the numbers that kernels compute with. */
enum precision {
    PRECISION_UNKNOWN,
    PRECISION_16, /* floating point of 16 bits and fewer */
    PRECISION_32,
    PRECISION_OTHER,
};
/* Of a kernel, whose operation may be NULL. */
enum precision kernel_precision(const struct analysis *analysis, uint32_t type,
                                const struct operation *operation);

/* Kinds of device work, the most important first: while several run, only the first counts. */
enum work_kind {
    WORK_COMPUTE_16,
    WORK_COMPUTE_32,
    WORK_COMPUTE_OTHER,
    WORK_TO_HOST,
    WORK_OUTFEED,
    WORK_BETWEEN,
    WORK_COLLECTIVES,
    WORK_TO_DEVICE,
    WORK_INFEED,
    WORK_OTHER, /* copies from host to host */
    WORK_KINDS,
    WORK_AROUND, /* a frame around other work, or a wait */
};
enum work_kind kind_of_work(const struct analysis *analysis, uint32_t type,
                            const struct operation *operation);
/* The class of an event type; RANK_CLASSES: a frame around other work, or a wait. */
enum rank_class rank_class_of(const struct analysis *analysis, uint32_t type);
/* Whether work of this type is a kernel, or an operation of devices without kernels: not a copy, a
 * memset or a wait. */
bool is_kernel_type(const struct analysis *analysis, uint32_t type);
/* The type of the numbers in an HLO text: "f32" of "%x = f32[8] fusion(bf16[8] %y)"; of a product
 * of matrices, that of what it multiplies. */
struct text type_in_expression(struct text expression, bool is_product);
/* Whether a category is one of products of matrices. */
bool is_product_category(struct text category);
/* The launch of a device event, or NULL. */
const struct launch *launch_of_work(const struct analysis *analysis, struct event_ref work);

/* Sums over the work of a stream, operation by operation. */
/* What tells two executions of a program apart. */
struct execution {
    bool has_id;
    int64_t id, scope; /* the scope is the outermost */
    uint32_t number;
};
bool is_same_execution(const struct execution *a, const struct execution *b);
/* Of work that was launched so; the launch may be NULL. */
struct execution execution_of(const struct launch *launch);

struct stream_work {
    uint64_t event;
    uint32_t label, call; /* index plus one, 0 for none */
    int64_t scope;        /* that it was launched in */
    struct execution run;
};
struct stream_sums;
struct stream_sums *stream_sums_begin(struct analysis *analysis, uint32_t track);
void stream_sums_add(struct stream_sums *sums, const struct stream_work *work);
/* Adds the sums to the analysis, which no other thread may use meanwhile, and frees them. */
void stream_sums_end(struct stream_sums *sums);

/* 7. Propagates steps to devices and derives rows of GPU streams. */
struct operation_totals {
    uint32_t name, module; /* strings */
    uint32_t program, operation;
    uint64_t kernels;
    struct totals totals;
};
typedef ARRAY(struct operation_totals) operation_list;
void process_devices(struct analysis *analysis, struct pool *pool, operation_list *operations);

/* 8. How devices spent their time, in parallel. */
struct gap {
    int64_t from_ps, to_ps;
    struct event_ref next; /* the work that ends it; its track is TRACK_NONE at the end */
};

/* Times are unions of intervals over the device's streams. */
struct device_activity {
    uint32_t device;     /* source track */
    enum lane_role role; /* of the lanes that have its work */
    uint64_t events;
    int64_t busy_ps, sum_ps; /* over the whole profile; see struct device_summary */
    /* From the first step to the end of the last, or from its first to its last work. */
    bool has_steps;
    uint32_t main_lane; /* the host lane of the steps; TRACK_NONE without them */
    int64_t from_ps, to_ps;
    /* In that time: */
    uint64_t kernels;                 /* without copies and memsets */
    int64_t kernel_ps;                /* their durations, added up */
    int64_t work_ps;                  /* busy */
    int64_t alone_ps[DEVICE_CLASSES]; /* nothing but this class of work ran */
    int64_t short_gaps_ps;            /* idle, in gaps too short for `gaps` */
    ARRAY(struct gap) gaps;           /* in time order */
};
typedef ARRAY(struct device_activity) activity_list;
void measure_devices(struct analysis *analysis, struct pool *pool, activity_list *activities);
void activities_free(activity_list *activities);

/* 9. Summary figures. */
void measure_extents(struct analysis *analysis);
void summarize(struct analysis *analysis, const struct type_totals *types,
               const operation_list *operations, const activity_list *activities);
void summarize_operators(struct analysis *analysis, const struct type_totals *types);
/* backward_ps: by call, the time of backward passes that is credited to it alone. */
void list_module_paths(const struct analysis *analysis, const int64_t *backward_ps,
                       operator_list *modules);

/* 10. What devices are and can do, and the operations of those that record them. */
void describe_devices(struct analysis *analysis);
void sum_operations(struct analysis *analysis, struct catalog *catalog);
void measure_figures(struct analysis *analysis, const activity_list *activities);

/* 11. Findings. */
void find(struct analysis *analysis, const activity_list *activities, const struct facts *facts);

/* What a device, by its source track, has of a step: made if missing, or NULL. */
struct device_step *device_step_add(struct analysis *analysis, uint32_t device, uint32_t step);
const struct device_step *device_step_find(const struct analysis *analysis, uint32_t device,
                                           uint32_t step);

/* The lane's column of steps, allocated on first use; see struct lane_analysis. */
uint32_t *groups_of(struct analysis *analysis, uint32_t track);

/* Call for each event in a loop over a lane: limits the memory of file-backed columns. */
static inline void touch_event(uint64_t position)
{
    enum { EVENTS = 8192, COLUMN_BYTES = 64 };
    if (position % EVENTS == 0)
        mem_touched(EVENTS * COLUMN_BYTES);
}

/* The same for loops in time order, where the next event may be stored elsewhere. */
static inline void touch_event_jump(uint64_t from, uint64_t to)
{
    enum { NEAR = 256, COLUMNS = 2 };
    uint64_t distance = to > from ? to - from : from - to;
    if (distance > NEAR)
        mem_touched((size_t)COLUMNS * (distance * 8 < MEM_JUMP ? distance * 8 : MEM_JUMP));
}

static inline uint64_t event_at(const struct lane_analysis *lane, uint64_t position)
{
    return lane->order ? lane->order[position] : position;
}

static inline void totals_add(struct totals *totals, uint64_t count, int64_t duration_ps,
                              int64_t self_ps)
{
    if (totals->count == 0 || duration_ps < totals->min_ps)
        totals->min_ps = duration_ps;
    if (totals->count == 0 || duration_ps > totals->max_ps)
        totals->max_ps = duration_ps;
    totals->count += count;
    totals->total_ps = add_saturated(totals->total_ps, duration_ps);
    totals->self_ps = add_saturated(totals->self_ps, self_ps);
}

static inline void totals_merge(struct totals *into, const struct totals *other)
{
    if (other->count == 0)
        return;
    if (into->count == 0 || other->min_ps < into->min_ps)
        into->min_ps = other->min_ps;
    if (into->count == 0 || other->max_ps > into->max_ps)
        into->max_ps = other->max_ps;
    into->count += other->count;
    into->total_ps = add_saturated(into->total_ps, other->total_ps);
    into->self_ps = add_saturated(into->self_ps, other->self_ps);
}

#endif
