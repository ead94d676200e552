/*
 * Which events would replace each other: one walk over each lane in order of time.
 */
#include "export/influx.h"

enum { MOST_MOVED_NS = 1 << (32 - TWIN_BITS), STRIDE = 8192, COLUMN_BYTES = 24, NEAR = 256 };

int64_t point_time(const struct catalog *catalog, int64_t start_ps)
{
    int64_t epoch_ns = catalog->start_epoch_ns == TIME_UNSET ? 0 : catalog->start_epoch_ns;
    int64_t time_ns = add_saturated(epoch_ns, whole_ns(start_ps));
    if (time_ns < POINT_FIRST_NS)
        return POINT_FIRST_NS;
    int64_t last_ns = POINT_LAST_NS - MOST_MOVED_NS; /* there is room for twins behind it */
    return time_ns > last_ns ? last_ns : time_ns;
}

void twin_pile_add(struct twin_pile *pile, int64_t time_ns)
{
    if (!pile->has_any || time_ns > pile->time_ns) {
        *pile = (struct twin_pile){.time_ns = time_ns, .has_any = true};
    } else if (++pile->twin == MOST_TWINS) {
        pile->twin = 0;
        pile->time_ns++;
    }
}

struct twin_search {
    const struct analysis *analysis;
    uint32_t *twins;
    atomic_bool is_too_many;
};

static bool search_lane(void *context, size_t track, unsigned worker)
{
    (void)worker;
    struct twin_search *search = context;
    const struct analysis *analysis = search->analysis;
    const struct lane_events *lane = &analysis->trace.lanes[track];
    const uint64_t *order = analysis->lanes[track].order;
    uint32_t *twins = search->twins + lane_first(&analysis->trace, (uint32_t)track);
    struct twin_pile pile = {0};
    for (uint64_t i = 0, last = 0; i < lane->count; i++) {
        uint64_t event = order ? order[i] : i;
        uint64_t distance = event > last ? event - last : last - event;
        last = event;
        if (i % STRIDE == 0)
            mem_touched((size_t)STRIDE * COLUMN_BYTES);
        if (distance > NEAR)
            mem_touched(MEM_JUMP);
        int64_t time_ns = point_time(analysis->catalog, lane->start_ps[event]);
        twin_pile_add(&pile, time_ns);
        if (pile.time_ns - time_ns >= MOST_MOVED_NS) {
            atomic_store(&search->is_too_many, true);
            return false;
        }
        twins[event] = (uint32_t)(pile.time_ns - time_ns) << TWIN_BITS | pile.twin;
    }
    return true;
}

bool find_twins(const struct analysis *analysis, struct pool *pool, uint32_t **twins,
                struct error *err)
{
    struct twin_search search = {.analysis = analysis};
    search.twins = mem_alloc((size_t)analysis->trace.events * sizeof *search.twins);
    pool_run(pool, analysis->catalog->tracks.count, search_lane, &search);
    if (atomic_load(&search.is_too_many)) {
        mem_free(search.twins);
        return error_set(
            err, "more than 2^32 events start at the same time; InfluxDB cannot store them");
    }
    *twins = search.twins;
    return true;
}
