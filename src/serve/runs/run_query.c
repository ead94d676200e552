/*
 * Queries on the results of a run, and their rows as JSON.
 */
#include "serve/runs/run_query.h"

#include <stdlib.h>

bool run_query_begin(struct run_query *query, struct request *request, struct reply *reply)
{
    const struct fleet_run *run = query->run = &request->subject->run;
    query->directory = fleet_run_results(request->server->fleet_runs, run, reply);
    if (!query->directory)
        return false;
    char *name = path_format("%s/%s", run->path, run->name);
    query->opened = open_results(request, name, query->directory, reply);
    mem_free(name);
    if (query->opened &&
        profile_query_begin(&query->query, query->opened, request, QUERY_SEARCH, reply))
        return true;
    close_profile(query->opened);
    mem_free(query->directory);
    return false;
}

void run_query_end(struct run_query *query)
{
    profile_query_end(&query->query);
    close_profile(query->opened);
    mem_free(query->directory);
}

void put_values(struct json *json, const struct sql_result *result, size_t row)
{
    size_t columns;
    const struct sql_column *column = sql_columns(result, &columns);
    for (size_t i = 0; i < columns; i++) {
        struct text value = sql_value(result, row, i);
        json_key(json, column[i].name);
        if (!value.data)
            json_null(json);
        else if (column[i].kind == SQL_NUMBER || column[i].kind == SQL_BOOLEAN)
            json_raw(json, value);
        else
            json_text(json, value);
    }
}

bool put_rows(struct run_query *query, struct json *json, const char *key, struct output *sql,
              struct reply *reply)
{
    bool ok = true;
    struct sql_result *result = profile_query_run(&query->query, sql, reply);
    if (!result)
        return false;
    json_key(json, key);
    json_open(json, '[');
    for (size_t rows; (rows = profile_query_next(&query->query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < rows; row++) {
            json_open(json, '{');
            put_values(json, result, row);
            json_close(json, '}');
        }
    json_close(json, ']');
    sql_free(result);
    return ok;
}

bool put_filled(struct run_query *query, struct json *json, const char *key, const char *sql,
                const struct sql_blank *blanks, size_t count, struct reply *reply)
{
    struct output filled;
    output_memory(&filled);
    sql_fill(&filled, sql, blanks, count);
    bool ok = put_rows(query, json, key, &filled, reply);
    output_discard(&filled);
    return ok;
}

bool read_step(const struct request *request, struct reply *reply, uint64_t *step)
{
    const char *text = request->parameters[2];
    char *end;
    *step = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && *step <= INT64_MAX)
        return true;
    reply_error(reply, MHD_HTTP_NOT_FOUND, "no step '%s'", text);
    return false;
}
