/*
 * Finds the event around an event and those directly inside it, from the timeline, and the kernels
 * of an operation, from the tables.
 */
#include "serve/api/family.h"

#include "serve/runs/flat_lanes.h"

#include <stdio.h>

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
        if (family->child_count++ < EVENT_MAX_CHILDREN)
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

static void put_event_or_null(struct json *json, const char *key, const struct timeline *timeline,
                              uint32_t track, const struct timeline_event *event)
{
    json_key(json, key);
    if (event)
        put_event(json, timeline, track, event);
    else
        json_null(json);
}

void put_neighbors(struct json *json, struct timeline *timeline, uint32_t track, uint32_t row,
                   uint64_t id, int64_t start_ps)
{
    struct timeline_neighbors found = {0};
    struct error ignored;
    if (row != TIMELINE_NONE && !timeline_track_at(timeline, track)->is_counter &&
        !timeline_neighbors(timeline, track, row, id, start_ps, &found, &ignored))
        found = (struct timeline_neighbors){0};
    put_event_or_null(json, "previous", timeline, track,
                      found.has_previous ? &found.previous : NULL);
    put_event_or_null(json, "next", timeline, track, found.has_next ? &found.next : NULL);
}

/* One walk over the time of the event finds its parent, children and self time. If the timeline
 * cannot be read, the keys are null or empty: the rest of the reply is still useful. */
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
    put_event_or_null(json, "parent", timeline, track,
                      family.parent == SIZE_MAX ? NULL : &family.around.items[family.parent]);
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

const char *event_start_sql(bool is_run)
{
    return is_run ? "start_ts::HUGEINT * 1000" : "start_ts::HUGEINT * 1000 + start_fraction_ps";
}

const char *event_duration_sql(bool is_run)
{
    return is_run ? "duration_ns::HUGEINT * 1000"
                  : "duration_ns::HUGEINT * 1000 + duration_fraction_ps";
}

static const char *event_table(bool is_run)
{
    return table_schemas[is_run ? TABLE_RUNS : TABLE_EVENTS].name;
}

/* Writes the events that match the condition as a list, the first of them if there are many; and,
 * as "parts_count", how many there are. */
static bool put_list(struct json *json, struct profile_query *query, const char *key, bool of_runs,
                     const char *condition, struct reply *reply)
{
    struct output sql;
    bool ok = true;
    output_memory(&sql);
    output_format(&sql,
                  "SELECT id, name, track_id, (%s)::VARCHAR, (%s)::VARCHAR, count(*) OVER () FROM "
                  "\"%s\" WHERE %s LIMIT %d",
                  event_start_sql(of_runs), event_duration_sql(of_runs), event_table(of_runs),
                  condition, EVENT_MAX_PARTS);
    struct sql_result *result = profile_query_run(query, &sql, reply);
    output_discard(&sql);
    if (!result)
        return false;
    int64_t count = 0;
    json_key(json, key);
    json_open(json, '[');
    for (size_t rows; (rows = profile_query_next(query, result, reply, &ok)) > 0;)
        for (size_t i = 0; i < rows; i++) {
            json_open(json, '{');
            json_put_int(json, "id", sql_integer(result, i, 0));
            json_put_text(json, "table", text_of(event_table(of_runs)));
            json_put_text(json, "name", sql_value(result, i, 1));
            json_put_int(json, "track", sql_integer(result, i, 2));
            json_put_text(json, "start", sql_value(result, i, 3));
            json_put_text(json, "duration", sql_value(result, i, 4));
            json_close(json, '}');
            count = sql_integer(result, i, 5);
        }
    if (ok) {
        char count_key[32];
        snprintf(count_key, sizeof count_key, "%s_count", key);
        json_close(json, ']');
        json_put_int(json, count_key, count);
    }
    sql_free(result);
    return ok;
}

bool put_parts(struct json *json, struct profile_query *query, const struct event_place *event,
               struct reply *reply)
{
    long long from = (long long)whole_ns(event->start_ps), to = (long long)whole_ns(event->end_ps);
    char condition[256];
    if (event->is_run && event->stream[0]) {
        snprintf(condition, sizeof condition,
                 "%s = %s AND start_ts >= %lld AND end_ts <= %lld AND %s ORDER BY start_ts, id",
                 event->is_module ? "stream_track_id" : "track_id", event->stream, from, to,
                 event->is_module ? "kind = 'operation'" : "occurrence_count IS NULL");
        if (!put_list(json, query, "parts", event->is_module, condition, reply))
            return false;
    }
    if (event->is_module || !has_table(query->opened, event_table(true)))
        return true;
    char track[24];
    snprintf(track, sizeof track, "%lld", (long long)event->track);
    snprintf(condition, sizeof condition,
             "stream_track_id = %s AND start_ts <= %lld AND end_ts >= %lld%s "
             "ORDER BY duration_ns, id",
             event->stream[0] ? event->stream : track, from, to,
             event->is_run ? " AND kind = 'module'" : "");
    return put_list(json, query, "part_of", true, condition, reply);
}
