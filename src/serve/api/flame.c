/*
 * POST flame: the call tree of the events of some tracks in a time range. Events of the same name
 * in the same enclosing events are one node.
 */
#include "serve/api/handlers.h"

#include "serve/runs/flat_lanes.h"

enum { ROOT = 1 }; /* node of the whole; nodes count from 1 */
/* Marks an event that found no room in the tree: its self time goes to the enclosing node. */
#define FOLDED ((size_t)1 << 62)

struct flame_node {
    uint32_t parent, name;
    uint64_t count;
    int64_t total_ps, self_ps;
    int64_t weight_ps; /* the most time of it and the nodes below it */
};

struct flame {
    struct request *request;
    ARRAY(struct flame_node) nodes;
    struct idmap by_path; /* parent and name to node */
    uint64_t events;
    bool is_canceled;
};

static size_t open_node(void *context, const struct timeline_event *event, size_t outer)
{
    struct flame *flame = context;
    size_t parent = outer ? outer & ~FOLDED : ROOT;
    if (++flame->events % CANCEL_CHECK_EVENTS == 0 &&
        (flame->is_canceled = request_is_abandoned(flame->request)))
        return TIMELINE_STOP;
    if (outer & FOLDED)
        return outer;
    uint64_t path = (uint64_t)parent << 32 | event->name;
    uint32_t node = idmap_get(&flame->by_path, path);
    if (node == IDMAP_NONE) {
        if (flame->nodes.count >= FLAME_MAX_TREE)
            return parent | FOLDED;
        node = (uint32_t)flame->nodes.count;
        *array_push(&flame->nodes) =
            (struct flame_node){.parent = (uint32_t)parent, .name = event->name};
        idmap_put(&flame->by_path, path, node);
    }
    return node;
}

static void close_node(void *context, size_t node, int64_t total_ps, int64_t self_ps)
{
    struct flame *flame = context;
    struct flame_node *at = &flame->nodes.items[node & ~FOLDED];
    at->self_ps = add_saturated(at->self_ps, self_ps);
    if (node & FOLDED)
        return;
    at->count++;
    at->total_ps = add_saturated(at->total_ps, total_ps);
    if (at->parent == ROOT)
        flame->nodes.items[ROOT].total_ps =
            add_saturated(flame->nodes.items[ROOT].total_ps, total_ps);
}

/* A parent comes before its children: it has at least their weight, and a lower number. */
static bool by_weight(const void *a, const void *b, const void *context)
{
    const struct flame_node *nodes = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    if (nodes[left].weight_ps != nodes[right].weight_ps)
        return nodes[left].weight_ps > nodes[right].weight_ps;
    return left < right;
}

static double in_ns(int64_t ps)
{
    return (double)ps / 1e3;
}

/* Events inside another one may overlap, and then have more time than that one. */
static void weigh(struct flame *flame)
{
    struct flame_node *nodes = flame->nodes.items;
    for (size_t i = flame->nodes.count; i-- > ROOT + 1;) {
        int64_t *parent = &nodes[nodes[i].parent].weight_ps;
        if (nodes[i].weight_ps < nodes[i].total_ps)
            nodes[i].weight_ps = nodes[i].total_ps;
        if (*parent < nodes[i].weight_ps)
            *parent = nodes[i].weight_ps;
    }
}

/* The heaviest nodes are sent if there are too many. A parent is at least as heavy as its children,
 * so it comes first and its place in the response is known. */
static void put_nodes(struct flame *flame, const struct timeline *timeline, struct reply *reply)
{
    size_t count = flame->nodes.count - ROOT - 1;
    uint32_t *order = mem_alloc((count + 1) * sizeof *order);
    uint32_t *sent = mem_zeroed(flame->nodes.count, sizeof *sent); /* place in the response + 1 */
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)(i + ROOT + 1);
    weigh(flame);
    sort_items(order, count, sizeof *order, by_weight, flame->nodes.items);
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_double(&json, "total_ns", in_ns(flame->nodes.items[ROOT].total_ps));
    json_put_uint(&json, "count", flame->events);
    json_put_uint(&json, "left_out", count > FLAME_MAX_SENT ? count - FLAME_MAX_SENT : 0);
    json_key(&json, "nodes");
    json_open(&json, '[');
    for (size_t i = 0; i < count && i < FLAME_MAX_SENT; i++) {
        const struct flame_node *node = &flame->nodes.items[order[i]];
        sent[order[i]] = (uint32_t)i + 1;
        json_open(&json, '{');
        json_put_text(&json, "name", timeline_name_at(timeline, node->name));
        json_put_int(&json, "parent", (int64_t)sent[node->parent] - 1);
        json_put_uint(&json, "count", node->count);
        json_put_double(&json, "total_ns", in_ns(node->total_ps));
        json_put_double(&json, "self_ns", in_ns(node->self_ps));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    mem_free(order);
    mem_free(sent);
}

static bool walk_tracks(struct flame *flame, struct timeline *timeline, const number_list *tracks,
                        int64_t from, int64_t to, struct error *err)
{
    struct timeline_visitor visitor = {open_node, close_node, flame};
    bool ok = true;
    for (size_t i = 0; ok && i < tracks->count && !flame->is_canceled; i++) {
        uint32_t track = tracks->items[i];
        if (track >= timeline_track_count(timeline))
            ok = error_set(err, UNKNOWN_TRACK, track);
        else if (!timeline_track_at(timeline, track)->is_counter)
            ok = timeline_nest(timeline, track, from, to, lane_is_flat(timeline, track), &visitor,
                               err);
    }
    return ok;
}

/* Nodes up to ROOT are not sent: 0 stands for "none", ROOT for the whole. The walk ends early if
 * the client disconnects. */
void post_flame(struct request *request, struct reply *reply)
{
    struct opened *opened = request->subject->opened;
    number_list tracks = {0};
    int64_t from = INT64_MIN, to = INT64_MAX;
    bool ignored;
    struct error err;
    struct timeline *timeline = opened_timeline(opened, reply);
    if (timeline && body_check(request, reply) && body_numbers(request, reply, "tracks", &tracks) &&
        body_time(request, reply, "from", &from, &ignored) &&
        body_time(request, reply, "to", &to, &ignored)) {
        struct flame flame = {.request = request};
        for (size_t i = 0; i <= ROOT; i++)
            *array_push(&flame.nodes) = (struct flame_node){.parent = 0};
        if (from >= to || tracks.count > MAX_TRACKS || tracks.count == 0)
            reply_error(reply, MHD_HTTP_BAD_REQUEST,
                        "a flame graph needs 1 to %d \"tracks\", and \"from\" before \"to\"",
                        MAX_TRACKS);
        else if (!walk_tracks(&flame, timeline, &tracks, from, to, &err))
            reply_failure(reply, MHD_HTTP_BAD_REQUEST, &err);
        else
            put_nodes(&flame, timeline, reply);
        idmap_free(&flame.by_path);
        array_free(&flame.nodes);
    }
    array_free(&tracks);
}
