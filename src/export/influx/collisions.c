/*
 * Finds events whose points would overwrite each other: one pass over each lane in time order.
 */
#include "export/influx/influx.h"

enum { MAX_MOVED_NS = 1 << (32 - COLLISION_BITS), STRIDE = 8192, COLUMN_BYTES = 24, NEAR = 256 };

int64_t point_time(const struct catalog *catalog, int64_t start_ps)
{
    int64_t epoch_ns = catalog->start_epoch_ns == TIME_UNSET ? 0 : catalog->start_epoch_ns;
    int64_t time_ns = add_saturated(epoch_ns, whole_ns(start_ps));
    if (time_ns < POINT_FIRST_NS)
        return POINT_FIRST_NS;
    int64_t last_ns = POINT_LAST_NS - MAX_MOVED_NS; /* leaves room for moved points */
    return time_ns > last_ns ? last_ns : time_ns;
}

void collision_run_add(struct collision_run *run, int64_t time_ns)
{
    if (!run->has_any || time_ns > run->time_ns) {
        *run = (struct collision_run){.time_ns = time_ns, .has_any = true};
    } else if (++run->collision == MAX_COLLISIONS) {
        run->collision = 0;
        run->time_ns++;
    }
}

struct collision_search {
    const struct analysis *analysis;
    uint32_t *collisions;
    atomic_bool is_too_many;
};

/* Lanes are searched in parallel; each writes its own range of the result. Events need not be in
 * time order, so memory is announced for each jump. */
static bool search_lane(void *context, size_t track, unsigned worker)
{
    (void)worker;
    struct collision_search *search = context;
    const struct analysis *analysis = search->analysis;
    const struct lane_events *lane = &analysis->trace.lanes[track];
    const uint64_t *order = analysis->lanes[track].order;
    uint32_t *collisions = search->collisions + lane_first(&analysis->trace, (uint32_t)track);
    struct collision_run run = {0};
    for (uint64_t i = 0, last = 0; i < lane->count; i++) {
        uint64_t event = order ? order[i] : i;
        uint64_t distance = event > last ? event - last : last - event;
        last = event;
        if (i % STRIDE == 0)
            mem_touched((size_t)STRIDE * COLUMN_BYTES);
        if (distance > NEAR)
            mem_touched(MEM_JUMP);
        int64_t time_ns = point_time(analysis->catalog, lane->start_ps[event]);
        collision_run_add(&run, time_ns);
        if (run.time_ns - time_ns >= MAX_MOVED_NS) {
            atomic_store(&search->is_too_many, true);
            return false;
        }
        collisions[event] = (uint32_t)(run.time_ns - time_ns) << COLLISION_BITS | run.collision;
    }
    return true;
}

bool find_collisions(const struct analysis *analysis, struct pool *pool, uint32_t **collisions,
                     struct error *err)
{
    struct collision_search search = {.analysis = analysis};
    search.collisions = mem_alloc((size_t)analysis->trace.events * sizeof *search.collisions);
    pool_run(pool, analysis->catalog->tracks.count, search_lane, &search);
    if (atomic_load(&search.is_too_many)) {
        mem_free(search.collisions);
        return error_set(
            err, "more than 2^32 events start at the same time; InfluxDB cannot store them");
    }
    *collisions = search.collisions;
    return true;
}
