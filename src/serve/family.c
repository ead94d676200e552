/*
 * Finds the event around an event and those directly inside it, from the timeline.
 */
#include "serve/family.h"

#include "serve/lanes.h"

#include <stdio.h>

enum { MAX_CHILDREN = 100 };
/* Nodes of the walk: other events, the event itself, then those around it. */
enum { NODE_OTHER = 1, NODE_SELF, NODE_AROUND };

struct family {
    uint64_t id;
    int64_t start_ps, end_ps;
    ARRAY(struct timeline_event) around, children;
    size_t parent; /* index in around; SIZE_MAX: none */
    uint64_t child_count;
    int64_t self_ps;
    bool is_found;
};

static size_t open_event(void *context, const struct timeline_event *event, size_t outer)
{
    struct family *family = context;
    if (event->id == family->id) {
        family->parent = outer >= NODE_AROUND ? outer - NODE_AROUND : SIZE_MAX;
        family->is_found = true;
        return NODE_SELF;
    }
    if (outer == NODE_SELF) {
        if (family->child_count++ < MAX_CHILDREN)
            *array_push(&family->children) = *event;
        return NODE_OTHER;
    }
    if (event->start_ps > family->start_ps || event->end_ps < family->end_ps)
        return NODE_OTHER;
    *array_push(&family->around) = *event;
    return family->around.count - 1 + NODE_AROUND;
}

static void close_event(void *context, size_t node, int64_t total_ps, int64_t self_ps)
{
    (void)total_ps;
    if (node == NODE_SELF)
        ((struct family *)context)->self_ps = self_ps;
}

static void put_time(struct json *json, const char *key, int64_t ps)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)ps);
    json_put_text(json, key, text_of(digits));
}

static void put_event(struct json *json, const struct timeline *timeline, uint32_t track,
                      const struct timeline_event *event)
{
    json_open(json, '{');
    json_put_uint(json, "id", event->id);
    json_put_text(json, "table",
                  timeline_name_at(timeline, timeline_track_at(timeline, track)->table));
    json_put_text(json, "name", timeline_name_at(timeline, event->name));
    json_put_uint(json, "track", track);
    put_time(json, "start", event->start_ps);
    put_time(json, "duration", sub_saturated(event->end_ps, event->start_ps));
    json_close(json, '}');
}

void put_family(struct json *json, struct timeline *timeline, uint32_t track, uint64_t id,
                int64_t start_ps, int64_t end_ps)
{
    struct family family = {
        .id = id, .start_ps = start_ps, .end_ps = end_ps, .parent = SIZE_MAX, .self_ps = 0};
    struct timeline_visitor visitor = {open_event, close_event, &family};
    struct error ignored;
    int64_t to_ps = end_ps > start_ps ? end_ps : add_saturated(start_ps, 1);
    if (!timeline_track_at(timeline, track)->is_counter)
        timeline_nest(timeline, track, start_ps, to_ps, lane_is_flat(timeline, track), &visitor,
                      &ignored);
    if (family.is_found) {
        put_time(json, "self", family.self_ps);
    } else {
        json_key(json, "self");
        json_null(json);
    }
    json_key(json, "parent");
    if (family.parent == SIZE_MAX)
        json_null(json);
    else
        put_event(json, timeline, track, &family.around.items[family.parent]);
    json_put_uint(json, "child_count", family.child_count);
    json_key(json, "children");
    json_open(json, '[');
    const struct timeline_event *child;
    array_each (child, &family.children)
        put_event(json, timeline, track, child);
    json_close(json, ']');
    array_free(&family.around);
    array_free(&family.children);
}
