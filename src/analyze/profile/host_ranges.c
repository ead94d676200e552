/*
 * What a host lane did in given ranges of time: one walk over the lane, with the stack of events
 * that are open.
 */
#include "analyze/profile/findings.h"

struct open_event {
    int64_t end_ps;
    uint32_t type;
    uint8_t class;
    uint32_t class_type;
    int64_t class_from_ps;
};

struct walk {
    const range_list *ranges;
    size_t at; /* the first range that is not over */
    host_visit *visit;
    void *context;
    ARRAY(struct open_event) open;
    int64_t now_ps;
    int64_t next_ps;          /* nothing is to be visited before */
    struct open_event waited; /* the last wait for a device that is over, if any */
};

/* Visits the ranges' parts of [from, to), during which the innermost event is open. */
static void visit_parts(struct walk *walk, int64_t from, int64_t to, const struct open_event *open)
{
    while (walk->at < walk->ranges->count && walk->ranges->items[walk->at].to_ps <= from)
        walk->at++;
    for (size_t i = walk->at; open && i < walk->ranges->count; i++) {
        const struct host_range *range = &walk->ranges->items[i];
        if (range->from_ps >= to)
            return;
        struct host_part part = {.from_ps = range->from_ps > from ? range->from_ps : from,
                                 .to_ps = range->to_ps < to ? range->to_ps : to,
                                 .type = open->type,
                                 .class = open->class,
                                 .class_type = open->class_type,
                                 .class_from_ps = open->class_from_ps,
                                 .has_waited = walk->waited.class == HOST_SYNC,
                                 .waited_type = walk->waited.class_type,
                                 .waited_from_ps = walk->waited.class_from_ps,
                                 .waited_to_ps = walk->waited.end_ps};
        if (part.to_ps > part.from_ps)
            walk->visit(walk->context, range, &part);
    }
}

static inline void pass_time(struct walk *walk, int64_t to, const struct open_event *open)
{
    int64_t from = walk->now_ps;
    if (to <= from)
        return;
    walk->now_ps = to;
    if (to <= walk->next_ps)
        return;
    visit_parts(walk, from, to, open);
    walk->next_ps =
        walk->at < walk->ranges->count ? walk->ranges->items[walk->at].from_ps : INT64_MAX;
}

/* Closes the events that end until a time. */
static inline void close_until(struct walk *walk, int64_t time)
{
    while (walk->open.count > 0) {
        const struct open_event *last = &walk->open.items[walk->open.count - 1];
        if (last->end_ps > time)
            return;
        pass_time(walk, last->end_ps, last);
        if (last->class == HOST_SYNC)
            walk->waited = *last;
        walk->open.count--;
    }
}

static inline void open_event(struct walk *walk, uint32_t type, uint8_t class, int64_t start,
                              int64_t end)
{
    const struct open_event *outer =
        walk->open.count > 0 ? &walk->open.items[walk->open.count - 1] : NULL;
    struct open_event event = {end, type, class, type, start};
    if (outer && outer->class >= class) {
        event.class = outer->class;
        event.class_type = outer->class_type;
        event.class_from_ps = outer->class_from_ps;
    }
    *array_push(&walk->open) = event;
}

void visit_host(const struct analysis *analysis, uint32_t lane, uint64_t first,
                const range_list *ranges, host_visit *visit, void *context)
{
    const struct lane_events *events = &analysis->trace.lanes[lane];
    struct walk walk = {.ranges = ranges,
                        .visit = visit,
                        .context = context,
                        .now_ps = INT64_MIN,
                        .next_ps = INT64_MIN};
    for (uint64_t i = first; i < events->count && walk.at < ranges->count; i++) {
        uint64_t event = event_at(&analysis->lanes[lane], i);
        touch_event(i);
        int64_t start = events->start_ps[event];
        if (events->duration_ps[event] <= 0 || !event_is_timed(events, event))
            continue;
        close_until(&walk, start);
        pass_time(&walk, start, walk.open.count > 0 ? &walk.open.items[walk.open.count - 1] : NULL);
        uint32_t type = events->type[event];
        open_event(&walk, type, analysis->host_class[type], start, event_end(events, event));
    }
    close_until(&walk, INT64_MAX);
    array_free(&walk.open);
}
