/*
 * Finds the events that reach over the edges of a range. Their self time inside it depends on what
 * is in them, so that tracks with such events are walked.
 */
#include "serve/api/edges.h"

#include "serve/runs/flat_lanes.h"

enum { NODE_INSIDE = 1, NODE_EDGE };

struct edge_walk {
    struct request *request;
    int64_t from_ps, to_ps;
    edge_list *edges;
    uint64_t events;
    bool is_found;
};

static bool reaches_over(const struct edge_walk *walk, const struct timeline_event *event)
{
    return event->start_ps < walk->from_ps || event->end_ps > walk->to_ps;
}

static size_t look(void *context, const struct timeline_event *event, size_t outer)
{
    struct edge_walk *walk = context;
    (void)outer;
    walk->is_found |= reaches_over(walk, event);
    return walk->is_found ? TIMELINE_STOP : NODE_INSIDE;
}

static void look_away(void *context, size_t node, int64_t total_ps, int64_t self_ps)
{
    (void)context;
    (void)node;
    (void)total_ps;
    (void)self_ps;
}

static size_t open_event(void *context, const struct timeline_event *event, size_t outer)
{
    struct edge_walk *walk = context;
    (void)outer;
    if (++walk->events % CANCEL_CHECK_EVENTS == 0 && request_is_abandoned(walk->request))
        return TIMELINE_STOP;
    if (!reaches_over(walk, event))
        return NODE_INSIDE;
    *array_push(walk->edges) = (struct edge_event){.id = event->id};
    return NODE_EDGE + walk->edges->count - 1;
}

static void close_event(void *context, size_t node, int64_t total_ps, int64_t self_ps)
{
    const struct edge_walk *walk = context;
    (void)total_ps;
    if (node >= NODE_EDGE)
        walk->edges->items[node - NODE_EDGE].self_ps = self_ps;
}

static bool walk_track(struct edge_walk *walk, struct timeline *timeline, uint32_t track,
                       struct error *err)
{
    const struct timeline_visitor looking = {look, look_away, walk};
    const struct timeline_visitor taking = {open_event, close_event, walk};
    int64_t second = add_saturated(walk->from_ps, 1), last = sub_saturated(walk->to_ps, 1);
    walk->is_found = false;
    return timeline_nest(timeline, track, walk->from_ps, second, false, &looking, err) &&
           (walk->is_found ||
            timeline_nest(timeline, track, last, walk->to_ps, false, &looking, err)) &&
           (!walk->is_found ||
            timeline_nest(timeline, track, walk->from_ps, walk->to_ps, false, &taking, err));
}

bool find_edges(struct timeline *timeline, struct request *request, const uint32_t *tracks,
                size_t count, int64_t from_ps, int64_t to_ps, edge_list *edges, struct error *err)
{
    struct edge_walk walk = {
        .request = request, .from_ps = from_ps, .to_ps = to_ps, .edges = edges};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        if (tracks[i] < timeline_track_count(timeline) &&
            !timeline_track_at(timeline, tracks[i])->is_counter &&
            !lane_is_flat(timeline, tracks[i]))
            ok = walk_track(&walk, timeline, tracks[i], err);
    return ok;
}
