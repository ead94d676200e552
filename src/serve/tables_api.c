/*
 * Tables and SQL over them.
 */
#include "serve/handlers.h"

#include "export/export.h"
#include "serve/open_profiles.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>

enum { USUAL_ROWS = 10000, MOST_ROWS = 1000000, LARGEST_ANSWER = 32 << 20 };

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
    json_close(json, '}');
}

/* Rows of each table, as sql_list counts them. */
struct listed {
    char *name, *rows;
};
typedef ARRAY(struct listed) listed_tables;

static bool count_tables(struct asking *asking, struct reply *reply, listed_tables *tables)
{
    struct sql_result *list;
    struct error err;
    bool ok = sql_list(&list, asking->connection, &err);
    if (!ok)
        asking_failed(asking, reply, true, &err);
    for (size_t rows; ok && (rows = ask_next(asking, list, reply, &ok)) > 0;)
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

/* Columns come in the order of the tables, which is that of the list. */
static bool put_tables(struct json *json, struct asking *asking, struct reply *reply,
                       const listed_tables *tables)
{
    struct output sql;
    size_t at = 0;
    bool ok = true;
    output_memory(&sql);
    output_text(&sql, "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE "
                      "NOT internal ORDER BY lower(table_name), table_name, column_index");
    struct sql_result *result = ask(asking, &sql, reply);
    output_discard(&sql);
    if (!result)
        return false;
    if (tables->count > 0)
        open_table(json, &tables->items[0]);
    for (size_t rows; (rows = ask_next(asking, result, reply, &ok)) > 0;)
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

static bool list_all(struct json *json, struct asking *asking, struct reply *reply)
{
    listed_tables tables = {0};
    bool ok = count_tables(asking, reply, &tables) && put_tables(json, asking, reply, &tables);
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
    struct asking asking;
    struct opened *opened = open_profile(request, reply);
    if (opened && asking_begin(&asking, opened, request, QUERY_LIMIT_S, reply)) {
        struct json json = reply_json(reply);
        json_open(&json, '{');
        json_key(&json, "tables");
        json_open(&json, '[');
        if (list_all(&json, &asking, reply)) {
            json_close(&json, ']');
            json_close(&json, '}');
        }
        asking_end(&asking);
    }
    close_profile(opened);
}

static const char *kind_name(enum sql_kind kind)
{
    static const char *const names[] = {"text", "number", "boolean", "json", "text"};
    return names[kind];
}

/* Rows as lists; false on failure. What is too large is cut, and *is_cut says so. */
static bool put_rows(struct json *json, struct sql_result *result, uint64_t limit, bool as_objects,
                     bool *is_cut, struct error *err)
{
    size_t count, rows;
    const struct sql_column *columns = sql_columns(result, &count);
    uint64_t written = 0;
    for (*is_cut = false; !*is_cut;) {
        if (!sql_next(result, &rows, err))
            return false;
        if (rows == 0)
            return true;
        for (size_t row = 0; row < rows && !*is_cut; row++) {
            if (written == limit || json->out->size > LARGEST_ANSWER) {
                *is_cut = true;
                break;
            }
            written++;
            json_open(json, as_objects ? '{' : '[');
            for (size_t i = 0; i < count; i++) {
                if (as_objects)
                    json_key(json, columns[i].name);
                put_sql_value(json, &columns[i], sql_value(result, row, i));
            }
            json_close(json, as_objects ? '}' : ']');
        }
    }
    return true;
}

static bool answer_json(struct sql_result *result, uint64_t limit, struct reply *reply,
                        struct error *err)
{
    size_t count;
    bool is_cut;
    const struct sql_column *columns = sql_columns(result, &count);
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "columns");
    json_open(&json, '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&json, '{');
        json_put_text(&json, "name", text_of(columns[i].name));
        json_put_text(&json, "kind", text_of(kind_name(columns[i].kind)));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_key(&json, "rows");
    json_open(&json, '[');
    if (!put_rows(&json, result, limit, false, &is_cut, err))
        return false;
    json_close(&json, ']');
    json_key(&json, "truncated");
    json_bool(&json, is_cut);
    json_close(&json, '}');
    return true;
}

static bool answer_csv(struct sql_result *result, uint64_t limit, struct reply *reply,
                       struct error *err)
{
    uint64_t left = limit;
    reply->type = "text/csv; charset=utf-8";
    export_csv_titles(result, &reply->body);
    for (size_t rows = 1; rows > 0 && left > 0;) {
        if (!sql_next(result, &rows, err))
            return false;
        size_t taken = rows < left ? rows : left;
        export_csv_rows(result, taken, &reply->body);
        left -= taken;
        if (reply->body.size > LARGEST_ANSWER)
            return error_set(err, "the answer is over %d MB; add a LIMIT, or export the table",
                             LARGEST_ANSWER >> 20);
    }
    return true;
}

static void run_query(struct request *request, struct reply *reply, struct opened *opened,
                      const char *query, uint64_t limit, bool is_csv)
{
    struct asking asking;
    struct sql_result *result;
    struct error err;
    if (!asking_begin(&asking, opened, request, QUERY_LIMIT_S, reply))
        return;
    if (!sql_query(&result, asking.connection, query, &err) ||
        !(is_csv ? answer_csv : answer_json)(result, limit, reply, &err)) {
        reply->body.size = 0;
        asking_failed(&asking, reply, false, &err);
    }
    sql_free(result);
    asking_end(&asking);
}

void post_sql(struct request *request, struct reply *reply)
{
    struct opened *opened = open_profile(request, reply);
    char *query = NULL, *format = NULL;
    uint64_t limit = USUAL_ROWS;
    if (opened && body_check(request, reply) && body_text(request, reply, "query", &query) &&
        body_text(request, reply, "format", &format) &&
        body_number(request, reply, "limit", MOST_ROWS, &limit)) {
        bool is_csv = format && strcmp(format, "csv") == 0;
        if (!query)
            reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"query\" must be there: a SELECT");
        else if (format && !is_csv && strcmp(format, "json") != 0)
            reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"format\" is \"json\" or \"csv\"");
        else
            run_query(request, reply, opened, query, limit, is_csv);
    }
    mem_free(query);
    mem_free(format);
    close_profile(opened);
}

/* A query's rows under "data", as Neuron Explorer's clients expect them. */
static void answer_data(struct request *request, struct reply *reply, struct opened *opened,
                        const char *query, bool is_ours)
{
    struct asking asking;
    struct sql_result *result;
    struct error err;
    bool is_cut;
    if (!asking_begin(&asking, opened, request, QUERY_LIMIT_S, reply))
        return;
    bool ok = sql_query(&result, asking.connection, query, &err);
    if (ok) {
        struct json json = reply_json(reply);
        json_open(&json, '{');
        json_key(&json, "data");
        json_open(&json, '[');
        ok = put_rows(&json, result, USUAL_ROWS, true, &is_cut, &err);
        if (ok) {
            json_close(&json, ']');
            json_close(&json, '}');
        }
    }
    if (!ok)
        asking_failed(&asking, reply, is_ours, &err);
    sql_free(result);
    asking_end(&asking);
}

static void answer_schema(struct request *request, struct reply *reply, struct opened *opened,
                          const char *table)
{
    struct output sql;
    if (!table || !find_schema(text_of(table)) || !has_table(opened, table)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "there is no table '%s'", table ? table : "");
        return;
    }
    output_memory(&sql);
    output_text(&sql, "SELECT field_name, field_type, field_required, field_unit, "
                      "field_description, field_example FROM SchemaFields WHERE table_name = ");
    put_sql_text(&sql, text_of(table));
    output_char(&sql, '\0');
    answer_data(request, reply, opened, sql.data, true);
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
    struct opened *opened = open_profile(request, reply);
    char *type = NULL, *query = NULL, *table = NULL;
    if (opened && body_check(request, reply) && body_text(request, reply, "type", &type) &&
        body_text(request, reply, "query", &query) &&
        body_text(request, reply, "tableName", &table)) {
        if (type && strcmp(type, "databaseExplorerQuery") == 0 && query)
            answer_data(request, reply, opened, query, false);
        else if (type && strcmp(type, "tableSchema") == 0)
            answer_schema(request, reply, opened, table);
        else if (type && strcmp(type, "listDbFiles") == 0)
            answer_files(reply, opened);
        else
            reply_error(reply, MHD_HTTP_BAD_REQUEST,
                        "\"type\" is databaseExplorerQuery, with a \"query\", tableSchema, with a "
                        "\"tableName\", or listDbFiles");
    }
    mem_free(type);
    mem_free(query);
    mem_free(table);
    close_profile(opened);
}
