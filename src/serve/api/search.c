/*
 * GET search and POST selection: matching events with counts and total times by name, kind of track
 * and track.
 */
#include "serve/api/handlers.h"

#include "export/export.h"
#include "serve/api/edges.h"
#include "serve/runs/search.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>

/* Statistics over a set of events; `set` is a SELECT with the columns of search_compile. */
struct event_stats {
    struct profile_query query;
    struct reply *reply;
    struct json json;
    struct output set, sql;
    bool ok, has_self, has_tracks;
};

/* Profiles of earlier versions have no self times. */
static bool has_self(const struct opened *opened)
{
    return has_column(opened, table_schemas[TABLE_EVENTS].name, "self_ns");
}

static void put_ns(struct json *json, const char *key, const struct sql_result *result, size_t row,
                   size_t column)
{
    struct text value = sql_value(result, row, column);
    json_key(json, key);
    if (value.size > 0)
        json_raw(json, value);
    else
        json_null(json);
}

/* Runs `sql` and writes its rows as a list of objects. */
static void put_rows(struct event_stats *stats, const char *list, const char *const *keys,
                     size_t key_count)
{
    struct sql_result *result =
        stats->ok ? profile_query_run(&stats->query, &stats->sql, stats->reply) : NULL;
    stats->ok = result != NULL;
    if (!result)
        return;
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    json_key(&stats->json, list);
    json_open(&stats->json, '[');
    for (size_t rows;
         (rows = profile_query_next(&stats->query, result, stats->reply, &stats->ok)) > 0;)
        for (size_t row = 0; row < rows; row++) {
            json_open(&stats->json, '{');
            for (size_t i = 0; i < count && i < key_count; i++) {
                json_key(&stats->json, keys[i]);
                export_json_value(&stats->json, &columns[i], sql_value(result, row, i));
            }
            json_close(&stats->json, '}');
        }
    if (stats->ok)
        json_close(&stats->json, ']');
    sql_free(result);
}

static void put_set(struct event_stats *stats)
{
    output_char(&stats->sql, '(');
    output_write(&stats->sql, stats->set.data, stats->set.size);
    output_char(&stats->sql, ')');
}

/* The set with the kind of each event's track: "host", or the role of a device's track. One piece
 * of device work may be in tracks of several kinds (a kernel of a stream, its operation, its
 * module), so sums over kinds would count it more than once. */
static void put_set_by_kind(struct event_stats *stats)
{
    output_text(&stats->sql, stats->has_tracks
                                 ? "(SELECT s.*, if(d.role = 'host', 'host', l.role) AS kind FROM "
                                 : "(SELECT s.*, 'host' AS kind FROM ");
    put_set(stats);
    output_text(&stats->sql, stats->has_tracks ? " s LEFT JOIN Track l ON l.id = s.track LEFT JOIN "
                                                 "Track d ON d.id = l.parent_id)"
                                               : " s)");
}

/* What the figures are of, without its parentheses. */
static void put_query(struct event_stats *stats)
{
    put_set_by_kind(stats);
    json_put_text(&stats->json, "query", (struct text){stats->sql.data + 1, stats->sql.size - 2});
    stats->sql.size = 0;
}

/* Sums are exact: added in picoseconds, then converted to nanoseconds. */
#define IN_NS(expression) "(" expression ")::DOUBLE / 1000"

static void put_count(struct event_stats *stats)
{
    output_text(&stats->sql, "SELECT count(*) FROM ");
    put_set(stats);
    struct sql_result *result = profile_query_run(&stats->query, &stats->sql, stats->reply);
    stats->ok = result != NULL;
    if (result && profile_query_next(&stats->query, result, stats->reply, &stats->ok) > 0)
        json_put_int(&stats->json, "count", sql_integer(result, 0, 0));
    sql_free(result);
}

static void put_totals(struct event_stats *stats)
{
    output_text(&stats->sql, "SELECT count(*), " IN_NS("coalesce(sum(duration_ps), 0)") ", ");
    output_text(&stats->sql, stats->has_self ? IN_NS("coalesce(sum(self_ps), 0)") : "NULL");
    output_text(&stats->sql, " FROM ");
    put_set(stats);
    struct sql_result *result = profile_query_run(&stats->query, &stats->sql, stats->reply);
    stats->ok = result != NULL;
    if (result && profile_query_next(&stats->query, result, stats->reply, &stats->ok) > 0) {
        json_put_int(&stats->json, "count", sql_integer(result, 0, 0));
        put_ns(&stats->json, "total_ns", result, 0, 1);
        put_ns(&stats->json, "self_ns", result, 0, 2);
    }
    sql_free(result);
}

static void put_by_name(struct event_stats *stats)
{
    static const char *const keys[] = {"name", "count", "total_ns", "self_ns", "mean_ns", "max_ns"};
    output_text(&stats->sql, "SELECT name, count(*), " IN_NS("sum(duration_ps)") ", ");
    output_text(&stats->sql, IN_NS("sum(self_ps)") ", " IN_NS("avg(duration_ps)") ", ");
    output_text(&stats->sql, IN_NS("max(duration_ps)") " FROM ");
    put_set(stats);
    output_format(&stats->sql, " GROUP BY name ORDER BY sum(duration_ps) DESC, name LIMIT %d",
                  SELECTION_MAX_NAMES);
    put_rows(stats, "names", keys, 6);
}

static void put_by_kind(struct event_stats *stats)
{
    static const char *const keys[] = {"kind", "table", "count", "total_ns", "self_ns"};
    output_text(&stats->sql, "SELECT kind, tbl, count(*), " IN_NS("sum(duration_ps)") ", " IN_NS(
                                 "sum(self_ps)") " FROM ");
    put_set_by_kind(stats);
    output_text(&stats->sql, " GROUP BY kind, tbl ORDER BY tbl DESC, sum(duration_ps) DESC, kind");
    put_rows(stats, "kinds", keys, 5);
}

/* The names with the most time in each kind. */
static void put_by_kind_and_name(struct event_stats *stats)
{
    static const char *const keys[] = {"kind",    "name",    "count", "total_ns",
                                       "self_ns", "mean_ns", "max_ns"};
    output_text(&stats->sql, "SELECT kind, name, count(*), " IN_NS("sum(duration_ps)") ", ");
    output_text(&stats->sql, IN_NS("sum(self_ps)") ", " IN_NS("avg(duration_ps)") ", ");
    output_text(&stats->sql, IN_NS("max(duration_ps)") " FROM ");
    put_set_by_kind(stats);
    output_format(&stats->sql,
                  " GROUP BY kind, name QUALIFY row_number() OVER (PARTITION BY kind ORDER BY "
                  "sum(duration_ps) DESC, name) <= %d ORDER BY sum(duration_ps) DESC, name, kind",
                  SEARCH_TOP_NAMES);
    put_rows(stats, "names", keys, 7);
}

static void put_by_track(struct event_stats *stats)
{
    static const char *const keys[] = {"track", "count", "total_ns", "self_ns"};
    output_text(&stats->sql, "SELECT track, count(*), " IN_NS("sum(duration_ps)") ", " IN_NS(
                                 "sum(self_ps)") " FROM ");
    put_set(stats);
    output_text(&stats->sql, " GROUP BY track ORDER BY track");
    put_rows(stats, "tracks", keys, 4);
}

/* Where the hits start: from the first to the last in each part of the profile. */
static void put_ranges(struct event_stats *stats, struct timeline *timeline)
{
    static const char *const keys[] = {"from", "to"};
    int64_t from = 0, to = 1;
    if (timeline)
        timeline_span(timeline, &from, &to);
    output_text(&stats->sql, "SELECT min(start_ps)::VARCHAR, max(start_ps)::VARCHAR FROM ");
    put_set(stats);
    output_format(&stats->sql,
                  " GROUP BY floor((start_ps - %lld)::DOUBLE * %d / %lld) ORDER BY min(start_ps)",
                  (long long)from, SEARCH_RANGES,
                  (long long)(to > from ? sub_saturated(to, from) : 1));
    put_rows(stats, "ranges", keys, 2);
}

static void put_hits(struct event_stats *stats, uint64_t limit, uint64_t offset)
{
    static const char *const keys[] = {"table", "id", "track", "name", "start", "duration", "self"};
    output_text(&stats->sql, "SELECT tbl, id, track, name, start_ps::VARCHAR, "
                             "duration_ps::VARCHAR, self_ps::VARCHAR FROM ");
    put_set(stats);
    output_format(&stats->sql, " ORDER BY start_ps, tbl DESC, id LIMIT %llu OFFSET %llu",
                  (unsigned long long)limit, (unsigned long long)offset);
    put_rows(stats, "hits", keys, 7);
}

static void begin(struct event_stats *stats, struct reply *reply)
{
    *stats = (struct event_stats){.reply = reply, .ok = true};
    output_memory(&stats->set);
    output_memory(&stats->sql);
}

static void end(struct event_stats *stats)
{
    output_discard(&stats->set);
    output_discard(&stats->sql);
}

static bool opened_has(const void *context, const char *table, const char *column)
{
    return column ? has_column(context, table, column) : has_table(context, table);
}

static void reply_bad_query(struct reply *reply, const struct error *err)
{
    reply->status = MHD_HTTP_BAD_REQUEST;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_put_text(&json, "error", text_of(err->text));
    if (strncmp(err->text, SEARCH_UNKNOWN_FIELD, strlen(SEARCH_UNKNOWN_FIELD)) == 0) {
        json_key(&json, "fields");
        search_put_fields(&json);
    }
    json_close(&json, '}');
}

#define EMPTY_SET                                                                                  \
    "SELECT '' AS tbl, 0 AS id, '' AS name, 0 AS track, 0::HUGEINT AS start_ps, "                  \
    "0::HUGEINT AS duration_ps, 0::HUGEINT AS self_ps WHERE false"

static void run_search(struct event_stats *stats, struct opened *opened, uint64_t limit,
                       uint64_t offset)
{
    stats->json = reply_json(stats->reply);
    json_open(&stats->json, '{');
    put_query(stats);
    put_count(stats);
    if (stats->ok)
        put_by_kind(stats);
    if (stats->ok)
        put_by_kind_and_name(stats);
    if (stats->ok)
        put_ranges(stats, opened_timeline(opened, NULL));
    if (stats->ok)
        put_hits(stats, limit, offset);
    if (stats->ok)
        json_close(&stats->json, '}');
}

/* Runs on the request's thread, in a slot for queries, which it gives back whatever happens. */
void get_search(struct request *request, struct reply *reply)
{
    const char *query = request_argument(request, "q");
    uint64_t limit = DEFAULT_HITS, offset = 0;
    struct error err;
    struct event_stats stats;
    struct opened *opened = request->subject->opened;
    begin(&stats, reply);
    if (!query)
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing argument: q");
    else if (request_number(request, reply, "limit", MAX_HITS, &limit) &&
             request_number(request, reply, "offset", SEARCH_MAX_OFFSET, &offset) &&
             profile_query_begin(&stats.query, opened, request, QUERY_SEARCH, reply)) {
        if (!search_compile(query, has_self(opened), opened_has, opened, &stats.set, &err)) {
            reply_bad_query(reply, &err);
        } else {
            if (stats.set.size == 0)
                output_text(&stats.set, EMPTY_SET);
            stats.has_tracks = has_table(opened, table_schemas[TABLE_TRACKS].name);
            run_search(&stats, opened, limit, offset);
        }
        profile_query_end(&stats.query);
    }
    end(&stats);
}

/* What is selected. */
struct selection {
    number_list tracks;
    int64_t from, to;
    edge_list edges; /* events that reach over these */
};

/* Self time within [from, to): of events that nest the one that was found, of others all. */
static void put_self(struct event_stats *stats, const struct selection *selection, bool is_run)
{
    if (is_run || !stats->has_self) {
        output_text(&stats->set, is_run ? "duration_ps" : "NULL::HUGEINT");
        return;
    }
    output_format(&stats->set,
                  "CASE WHEN start_ps >= %lld AND start_ps + length_ps <= %lld THEN " SEARCH_SELF
                  " ELSE coalesce(edge_self, duration_ps) END",
                  (long long)selection->from, (long long)selection->to);
}

static void put_edges(struct output *set, const edge_list *edges)
{
    output_text(set, " LEFT JOIN (SELECT edge_id, edge_self FROM (VALUES (-1, 0::HUGEINT)");
    const struct edge_event *edge;
    array_each (edge, edges)
        output_format(set, ", (%llu, %lld)", (unsigned long long)edge->id,
                      (long long)edge->self_ps);
    output_text(set, ") v(edge_id, edge_self)) ON edge_id = id");
}

/* Adds the events of one table that are selected, with their time within [from, to). */
static void add_table(struct event_stats *stats, const struct opened *opened, bool is_run,
                      const struct selection *selection)
{
    const char *table = table_schemas[is_run ? TABLE_RUNS : TABLE_EVENTS].name;
    long long from = selection->from, to = selection->to;
    if (!has_table(opened, table))
        return;
    output_format(&stats->set,
                  "%sSELECT '%s' AS tbl, id, name, track_id AS track, "
                  "start_ts::HUGEINT * 1000%s AS start_ps, duration_ns::HUGEINT * 1000%s AS "
                  "length_ps, least(start_ps + length_ps, %lld) - greatest(start_ps, %lld) AS "
                  "duration_ps, ",
                  stats->set.size ? " UNION ALL " : "", table, is_run ? "" : " + start_fraction_ps",
                  is_run ? "" : " + duration_fraction_ps", to, from);
    put_self(stats, selection, is_run);
    output_format(&stats->set, " AS self_ps FROM \"%s\" e", table);
    if (!is_run)
        put_edges(&stats->set, &selection->edges);
    /* Conditions in whole nanoseconds first: the engine can skip row groups by them. */
    output_format(&stats->set,
                  " WHERE start_ts <= %lld AND end_ts >= %lld - 1 AND start_ps < %lld AND "
                  "(start_ps + length_ps > %lld OR start_ps >= %lld)",
                  (long long)whole_ns(to), (long long)whole_ns(from), to, from, from);
    if (!is_run)
        output_text(&stats->set, " AND occurrence_count IS NULL");
    for (size_t i = 0; i < selection->tracks.count; i++)
        output_format(&stats->set, "%s%u", i ? ", " : " AND track_id IN (",
                      selection->tracks.items[i]);
    if (selection->tracks.count > 0)
        output_char(&stats->set, ')');
}

static void put_edge_list(struct json *json, const edge_list *edges)
{
    json_key(json, "edges");
    json_open(json, '[');
    const struct edge_event *edge;
    array_each (edge, edges) {
        char digits[24];
        snprintf(digits, sizeof digits, "%lld", (long long)edge->self_ps);
        json_open(json, '{');
        json_put_uint(json, "id", edge->id);
        json_put_text(json, "self", text_of(digits));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void sum_selection(struct event_stats *stats, const struct opened *opened,
                          const struct selection *selection)
{
    add_table(stats, opened, false, selection);
    add_table(stats, opened, true, selection);
    if (stats->set.size == 0) /* a rank of a run may have summaries alone */
        output_text(&stats->set, EMPTY_SET);
    stats->json = reply_json(stats->reply);
    json_open(&stats->json, '{');
    put_totals(stats);
    if (stats->ok)
        put_by_name(stats);
    if (stats->ok)
        put_by_track(stats);
    if (stats->ok) {
        put_edge_list(&stats->json, &selection->edges);
        json_close(&stats->json, '}');
    }
}

static bool read_selection(struct request *request, struct reply *reply,
                           struct selection *selection)
{
    bool has_from, has_to;
    if (!body_check(request, reply) ||
        !body_numbers(request, reply, "tracks", &selection->tracks) ||
        !body_time(request, reply, "from", &selection->from, &has_from) ||
        !body_time(request, reply, "to", &selection->to, &has_to))
        return false;
    size_t count = selection->tracks.count;
    if (has_from && has_to && selection->from < selection->to && count <= MAX_TRACKS && count > 0)
        return true;
    reply_error(reply, MHD_HTTP_BAD_REQUEST,
                "a selection needs 1 to %d \"tracks\" and \"from\" before \"to\"", MAX_TRACKS);
    return false;
}

void post_selection(struct request *request, struct reply *reply)
{
    struct opened *opened = request->subject->opened;
    struct event_stats stats;
    struct selection selection = {0};
    struct error err;
    begin(&stats, reply);
    struct timeline *timeline = opened_timeline(opened, NULL);
    if (read_selection(request, reply, &selection)) {
        if (timeline &&
            !find_edges(timeline, request, selection.tracks.items, selection.tracks.count,
                        selection.from, selection.to, &selection.edges, &err)) {
            reply_failure(reply, MHD_HTTP_BAD_REQUEST, &err);
        } else if (profile_query_begin(&stats.query, opened, request, QUERY_SEARCH, reply)) {
            stats.has_self = has_self(opened);
            sum_selection(&stats, opened, &selection);
            profile_query_end(&stats.query);
        }
    }
    end(&stats);
    array_free(&selection.tracks);
    array_free(&selection.edges);
}
