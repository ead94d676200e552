/*
 * GET events/TABLE/ID: all fields of an event in groups, its predecessors and successors, the
 * events around and inside it, and its position in the timeline.
 */
#include "serve/api/handlers.h"

#include "export/export.h"
#include "serve/api/family.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { VALUE_SIZE = 64, FINEST_WIDTH = 64 };

enum group { GROUP_GENERAL, GROUP_TIMING, GROUP_IDS, GROUP_DATA, GROUP_COUNT };
static const char *const group_titles[] = {"General", "Timing", "IDs", "Data"};

/* State of one request. */
struct event_details {
    struct profile_query query;
    struct reply *reply;
    struct json json;
    struct output sql;
    struct timeline *timeline; /* or NULL */
    const char *table;         /* SystemProfileEvents or HloRun */
    uint64_t id;
    int64_t track, start_ps, end_ps;
    uint32_t row; /* that it is drawn in, or TIMELINE_NONE */
    bool ok;
};

static const struct table_schema *find_schema(const char *table)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (strcmp(table_schemas[i].name, table) == 0)
            return &table_schemas[i];
    return NULL;
}

static const struct field *find_field(const struct table_schema *schema, const char *name)
{
    for (size_t i = 0; schema && i < schema->field_count; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    return NULL;
}

static enum group group_of(const char *name, const struct field *field)
{
    struct text text = text_of(name);
    const char *unit = field ? field->unit : "";
    if (strcmp(unit, "ns") == 0 || strcmp(unit, "ps") == 0)
        return GROUP_TIMING;
    if (text_equal(text, TEXT("id")) || text_ends(text, TEXT("_id")) ||
        text_ends(text, TEXT("_idx")) || text_ends(text, TEXT("_gid")))
        return GROUP_IDS;
    return *unit || (field && field->type != FIELD_NAME && field->type != FIELD_TEXT)
               ? GROUP_DATA
               : GROUP_GENERAL;
}

static void put_field(struct json *json, const struct sql_column *column, struct text value,
                      const struct field *field)
{
    json_open(json, '{');
    json_put_text(json, "name", text_of(column->name));
    json_key(json, "value");
    export_json_value(json, column, value);
    json_put_text(json, "unit", text_of(field ? field->unit : ""));
    json_put_text(json, "meaning", text_of(field ? field->meaning : ""));
    json_close(json, '}');
}

/* The row that the fields of a group are columns of, or whose attributes they are. */
struct group_row {
    const char *table, *column, *value;
};

static void open_group(struct json *json, const char *title, const char *of,
                       const struct group_row *row)
{
    json_open(json, '{');
    json_put_text(json, "title", text_of(title));
    json_put_text(json, of, text_of(row->table));
    json_key(json, "key");
    json_open_row(json, '{');
    json_key(json, row->column);
    json_raw(json, text_of(row->value));
    json_close_row(json, '}');
    json_key(json, "fields");
    json_open(json, '[');
}

static void close_group(struct json *json)
{
    json_close(json, ']');
    json_close(json, '}');
}

static bool is_json_field(const char *name)
{
    return text_ends(text_of(name), TEXT("_json"));
}

/* A group with one field per key of a JSON object. */
static void put_attributes(struct json *json, const char *title, const struct group_row *row,
                           struct text object)
{
    struct json_reader in = json_read(object);
    struct json_value key, value;
    if (object.size == 0 || object.data[0] != '{')
        return;
    open_group(json, title, "attributes_of", row);
    for (bool more = json_enter(&in, '{'); more; more = json_more(&in, '}')) {
        if (!json_read_key(&in, &key) || !json_read_value(&in, &value))
            break;
        char *name = mem_alloc(key.text.size + 1);
        size_t size = json_unescape(key.text, name);
        json_open(json, '{');
        json_put_text(json, "name", (struct text){name, size});
        json_key(json, "value");
        struct text whole = value.text;
        if (value.kind == JSON_STRING)
            whole = (struct text){whole.data - 1, whole.size + 2};
        if (value.kind == JSON_NUMBER)
            export_json_value(json, &(struct sql_column){.kind = SQL_NUMBER}, whole);
        else
            json_copy(json, whole);
        json_put_text(json, "unit", TEXT(""));
        json_put_text(json, "meaning", TEXT(""));
        json_close(json, '}');
        mem_free(name);
    }
    close_group(json);
}

/* Columns already shown from the event's main row. */
static bool is_repeated(const char *name)
{
    static const char *const names[] = {"id",          "name",     "start_ts", "end_ts",
                                        "duration_ns", "track_id", "step_id",  "event_type_id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The query appends the position to the table's columns: name, track, start, end. */
enum { POSITION_COLUMNS = 4 };

static void put_main_row(struct json *json, const struct sql_result *result,
                         const struct table_schema *schema, const struct group_row *of)
{
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    count -= POSITION_COLUMNS;
    for (int group = 0; group < GROUP_COUNT; group++) {
        open_group(json, group_titles[group], "table", of);
        for (size_t i = 0; i < count; i++) {
            const struct field *field = find_field(schema, columns[i].name);
            struct text value = sql_value(result, 0, i);
            if (value.data && !is_json_field(columns[i].name) &&
                (int)group_of(columns[i].name, field) == group)
                put_field(json, &columns[i], value, field);
        }
        close_group(json);
    }
    for (size_t i = 0; i < count; i++)
        if (is_json_field(columns[i].name))
            put_attributes(json, "Attributes", of, sql_value(result, 0, i));
}

/* A row of a related table as a group. */
static void put_related_row(struct json *json, const struct sql_result *result,
                            const struct table_schema *schema, const struct group_row *of)
{
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    open_group(json, schema->name, "table", of);
    for (size_t i = 0; i < count; i++) {
        struct text value = sql_value(result, 0, i);
        bool is_own = schema != &table_schemas[TABLE_OPERATIONS] &&
                      schema != &table_schemas[TABLE_STEPS] && is_repeated(columns[i].name);
        if (value.data && !is_own && !is_json_field(columns[i].name))
            put_field(json, &columns[i], value, find_field(schema, columns[i].name));
    }
    close_group(json);
    for (size_t i = 0; i < count; i++)
        if (is_json_field(columns[i].name))
            put_attributes(json, "Attributes of its kind", of, sql_value(result, 0, i));
}

static void copy_value(const struct sql_result *result, const char *column,
                       char copy[static VALUE_SIZE])
{
    size_t count;
    const struct sql_column *columns = sql_columns(result, &count);
    for (size_t i = 0; i < count; i++) {
        struct text value = sql_value(result, 0, i);
        if (strcmp(columns[i].name, column) == 0 && value.data && value.size < VALUE_SIZE)
            snprintf(copy, VALUE_SIZE, "%.*s", (int)value.size, value.data);
    }
}

/* Keys of rows in related tables, "" if absent. */
struct related_ids {
    char type[VALUE_SIZE], step[VALUE_SIZE], operation[VALUE_SIZE], module[VALUE_SIZE];
    char kind[VALUE_SIZE], stream[VALUE_SIZE]; /* of a run */
};

static void copy_ids(const struct sql_result *result, struct related_ids *ids)
{
    copy_value(result, "event_type_id", ids->type);
    copy_value(result, "step_id", ids->step);
    copy_value(result, "operation_id", ids->operation);
    copy_value(result, "module_id", ids->module);
    copy_value(result, "kind", ids->kind);
    copy_value(result, "stream_track_id", ids->stream);
}

static void add_related_row(struct event_details *details, enum table_number table,
                            const char *column, const char *value, struct related_ids *ids)
{
    const struct table_schema *schema = &table_schemas[table];
    if (!details->ok || !*value || !has_table(details->query.opened, schema->name))
        return;
    output_format(&details->sql, "SELECT * FROM \"%s\" WHERE %s = %s LIMIT 1", schema->name, column,
                  value);
    struct sql_result *result = profile_query_run(&details->query, &details->sql, details->reply);
    details->ok = result != NULL;
    if (result && profile_query_next(&details->query, result, details->reply, &details->ok) > 0) {
        put_related_row(&details->json, result, schema,
                        &(struct group_row){schema->name, column, value});
        copy_ids(result, ids);
    }
    sql_free(result);
}

static bool is_run(const struct event_details *details)
{
    return strcmp(details->table, table_schemas[TABLE_RUNS].name) == 0;
}

/* The row of its track that the event is drawn in: the one that contains it at its start. */
static uint32_t find_row(struct timeline *timeline, uint32_t track, uint64_t id, int64_t start_ps)
{
    struct timeline_result answer = {0};
    struct timeline_query query = {.tracks = &track,
                                   .track_count = 1,
                                   .from_ps = start_ps,
                                   .to_ps = add_saturated(start_ps, 1),
                                   .width = FINEST_WIDTH};
    struct error ignored;
    uint32_t found = TIMELINE_NONE;
    const struct timeline_row *row;
    if (timeline_track_at(timeline, track)->is_counter)
        return 0;
    if (timeline_query(timeline, &query, &answer, &ignored))
        array_each (row, &answer.rows)
            for (size_t i = 0; i < row->item_count; i++)
                if (answer.items.items[row->first_item + i].id == id)
                    found = row->row;
    timeline_result_free(&answer);
    return found;
}

static uint32_t put_row(struct event_details *details, uint64_t id, int64_t track, int64_t start_ps)
{
    uint32_t row = TIMELINE_NONE;
    if (details->timeline && track >= 0 && track < timeline_track_count(details->timeline))
        row = find_row(details->timeline, (uint32_t)track, id, start_ps);
    json_key(&details->json, "row");
    if (row == TIMELINE_NONE)
        json_null(&details->json);
    else
        json_uint(&details->json, row);
    return row;
}

static void put_position(struct event_details *details, const struct sql_result *result)
{
    size_t count;
    sql_columns(result, &count);
    size_t first = count - POSITION_COLUMNS;
    json_put_uint(&details->json, "id", details->id);
    json_put_text(&details->json, "table", text_of(details->table));
    json_put_text(&details->json, "name", sql_value(result, 0, first));
    details->track = sql_integer(result, 0, first + 1);
    details->start_ps = sql_integer(result, 0, first + 2);
    details->end_ps = sql_integer(result, 0, first + 3);
    json_put_int(&details->json, "track", details->track);
    details->row = put_row(details, details->id, details->track, details->start_ps);
    json_put_text(&details->json, "start", sql_value(result, 0, first + 2));
    json_put_text(&details->json, "end", sql_value(result, 0, first + 3));
}

/* Writes the event's position and the groups of its main row; false if there is no such event. */
static bool add_event(struct event_details *details, struct related_ids *ids)
{
    const char *start = event_start_sql(is_run(details)),
               *duration = event_duration_sql(is_run(details));
    output_format(&details->sql,
                  "SELECT *, name, track_id, (%s)::VARCHAR, (%s + %s)::VARCHAR FROM \"%s\" "
                  "WHERE id = %llu LIMIT 1",
                  start, start, duration, details->table, (unsigned long long)details->id);
    struct sql_result *result = profile_query_run(&details->query, &details->sql, details->reply);
    details->ok = result != NULL;
    size_t rows =
        result ? profile_query_next(&details->query, result, details->reply, &details->ok) : 0;
    if (rows > 0) {
        put_position(details, result);
        char id[24];
        snprintf(id, sizeof id, "%llu", (unsigned long long)details->id);
        json_key(&details->json, "groups");
        json_open(&details->json, '[');
        put_main_row(&details->json, result, find_schema(details->table),
                     &(struct group_row){details->table, "id", id});
        copy_ids(result, ids);
    }
    sql_free(result);
    return rows > 0;
}

static void add_related_rows(struct event_details *details, struct related_ids *ids)
{
    static const enum table_number sides[] = {TABLE_KERNELS,     TABLE_COPIES,   TABLE_COLLECTIVES,
                                              TABLE_ALLOCATIONS, TABLE_COUNTERS, TABLE_INSTRUCTION,
                                              TABLE_TRANSFER,    TABLE_PACKET,   TABLE_CC_OP,
                                              TABLE_DEVICE_ERROR};
    char id[24];
    snprintf(id, sizeof id, "%llu", (unsigned long long)details->id);
    for (size_t i = 0; !is_run(details) && i < sizeof sides / sizeof *sides; i++)
        add_related_row(details, sides[i], "id", id, ids);
    add_related_row(details, TABLE_OPERATIONS, "id", ids->operation, ids);
    add_related_row(details, TABLE_MODULES, "id", ids->module, ids);
    add_related_row(details, TABLE_STEPS, "id", ids->step, ids);
    add_related_row(details, TABLE_PYTHON_FRAMES, "event_type_id", ids->type, ids);
    add_related_row(details, TABLE_EVENT_TYPES, "id", ids->type, ids);
    if (details->ok)
        json_close(&details->json, ']');
}

/* The other end of a flow. Tables of flows have the ids of events, but for runs. */
struct flow_end {
    uint64_t id;
    char type[VALUE_SIZE], gap[VALUE_SIZE];
    bool is_run;
};
typedef ARRAY(struct flow_end) flow_ends;

/* How many flows there are, of which the first are listed. */
struct flow_counts {
    int64_t all, launches;
};

/* Ids of runs and of other events overlap, hence the test of the table on both ends. Sets ok, and
 * the reply on failure; the caller frees the list either way. */
static flow_ends find_flows(struct event_details *details, bool causes, struct flow_counts *counts)
{
    flow_ends list = {0};
    const char *here = causes ? "out" : "in", *there = causes ? "in" : "out";
    output_format(&details->sql,
                  "SELECT %s_id, %s_table = '%s', dependency_type, gap_time, count(*) OVER (), "
                  "count(*) FILTER (WHERE dependency_type = 'launch') OVER () FROM Flow "
                  "WHERE %s_id = %llu AND (%s_table = '%s') = %s ORDER BY 1 LIMIT %d",
                  there, there, table_schemas[TABLE_RUNS].name, here,
                  (unsigned long long)details->id, here, table_schemas[TABLE_RUNS].name,
                  is_run(details) ? "true" : "false", EVENT_MAX_FLOWS);
    struct sql_result *result = profile_query_run(&details->query, &details->sql, details->reply);
    details->ok = result != NULL;
    for (size_t rows; result && (rows = profile_query_next(&details->query, result, details->reply,
                                                           &details->ok)) > 0;)
        for (size_t i = 0; i < rows; i++) {
            struct flow_end *flow = array_push(&list);
            struct text type = sql_value(result, i, 2), gap = sql_value(result, i, 3);
            *counts = (struct flow_counts){sql_integer(result, i, 4), sql_integer(result, i, 5)};
            *flow = (struct flow_end){.id = (uint64_t)sql_integer(result, i, 0),
                                      .is_run = text_equal(sql_value(result, i, 1), TEXT("true"))};
            snprintf(flow->type, VALUE_SIZE, "%.*s", (int)type.size, type.data ? type.data : "");
            snprintf(flow->gap, VALUE_SIZE, "%.*s", (int)gap.size, gap.data ? gap.data : "");
        }
    sql_free(result);
    return list;
}

static const struct flow_end *flow_to(const flow_ends *list, uint64_t id, bool is_run)
{
    const struct flow_end *flow;
    array_each (flow, list)
        if (flow->id == id && flow->is_run == is_run)
            return flow;
    return NULL;
}

static void put_end(struct event_details *details, const struct sql_result *result, size_t row,
                    const flow_ends *list, bool is_run)
{
    struct json *json = &details->json;
    int64_t id = sql_integer(result, row, 0), track = sql_integer(result, row, 2);
    const struct flow_end *flow = flow_to(list, (uint64_t)id, is_run);
    json_open(json, '{');
    json_put_int(json, "id", id);
    json_put_text(json, "table", text_of(table_schemas[is_run ? TABLE_RUNS : TABLE_EVENTS].name));
    json_put_text(json, "name", sql_value(result, row, 1));
    json_put_int(json, "track", track);
    put_row(details, (uint64_t)id, track, sql_integer(result, row, 3));
    json_put_text(json, "start", sql_value(result, row, 3));
    json_put_text(json, "duration", sql_value(result, row, 4));
    json_put_text(json, "type", text_of(flow ? flow->type : ""));
    json_key(json, "gap_ns");
    if (flow && flow->gap[0])
        json_raw(json, text_of(flow->gap));
    else
        json_null(json);
    json_close(json, '}');
}

/* One query for all ends of a table rather than one for each. Returns early, with the SQL cleared,
 * if the list has no end in this table or the profile lacks it. */
static void add_flow_ends(struct event_details *details, const flow_ends *list, bool of_runs)
{
    const char *table = table_schemas[of_runs ? TABLE_RUNS : TABLE_EVENTS].name;
    size_t count = 0;
    output_format(
        &details->sql,
        "SELECT id, name, track_id, (%s)::VARCHAR, (%s)::VARCHAR FROM \"%s\" WHERE id IN (",
        event_start_sql(of_runs), event_duration_sql(of_runs), table);
    const struct flow_end *flow;
    array_each (flow, list)
        if (flow->is_run == of_runs)
            output_format(&details->sql, "%s%llu", count++ ? ", " : "",
                          (unsigned long long)flow->id);
    output_text(&details->sql, ") ORDER BY start_ts, id");
    if (count == 0 || !has_table(details->query.opened, table)) {
        details->sql.size = 0;
        return;
    }
    struct sql_result *result = profile_query_run(&details->query, &details->sql, details->reply);
    details->ok = result != NULL;
    for (size_t rows; result && (rows = profile_query_next(&details->query, result, details->reply,
                                                           &details->ok)) > 0;)
        for (size_t i = 0; i < rows; i++)
            put_end(details, result, i, list, of_runs);
    sql_free(result);
}

static void add_flows(struct event_details *details, bool causes)
{
    if (!details->ok)
        return;
    struct flow_counts counts = {0};
    json_key(&details->json, causes ? "predecessors" : "successors");
    json_open(&details->json, '[');
    if (has_table(details->query.opened, table_schemas[TABLE_FLOWS].name)) {
        flow_ends list = find_flows(details, causes, &counts);
        for (int of_runs = 0; of_runs < 2 && details->ok; of_runs++)
            add_flow_ends(details, &list, of_runs);
        array_free(&list);
    }
    if (!details->ok)
        return;
    json_close(&details->json, ']');
    json_put_int(&details->json, causes ? "predecessors_count" : "successors_count", counts.all);
    if (!causes)
        json_put_int(&details->json, "launch_count", counts.launches);
}

static void add_parts(struct event_details *details, const struct related_ids *ids)
{
    struct event_place place = {.is_run = is_run(details),
                                .is_module = strcmp(ids->kind, "module") == 0,
                                .stream = ids->stream,
                                .track = details->track,
                                .start_ps = details->start_ps,
                                .end_ps = details->end_ps};
    details->ok = details->ok && put_parts(&details->json, &details->query, &place, details->reply);
}

static void add_family(struct event_details *details)
{
    struct timeline *timeline = details->timeline;
    uint32_t track = (uint32_t)details->track;
    if (!details->ok || !timeline || details->track < 0 ||
        details->track >= timeline_track_count(timeline))
        return;
    put_neighbors(&details->json, timeline, track, details->row, details->id, details->start_ps);
    put_family(&details->json, timeline, track, details->id, details->start_ps, details->end_ps);
}

/* The event table whose ids the given table uses, or NULL. */
static const char *main_table(const char *table)
{
    static const enum table_number same[] = {
        TABLE_EVENTS,   TABLE_KERNELS,     TABLE_COPIES,   TABLE_COLLECTIVES, TABLE_ALLOCATIONS,
        TABLE_COUNTERS, TABLE_INSTRUCTION, TABLE_TRANSFER, TABLE_PACKET,      TABLE_CC_OP};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strcmp(table, table_schemas[same[i]].name) == 0)
            return table_schemas[TABLE_EVENTS].name;
    return strcmp(table, table_schemas[TABLE_RUNS].name) == 0 ? table_schemas[TABLE_RUNS].name
                                                              : NULL;
}

static bool read_id(const char *text, uint64_t *id)
{
    char *end;
    size_t digits = strspn(text, "0123456789");
    *id = strtoull(text, &end, 10);
    return digits > 0 && digits < 19 && text[digits] == '\0';
}

static void write_details(struct event_details *details)
{
    struct related_ids ids = {{0}, {0}, {0}, {0}, {0}, {0}};
    details->json = reply_json(details->reply);
    json_open(&details->json, '{');
    if (!add_event(details, &ids)) {
        if (details->ok)
            reply_error(details->reply, MHD_HTTP_NOT_FOUND, "event %llu not found in %s",
                        (unsigned long long)details->id, details->table);
        return;
    }
    add_related_rows(details, &ids);
    add_flows(details, true);
    add_flows(details, false);
    add_family(details);
    add_parts(details, &ids);
    if (details->ok)
        json_close(&details->json, '}');
}

void get_event(struct request *request, struct reply *reply)
{
    struct event_details details = {
        .reply = reply, .table = main_table(request->parameters[1]), .ok = true};
    struct opened *opened = request->subject->opened;
    if (!details.table || !read_id(request->parameters[2], &details.id) ||
        !has_table(opened, details.table)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "event not found; event tables are %s and %s",
                    table_schemas[TABLE_EVENTS].name, table_schemas[TABLE_RUNS].name);
    } else if (profile_query_begin(&details.query, opened, request, QUERY_SEARCH, reply)) {
        details.timeline = opened_timeline(opened, NULL);
        output_memory(&details.sql);
        write_details(&details);
        output_discard(&details.sql);
        profile_query_end(&details.query);
    }
}
