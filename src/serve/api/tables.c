/*
 * GET tables, POST sql, and the query API of Neuron Explorer (POST db/NAME/_search).
 */
#include "serve/api/handlers.h"
#include "serve/embedded_queries.h"

#include "export/export.h"
#include "serve/runs/user_queries.h"
#include "store/tables/store.h"

#include <stdio.h>
#include <stdlib.h>

static const struct table_schema *find_schema(struct text table)
{
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (text_equal(text_of(table_schemas[i].name), table))
            return &table_schemas[i];
    return NULL;
}

static const struct field *find_field(const struct table_schema *schema, struct text name)
{
    for (size_t i = 0; schema && i < schema->field_count; i++)
        if (text_equal(text_of(schema->fields[i].name), name))
            return &schema->fields[i];
    return NULL;
}

static void put_column(struct json *json, struct text name, struct text type,
                       const struct field *field)
{
    json_open(json, '{');
    json_put_text(json, "name", name);
    json_put_text(json, "type", field ? text_of(field_type_name(field->type)) : type);
    json_put_text(json, "unit", text_of(field ? field->unit : ""));
    json_put_text(json, "meaning", text_of(field ? field->meaning : ""));
    const char *formula = field ? field_formula(field) : NULL;
    if (formula)
        json_put_text(json, "formula", text_of(formula));
    json_close(json, '}');
}

/* A table and its row count, NULL if unreadable. */
struct listed {
    char *name, *rows;
};
typedef ARRAY(struct listed) listed_tables;

static bool count_tables(struct profile_query *query, struct reply *reply, listed_tables *tables)
{
    struct sql_result *list;
    struct error err;
    bool ok = sql_list(&list, query->connection, &err);
    if (!ok)
        profile_query_failed(query, reply, &err);
    for (size_t rows; ok && (rows = profile_query_next(query, list, reply, &ok)) > 0;)
        for (size_t i = 0; i < rows; i++) {
            struct text name = sql_value(list, i, 0), count = sql_value(list, i, 1);
            *array_push(tables) =
                (struct listed){mem_copy_text(name.data, name.size),
                                count.data ? mem_copy_text(count.data, count.size) : NULL};
        }
    sql_free(list);
    return ok;
}

static void open_table(struct json *json, const struct listed *table)
{
    const struct table_schema *schema = find_schema(text_of(table->name));
    json_open(json, '{');
    json_put_text(json, "name", text_of(table->name));
    json_put_text(json, "meaning", text_of(schema ? schema->meaning : ""));
    json_key(json, "rows");
    if (table->rows)
        json_raw(json, text_of(table->rows));
    else
        json_null(json);
    json_key(json, "columns");
    json_open(json, '[');
}

static void close_table(struct json *json)
{
    json_close(json, ']');
    json_close(json, '}');
}

/* Columns are sorted by table, in the same order as the list. */
static bool put_tables(struct json *json, struct profile_query *query, struct reply *reply,
                       const listed_tables *tables)
{
    struct output sql;
    size_t at = 0;
    bool ok = true;
    output_memory(&sql);
    output_text(&sql, serve_sql_columns);
    struct sql_result *result = profile_query_run(query, &sql, reply);
    output_discard(&sql);
    if (!result)
        return false;
    if (tables->count > 0)
        open_table(json, &tables->items[0]);
    for (size_t rows; (rows = profile_query_next(query, result, reply, &ok)) > 0;)
        for (size_t i = 0; i < rows && at < tables->count; i++) {
            struct text name = sql_value(result, i, 0), column = sql_value(result, i, 1);
            while (at + 1 < tables->count && !text_equal(text_of(tables->items[at].name), name)) {
                close_table(json);
                open_table(json, &tables->items[++at]);
            }
            put_column(json, column, sql_value(result, i, 2),
                       find_field(find_schema(name), column));
        }
    for (; ok && at < tables->count; at++) {
        close_table(json);
        if (at + 1 < tables->count)
            open_table(json, &tables->items[at + 1]);
    }
    sql_free(result);
    return ok;
}

static bool list_all(struct json *json, struct profile_query *query, struct reply *reply)
{
    listed_tables tables = {0};
    bool ok = count_tables(query, reply, &tables) && put_tables(json, query, reply, &tables);
    struct listed *table;
    array_each (table, &tables) {
        mem_free(table->name);
        mem_free(table->rows);
    }
    array_free(&tables);
    return ok;
}

void list_tables(struct request *request, struct reply *reply)
{
    struct profile_query query;
    struct opened *opened = request->subject->opened;
    if (profile_query_begin(&query, opened, request, QUERY_SEARCH, reply)) {
        struct json json = reply_json(reply);
        json_open(&json, '{');
        json_key(&json, "tables");
        json_open(&json, '[');
        if (list_all(&json, &query, reply)) {
            json_close(&json, ']');
            json_close(&json, '}');
        }
        profile_query_end(&query);
    }
}

void post_sql(struct request *request, struct reply *reply)
{
    struct opened *opened = request->subject->opened;
    char *query = NULL, *format = NULL;
    struct rows_format rows = {
        .kind = ROWS_API_LISTS, .limit = QUERY_DEFAULT_ROWS, .answer_bytes = QUERY_MAX_ANSWER};
    if (body_check(request, reply) && body_text(request, reply, "query", &query) &&
        body_text(request, reply, "format", &format) &&
        body_number(request, reply, "limit", QUERY_MAX_ROWS, &rows.limit)) {
        if (format && strcmp(format, "csv") == 0)
            rows.kind = ROWS_API_CSV;
        if (!query)
            reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing \"query\"");
        else if (format && rows.kind != ROWS_API_CSV && strcmp(format, "json") != 0)
            reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"format\" must be \"json\" or \"csv\"");
        else
            query_reply(request, reply, opened, query, &rows);
    }
    mem_free(query);
    mem_free(format);
}

/* Row format of Neuron Explorer. */
static const struct rows_format explorer_rows = {
    .kind = ROWS_API_OBJECTS, .limit = QUERY_DEFAULT_ROWS, .answer_bytes = QUERY_MAX_ANSWER};

/* Replies with the rows of an internal query. */
static void answer_data(struct request *request, struct reply *reply, struct opened *opened,
                        struct output *sql)
{
    struct profile_query query;
    struct error err;
    if (!profile_query_begin(&query, opened, request, QUERY_SEARCH, reply))
        return;
    struct sql_result *result = profile_query_run(&query, sql, reply);
    reply->type = "application/json";
    if (result && !export_rows(result, &explorer_rows, &reply->body, &err))
        profile_query_failed(&query, reply, &err);
    sql_free(result);
    profile_query_end(&query);
}

static void answer_schema(struct request *request, struct reply *reply, struct opened *opened,
                          const char *table)
{
    struct output sql;
    if (!table || !find_schema(text_of(table)) || !has_table(opened, table)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "table '%s' not found", table ? table : "");
        return;
    }
    output_memory(&sql);
    struct output quoted;
    output_memory(&quoted);
    put_sql_text(&quoted, text_of(table));
    output_char(&quoted, '\0');
    sql_fill(&sql, serve_sql_schema_fields,
             (const struct sql_blank[]){{"TABLE", .text = quoted.data}}, 1);
    output_discard(&quoted);
    answer_data(request, reply, opened, &sql);
    output_discard(&sql);
}

static void answer_files(struct reply *reply, const struct opened *opened)
{
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "data");
    json_open(&json, '[');
    for (size_t i = 0; i < TABLE_COUNT; i++)
        if (has_table(opened, table_schemas[i].name)) {
            char *file = path_format("%s.parquet", table_schemas[i].name);
            json_text(&json, text_of(file));
            mem_free(file);
        }
    json_close(&json, ']');
    json_close(&json, '}');
}

void search_database(struct request *request, struct reply *reply)
{
    struct opened *opened = request->subject->opened;
    char *type = NULL, *query = NULL, *table = NULL;
    if (body_check(request, reply) && body_text(request, reply, "type", &type) &&
        body_text(request, reply, "query", &query) &&
        body_text(request, reply, "tableName", &table)) {
        if (type && strcmp(type, "databaseExplorerQuery") == 0 && query)
            query_reply(request, reply, opened, query, &explorer_rows);
        else if (type && strcmp(type, "tableSchema") == 0)
            answer_schema(request, reply, opened, table);
        else if (type && strcmp(type, "listDbFiles") == 0)
            answer_files(reply, opened);
        else
            reply_error(reply, MHD_HTTP_BAD_REQUEST,
                        "\"type\" must be databaseExplorerQuery (with \"query\"), tableSchema "
                        "(with \"tableName\") or listDbFiles");
    }
    mem_free(type);
    mem_free(query);
    mem_free(table);
}
