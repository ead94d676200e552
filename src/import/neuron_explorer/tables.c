/*
 * Imports a directory of Parquet tables in the published schema, Explorer's or Kymo's own. DuckDB
 * reads them and turns each row into a record with the keys of the JSON format, which is then
 * handled like a file's. The tables that only Kymo writes (tracks, event types, event details)
 * restore its own profiles completely.
 */
#include "import/embedded_queries.h"
#include "import/neuron_explorer/explorer.h"
#include "import/neuron_explorer/explorer_passes.h"
#include "sql/sql.h"

#include <stdio.h>
#include <sys/stat.h>

/* Rows of one or more tables, as records of one list. */
struct table_query {
    enum explorer_list list;
    char *sql;
};

struct tables_source {
    struct explorer_source explorer;
    struct sql_database *database;
    ARRAY(struct table_query) queries;
};

typedef bool take_row(void *context, struct text row, struct error *err);

/* Calls `take` with the first column of every row; NULL becomes an empty text. */
static bool each_row(struct tables_source *source, const char *sql, take_row *take, void *context,
                     struct error *err)
{
    struct sql_connection *connection;
    struct sql_result *result = NULL;
    size_t rows = 0;
    if (!sql_connect(&connection, source->database, err))
        return false;
    bool ok = sql_query(&result, connection, sql, err) && sql_next(result, &rows, err);
    while (ok && rows > 0) {
        for (size_t i = 0; i < rows && ok; i++)
            ok = take(context, sql_value(result, i, 0), err);
        ok = ok && sql_next(result, &rows, err);
    }
    sql_free(result);
    sql_disconnect(connection);
    return ok;
}

/* The column names of a table, each surrounded by spaces: " id name "; empty if the table does not
 * exist. */
static bool list_columns(struct tables_source *source, const char *table, struct output *names)
{
    struct sql_connection *connection;
    struct sql_result *result = NULL;
    struct error ignored;
    struct output sql;
    size_t count = 0;
    names->size = 0;
    if (!sql_connect(&connection, source->database, &ignored))
        return false;
    output_memory(&sql);
    output_format(&sql, "SELECT * FROM \"%s\" LIMIT 0", table);
    output_char(&sql, '\0');
    if (sql_query(&result, connection, sql.data, &ignored)) {
        const struct sql_column *columns = sql_columns(result, &count);
        for (size_t i = 0; i < count; i++)
            output_format(names, " %s ", columns[i].name);
    }
    output_discard(&sql);
    sql_free(result);
    sql_disconnect(connection);
    output_char(names, '\0');
    return count > 0;
}

static bool has_column(const struct output *names, const char *column)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, " %s ", column);
    return strstr(names->data, wanted) != NULL;
}

/* Renames columns that the table has. */
struct renamed {
    const char *column, *as, *value; /* value: an SQL expression, or NULL for the column itself */
};

static const struct renamed event_columns[] = {
    {"start_ts", "timestamp", NULL},
    {"end_ts", NULL, NULL}, /* redundant: start and duration */
    {"duration_ns", "duration", NULL},
    {"nc_idx", "lnc_idx", NULL},
    {"extra_attributes_json", "args",
     "coalesce(try_cast(extra_attributes_json AS JSON), to_json(extra_attributes_json))"},
    {"trace_event_source", "group",
     "CASE WHEN trace_event_source = 'framework' THEN 'framework-' || thread_id "
     "WHEN nc_idx IS NULL OR trace_event_source NOT IN ('neuron_rt', 'neuron_hw') "
     "THEN replace(trace_event_source, 'neuron_rt', 'nrt') "
     "ELSE replace(trace_event_source, 'neuron_rt', 'nrt') || "
     "printf('-nc-%03d', nc_idx) END"},
    {NULL, NULL, NULL},
};

static const struct renamed cpu_columns[] = {{"util_percent", "util", NULL}, {NULL, NULL, NULL}};

static const struct renamed memory_columns[] = {
    {"used_bytes", "usage", NULL},
    {"used_percent", "percent_usage", NULL},
    {NULL, NULL, NULL},
};

static void add_query(struct tables_source *source, enum explorer_list list, struct output *sql)
{
    *array_push(&source->queries) = (struct table_query){list, mem_copy_text(sql->data, sql->size)};
    sql->size = 0;
}

/* All rows of a table, in order, with the names of the JSON format. */
static void add_table(struct tables_source *source, enum explorer_list list, const char *table,
                      const struct renamed *renames, struct output *names)
{
    struct output sql;
    if (!list_columns(source, table, names))
        return;
    output_memory(&sql);
    output_text(&sql, "SELECT to_json(r) FROM (SELECT *");
    const char *before = " EXCLUDE (", *after = "";
    for (const struct renamed *rename = renames; rename->column; rename++) {
        if (!has_column(names, rename->column))
            continue;
        output_format(&sql, "%s%s", before, rename->column);
        before = ", ";
        after = ")";
    }
    output_text(&sql, after);
    for (const struct renamed *rename = renames; rename->column; rename++)
        if (rename->as && has_column(names, rename->column))
            output_format(&sql, ", %s AS \"%s\"", rename->value ? rename->value : rename->column,
                          rename->as);
    output_format(&sql, " FROM \"%s\") r", table);
    add_query(source, list, &sql);
    output_discard(&sql);
}

/* Columns that repeat others or are derived. */
#define REPEATED                                                                                   \
    "'{\"id\": null, \"name\": null, \"start_ts\": null, \"end_ts\": null, \"duration_ns\": "      \
    "null, "                                                                                       \
    "\"timestamp\": null, \"device_idx\": null, \"stream_id\": null, \"launch_event_id\": null, "  \
    "\"step_id\": null, \"operation_id\": null}'"

/* The operator of device work, where it is not the source's own label. */
#define DERIVED_OPERATOR                                                                           \
    "if(framework_op_event_id IS NULL, '{}', "                                                     \
    "'{\"framework_op\": null, \"framework_op_event_id\": null}')"

/* Kymo's own events, joined with the tables of details. */
static void add_own_events(struct tables_source *source, struct output *names)
{
    static const char *const details[] = {"GpuKernel", "GpuCopy", "MemoryAllocation"};
    enum { DETAILS = sizeof details / sizeof *details };
    bool has_details[DETAILS], has_operator[DETAILS],
        has_values = list_columns(source, "CounterSample", names);
    struct output sql;
    output_memory(&sql);
    output_text(&sql, "SELECT to_json({track: e.track_id, event_type: nullif(e.event_type_id, 0), "
                      "name: e.name, duration_ps: e.duration_ns::HUGEINT * 1000 + "
                      "e.duration_fraction_ps, num_occurrences: e.occurrence_count, start_ps: "
                      "CASE WHEN e.occurrence_count IS NULL THEN "
                      "e.start_ts::HUGEINT * 1000 + e.start_fraction_ps END");
    output_text(&sql, has_values ? ", value: v.value, args: " : ", args: ");
    for (size_t i = 0; i < DETAILS; i++) {
        has_details[i] = list_columns(source, details[i], names) && has_column(names, "id");
        has_operator[i] = has_details[i] && has_column(names, "framework_op_event_id");
        if (has_details[i])
            output_text(&sql, "json_merge_patch(");
    }
    output_text(&sql, "coalesce(e.extra_attributes_json::JSON, '{}'::JSON)");
    for (size_t i = 0; i < DETAILS; i++)
        if (has_details[i])
            output_format(&sql, ", coalesce(d%zu.details, '{}'::JSON))", i);
    output_text(&sql, "}) FROM SystemProfileEvents e");
    if (has_values)
        output_text(&sql, " LEFT JOIN CounterSample v ON v.id = e.id");
    for (size_t i = 0; i < DETAILS; i++)
        if (has_details[i])
            output_format(&sql,
                          " LEFT JOIN (SELECT id, json_merge_patch(to_json(r), " REPEATED
                          ", %s) AS details FROM \"%s\" r) d%zu ON d%zu.id = e.id",
                          has_operator[i] ? DERIVED_OPERATOR : "'{}'", details[i], i, i);
    output_text(&sql, " ORDER BY e.id");
    add_query(source, LIST_EVENTS, &sql);
    output_discard(&sql);
}

/* Formats one row as an object that lives as long as the catalog. */
static struct json_value keep_row(struct catalog *catalog, struct text row)
{
    const char *copy = arena_copy_text(&catalog->arena, row.data ? row.data : "", row.size);
    return (struct json_value){{copy, row.size}, JSON_OBJECT, false};
}

static bool take_track(void *context, struct text row, struct error *err)
{
    (void)err;
    struct explorer_source *source = context;
    struct json_value object = keep_row(&source->base.source.catalog, row);
    own_add_track(&source->base.source.catalog, &source->facts.items[0].own, &object);
    return true;
}

static bool take_type(void *context, struct text row, struct error *err)
{
    (void)err;
    struct explorer_source *source = context;
    struct json_value object = keep_row(&source->base.source.catalog, row);
    own_add_type(&source->base.source.catalog, &source->facts.items[0].own, &object);
    return true;
}

static bool take_warning(void *context, struct text row, struct error *err)
{
    (void)err;
    struct explorer_source *source = context;
    struct catalog *catalog = &source->base.source.catalog;
    *array_push(&catalog->messages) = (struct message){.text = catalog_string(catalog, row)};
    return true;
}

static bool take_number(void *context, struct text row, struct error *err)
{
    (void)err;
    struct optional *number = context;
    struct json_value value = {row, JSON_NUMBER, false};
    number->has_value = row.data && value_whole(&value, &number->number);
    return true;
}

/* The tables that only Kymo writes. */
static bool read_own(struct tables_source *source, struct output *names, struct error *err)
{
    struct explorer_source *explorer = &source->explorer;
    if (!list_columns(source, "Track", names) || !list_columns(source, "EventType", names) ||
        !list_columns(source, "SystemProfileEvents", names) || !has_column(names, "track_id"))
        return true;
    explorer->facts.items[0].own.is_own = true;
    return each_row(source, import_sql_explorer_tracks, take_track, explorer, err) &&
           each_row(source, import_sql_explorer_types, take_type, explorer, err);
}

/* The start of the profile: the wall-clock time of its first event minus that event's offset. */
static bool read_start(struct tables_source *source, struct output *names, struct error *err)
{
    struct optional first_epoch = {0}, first = {0}, middle = {0};
    struct explorer_file *facts = &source->explorer.facts.items[0];
    struct own_tables *own = &facts->own;
    bool ok = each_row(source, "SELECT min(start_ts) FROM SystemProfileEvents", take_number, &first,
                       err) &&
              each_row(source, "SELECT approx_quantile(start_ts, 0.5) FROM SystemProfileEvents",
                       take_number, &middle, err);
    if (middle.has_value)
        span_sample(&facts->span, middle.number);
    if (ok && list_columns(source, "SystemProfileMetadata", names) &&
        has_column(names, "first_ts_ns"))
        ok = each_row(source, "SELECT first_ts_ns FROM SystemProfileMetadata LIMIT 1", take_number,
                      &first_epoch, err);
    own->has_start = first_epoch.has_value && first.has_value;
    own->start_epoch_ns = sub_saturated(first_epoch.number, first.number);
    return ok;
}

/* A pass over the rows of a query. */
static bool take_record(void *context, struct text row, struct error *err)
{
    struct explorer_pass *pass = context;
    const char *data = row.data;
    if (pass->pusher && row.size > 0) /* args point into it until the event is pushed */
        data = arena_copy_text(&pass->pusher->texts, row.data, row.size);
    struct json_value object = {{data, row.size}, JSON_OBJECT, false};
    if (row.size == 0 ||
        (record_read(&pass->record, &object, KEY_ARGS, &pass->walk.in) && explorer_put(pass)))
        return true;
    return pass->walk.in.problem
               ? error_in_file(err, pass->file->path, "invalid table: %s", pass->walk.in.problem)
               : false;
}

/* Reads all rows once: counts them, or pushes them when there is a pusher. */
static bool read_rows(struct tables_source *source, struct pusher *pusher, struct error *err)
{
    struct explorer_pass pass;
    bool ok = true;
    explorer_pass_begin(&pass, &source->explorer, 0, pusher != NULL);
    pass.pusher = pusher;
    pass.err = err;
    pass.is_table = true;
    for (size_t i = 0; i < source->queries.count && ok; i++) {
        pass.list = source->queries.items[i].list;
        ok = each_row(source, source->queries.items[i].sql, take_record, &pass, err);
    }
    record_free(&pass.record);
    return ok;
}

static bool read_file(struct record_source *base, uint32_t file, struct pusher *pusher,
                      struct error *err)
{
    (void)file;
    return read_rows((struct tables_source *)base, pusher, err);
}

static void tables_close(struct source *base)
{
    struct tables_source *source = (struct tables_source *)base;
    struct table_query *query;
    array_each (query, &source->queries)
        mem_free(query->sql);
    array_free(&source->queries);
    if (source->database)
        sql_close(source->database);
    explorer_close(base);
}

static void give_tables(struct catalog *catalog, const char *directory)
{
    path_list files = {0};
    struct error ignored;
    struct stat status;
    char **path;
    size_t size = 0;
    if (paths_list(directory, &files, &ignored))
        array_each (path, &files)
            size += stat(*path, &status) == 0 ? (size_t)status.st_size : 0;
    paths_free(&files);
    catalog_give(catalog, size, true);
}

static void add_host(struct tables_source *source, const struct capture *capture)
{
    struct explorer_source *explorer = &source->explorer;
    struct catalog *catalog = &explorer->base.source.catalog;
    const char *label = capture->run ? capture->run : "profile";
    uint32_t name = catalog_string(catalog, text_of(label));
    give_tables(catalog, capture->tables);
    *array_push(&catalog->hosts) =
        (struct host){.name = name,
                      .file = catalog_string(catalog, text_of(capture->tables)),
                      .compression = catalog_string(catalog, TEXT("none")),
                      .start_epoch_ns = TIME_UNSET,
                      .stop_epoch_ns = TIME_UNSET};
    *array_push(&explorer->base.files) =
        (struct json_file){.path = capture->tables, .label = label, .data = ""};
    *array_push(&explorer->facts) = (struct explorer_file){.instance = name};
}

static bool lay_out(struct tables_source *source, const struct capture *capture, struct error *err)
{
    struct explorer_file *facts = &source->explorer.facts.items[0];
    struct output names;
    output_memory(&names);
    bool ok = sql_open(&source->database, capture->tables, err) && read_own(source, &names, err) &&
              read_start(source, &names, err);
    if (ok && facts->own.is_own) {
        add_own_events(source, &names);
    } else if (ok) {
        add_table(source, LIST_EVENTS, "SystemProfileEvents", event_columns, &names);
        add_table(source, LIST_CPU, "CpuUsage", cpu_columns, &names);
        add_table(source, LIST_MEMORY, "HostMemUsage", memory_columns, &names);
    }
    span_settle(&facts->span);
    ok = ok && read_rows(source, NULL, err);
    if (ok && list_columns(source, "Warning", &names))
        ok = each_row(source, "SELECT message FROM \"Warning\"", take_warning, &source->explorer,
                      err);
    output_discard(&names);
    return ok;
}

bool import_tables(const struct capture *capture, struct pool *pool, struct source **result,
                   struct error *err)
{
    (void)pool;
    struct tables_source *source = mem_zeroed(1, sizeof *source);
    struct record_source *base = &source->explorer.base;
    explorer_init(&source->explorer);
    base->source.catalog.format = "parquet";
    base->source.close = tables_close;
    base->read_file = read_file;
    add_host(source, capture);
    bool ok = lay_out(source, capture, err);
    const struct explorer_file *facts = &source->explorer.facts.items[0];
    bool has_span = !facts->own.is_own && facts->span.first_ns <= facts->span.last_ns;
    int64_t start_ns =
        add_saturated(facts->own.start_epoch_ns, has_span ? facts->span.first_ns : 0);
    if (ok && facts->own.has_start && start_ns > 0)
        base->source.catalog.hosts.items[0].start_epoch_ns = start_ns;
    return record_source_finish(base, ok, result);
}
