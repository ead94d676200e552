/*
 * Inside analyze: the passes in the order they run. Each fills its part of struct analysis from the
 * results of the earlier ones.
 */
#ifndef KYMO_ANALYZE_PASSES_H
#define KYMO_ANALYZE_PASSES_H

#include "analyze/analyze.h"

/* 1. Reads the source: times, marks, labels, correlations. */
bool collect(struct analysis *analysis, struct source *source, struct pool *pool,
             struct error *err);

/* 2. Per lane: order, extent, busy time, totals per event type. */
struct type_totals {
    struct totals *kernels, *operations, *host; /* by event type */
};
void survey_lanes(struct analysis *analysis, struct pool *pool, struct type_totals *totals);
void type_totals_free(struct type_totals *totals);

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

/* 3. Finds launches and assigns host events to steps. */
void find_launches(struct analysis *analysis);
void group_steps(struct analysis *analysis);
/* Without annotations: the steps that devices recorded; without those, guessed ones. */
void take_recorded_steps(struct analysis *analysis);
void guess_steps(struct analysis *analysis);

/* 4. Propagates steps to devices and derives rows of GPU streams. */
struct operation_totals {
    uint32_t name, module; /* strings */
    uint32_t program, operation;
    uint64_t kernels;
    struct totals totals;
};
typedef ARRAY(struct operation_totals) operation_list;
void process_devices(struct analysis *analysis, struct pool *pool, operation_list *operations);

/* 5. Summary figures. */
void summarize(struct analysis *analysis, const struct type_totals *types,
               const operation_list *operations);

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
