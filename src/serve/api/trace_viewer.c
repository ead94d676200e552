/*
 * What XProf's trace viewer asks for: the events of a window as trace events, thinned to what its
 * width can show, and the args of one event.
 */
#include "serve/api/handlers.h"
#include "serve/embedded_queries.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* As in the request; times in ns since the start of the profile. */
struct window {
    int64_t start, end;
    uint64_t resolution; /* how many parts of the window are told apart; 0: all */
    int64_t unique_id;   /* of the event whose args are wanted */
    bool is_one;
    struct output hosts; /* a condition of SQL */
};

/* What is answered about the lanes, besides the lanes. */
struct extent {
    uint64_t lanes;
    int64_t first, last;
    bool is_empty;
};

static bool read_time(const struct request *request, struct reply *reply, const char *name,
                      int64_t *ns)
{
    const char *value = request_argument(request, name);
    char *end;
    if (!value || !*value)
        return true;
    double ms = strtod(value, &end);
    if (*end || !isfinite(ms) || fabs(ms) > 1e12) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"%s\" must be a number of milliseconds", name);
        return false;
    }
    *ns = (int64_t)(ms * 1e6);
    return true;
}

/* The hosts that `host` or `hosts` name, with commas between them. */
static void put_hosts(const struct request *request, struct output *sql)
{
    const char *hosts = request_argument(request, "host");
    if (!hosts || !*hosts)
        hosts = request_argument(request, "hosts");
    if (!hosts || !*hosts || strcmp(hosts, "ALL_HOSTS") == 0) {
        output_text(sql, "true");
    } else {
        output_text(sql, "l.instance_id IN (");
        for (const char *at = hosts; *at; at += *at == ',') {
            size_t size = strcspn(at, ",");
            if (at > hosts)
                output_char(sql, ',');
            put_sql_text(sql, (struct text){at, size});
            at += size;
        }
        output_char(sql, ')');
    }
    output_char(sql, '\0');
}

/* An event is asked for by its time and the number it was answered with. */
static bool read_window(const struct request *request, struct reply *reply, struct window *window)
{
    const char *event = request_argument(request, "event_name");
    const char *unique_id = request_argument(request, "unique_id");
    *window = (struct window){.end = INT64_MAX, .resolution = TRACE_RESOLUTION};
    window->is_one = event && *event && unique_id;
    if (window->is_one)
        window->unique_id = strtoll(unique_id, NULL, 10);
    else if (!read_time(request, reply, "start_time_ms", &window->start) ||
             !read_time(request, reply, "end_time_ms", &window->end))
        return false;
    if (!request_number(request, reply, "resolution", UINT32_MAX, &window->resolution))
        return false;
    output_memory(&window->hosts);
    put_hosts(request, &window->hosts);
    return true;
}

static void put_metadata(struct json *json, const char *kind, int64_t pid, int64_t tid,
                         struct text name, int64_t sort_index)
{
    json_open(json, '{');
    json_put_text(json, "ph", TEXT("M"));
    json_put_text(json, "name", text_of(kind));
    json_put_int(json, "pid", pid);
    if (tid >= 0)
        json_put_int(json, "tid", tid);
    json_key(json, "args");
    json_open(json, '{');
    if (name.data)
        json_put_text(json, "name", name);
    else
        json_put_int(json, "sort_index", sort_index);
    json_close(json, '}');
    json_close(json, '}');
}

/* Processes and threads come before the events that name them; the lanes' extent is what the events
 * are thinned by. */
static bool put_lanes(struct profile_query *query, const struct window *window, struct json *json,
                      struct extent *extent, struct reply *reply)
{
    struct output sql;
    bool ok = true;
    int64_t process = -1, position = 0;
    output_memory(&sql);
    sql_fill(&sql, serve_sql_trace_lanes,
             (const struct sql_blank[]){{"HOSTS", .text = window->hosts.data}}, 1);
    *extent = (struct extent){.is_empty = true};
    struct sql_result *result = profile_query_run(query, &sql, reply);
    for (size_t rows; result && (rows = profile_query_next(query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < rows; row++) {
            int64_t pid = sql_integer(result, row, 0), tid = sql_integer(result, row, 2);
            int64_t first = sql_integer(result, row, 5), last = sql_integer(result, row, 6);
            if (pid != process) {
                put_metadata(json, "process_name", pid, -1, sql_value(result, row, 1), 0);
                put_metadata(json, "process_sort_index", pid, -1, (struct text){0}, position);
            }
            put_metadata(json, "thread_name", pid, tid, sql_value(result, row, 3), 0);
            put_metadata(json, "thread_sort_index", pid, tid, (struct text){0}, position++);
            process = pid;
            extent->lanes++;
            extent->first = extent->is_empty || first < extent->first ? first : extent->first;
            extent->last = extent->is_empty || last > extent->last ? last : extent->last;
            extent->is_empty = false;
        }
    sql_free(result);
    output_discard(&sql);
    return ok && result;
}

/* Microseconds, to the picosecond: more digits than a double has. */
static void put_us(struct json *json, const char *key, int64_t ns, int64_t ps)
{
    char digits[48];
    int64_t all = ns < 0 ? -ns : ns;
    int size = snprintf(digits, sizeof digits, "%s%" PRId64 ".%03" PRId64 "%03" PRId64,
                        ns < 0 ? "-" : "", all / 1000, all % 1000, ps);
    json_key(json, key);
    json_raw(json, (struct text){digits, (size_t)size});
}

static void put_event(struct json *json, const struct sql_result *result, size_t row, bool is_one)
{
    struct text args = sql_value(result, row, 8);
    json_open(json, '{');
    json_put_text(json, "ph", TEXT("X"));
    json_put_int(json, "pid", sql_integer(result, row, 1));
    json_put_int(json, "tid", sql_integer(result, row, 0));
    json_put_text(json, "name", sql_value(result, row, 3));
    put_us(json, "ts", sql_integer(result, row, 4), sql_integer(result, row, 5));
    put_us(json, "dur", sql_integer(result, row, 6), sql_integer(result, row, 7));
    json_key(json, "args");
    if (is_one && args.data) {
        json_raw(json, args);
    } else {
        json_open(json, '{');
        json_put_int(json, "uid", sql_integer(result, row, 2));
        json_close(json, '}');
    }
    json_close(json, '}');
}

/* The parts of the window that are told apart, fewer where there are many lanes: two events of each
 * part and lane are the most that are answered. */
static int64_t part_ns(const struct window *window, const struct extent *extent)
{
    int64_t start = window->start > extent->first ? window->start : extent->first;
    int64_t end = window->end < extent->last ? window->end : extent->last;
    uint64_t parts = window->resolution ? window->resolution : TRACE_RESOLUTION;
    uint64_t most = TRACE_MAX_EVENTS / 2 / (extent->lanes ? extent->lanes : 1);
    parts = parts < most ? parts : most;
    return end > start ? (end - start) / (int64_t)(parts ? parts : 1) + 1 : 1;
}

/* The columns that the two tables of events do not share. */
static const struct event_table {
    const char *name, *uid, *start_ps, *duration_ps;
} event_tables[] = {
    {"SystemProfileEvents", "e.id", "e.start_fraction_ps", "e.duration_fraction_ps"},
    {"HloRun", "-1 - e.id", "0", "0"},
};

/* The args of one event, as a column: those of kernels and copies are columns of their tables. */
static void put_args(const struct opened *opened, bool is_hlo, struct output *sql)
{
    static const char *const tables[] = {"GpuKernel", "GpuCopy"};
    output_text(sql, is_hlo ? "coalesce(NULL" : "coalesce(e.extra_attributes_json");
    for (size_t i = 0; i < 2 && !is_hlo; i++)
        if (has_table(opened, tables[i]))
            output_format(sql,
                          ", (SELECT CAST(to_json(t) AS VARCHAR) FROM %s AS t WHERE t.id = e.id)",
                          tables[i]);
    output_text(sql, ")");
    output_char(sql, '\0');
}

/* Counts on beyond the most that are written, so that the caller sees that there are more. */
static bool put_events(struct profile_query *query, const struct opened *opened,
                       const struct window *window, const struct event_table *table,
                       int64_t resolution, struct json *json, size_t *count, struct reply *reply)
{
    char only[64] = "true";
    struct output sql, args;
    bool ok = true, is_hlo = table == &event_tables[1];
    int64_t id = is_hlo ? -1 - window->unique_id : window->unique_id;
    if (window->is_one)
        snprintf(only, sizeof only, "id = %" PRId64, id);
    output_memory(&sql);
    output_memory(&args);
    put_args(opened, is_hlo, &args);
    const struct sql_blank blanks[] = {{"TABLE", .text = table->name},
                                       {"UID", .text = table->uid},
                                       {"START_PS", .text = table->start_ps},
                                       {"DURATION_PS", .text = table->duration_ps},
                                       {"ARGS", .text = window->is_one ? args.data : "NULL"},
                                       {"START", .number = window->start},
                                       {"END", .number = window->end},
                                       {"ONLY", .text = only},
                                       {"HOSTS", .text = window->hosts.data},
                                       {"RESOLUTION", .number = resolution},
                                       {"MOST", .number = TRACE_MAX_EVENTS + 1}};
    sql_fill(&sql, serve_sql_trace_events, blanks, sizeof blanks / sizeof *blanks);
    struct sql_result *result = profile_query_run(query, &sql, reply);
    for (size_t rows; result && (rows = profile_query_next(query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < rows; row++, (*count)++)
            if (*count < TRACE_MAX_EVENTS)
                put_event(json, result, row, window->is_one);
    sql_free(result);
    output_discard(&sql);
    output_discard(&args);
    return ok && result;
}

static bool put_all_events(struct profile_query *query, const struct opened *opened,
                           const struct window *window, int64_t resolution, struct json *json,
                           size_t *count, struct reply *reply)
{
    bool ok = true;
    *count = 0;
    for (size_t i = 0; ok && i < sizeof event_tables / sizeof *event_tables; i++)
        if (has_table(opened, event_tables[i].name) &&
            !(window->is_one && (window->unique_id < 0) != (i == 1)))
            ok =
                put_events(query, opened, window, &event_tables[i], resolution, json, count, reply);
    return ok;
}

static void put_end(struct json *json, const struct extent *extent, size_t count, bool is_thinned)
{
    json_close(json, ']');
    json_key(json, "stackFrames");
    json_raw(json, TEXT("{}"));
    json_key(json, "details");
    json_raw(json, TEXT("[]"));
    json_put_uint(json, "returnedEventsSize", count);
    json_key(json, "filteredByVisibility");
    json_bool(json, is_thinned);
    json_key(json, "fullTimespan");
    json_open(json, '[');
    json_double(json, (double)extent->first / 1e6);
    json_double(json, (double)extent->last / 1e6);
    json_close(json, ']');
    json_close(json, '}');
}

/* All events if that is few enough, which is only known when they have been written; otherwise what
 * the resolution can show. */
void plugin_trace(struct request *request, struct reply *reply)
{
    struct profile_query query;
    struct window window;
    struct extent extent;
    size_t count;
    if (!read_window(request, reply, &window))
        return;
    if (subject_make_ready(request, reply) &&
        profile_query_begin(&query, request->subject->opened, request, QUERY_SEARCH, reply)) {
        struct json json = reply_json(reply);
        json_open(&json, '{');
        json_put_text(&json, "displayTimeUnit", TEXT("ns"));
        json_key(&json, "metadata");
        json_raw(&json, TEXT("{\"highres-ticks\":true}"));
        json_key(&json, "traceEvents");
        json_open(&json, '[');
        bool ok = put_lanes(&query, &window, &json, &extent, reply);
        struct json before = json;
        size_t size = reply->body.size;
        ok = ok &&
             put_all_events(&query, request->subject->opened, &window, 0, &json, &count, reply);
        bool is_thinned = ok && count > TRACE_MAX_EVENTS;
        if (is_thinned) {
            json = before;
            reply->body.size = size;
            ok = put_all_events(&query, request->subject->opened, &window,
                                part_ns(&window, &extent), &json, &count, reply);
        }
        if (ok)
            put_end(&json, &extent, count < TRACE_MAX_EVENTS ? count : TRACE_MAX_EVENTS,
                    is_thinned);
        profile_query_end(&query);
    }
    output_discard(&window.hosts);
}
