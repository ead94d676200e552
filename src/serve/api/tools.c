/*
 * GET tools: the list, also of a profile, and one of them as JSON, CSV, text or as XProf's server
 * answers.
 */
#include "report/xprof/tools.h"
#include "serve/api/handlers.h"

static const struct {
    const char *name, *type;
} formats[] = {
    [TOOL_TEXT] = {"text", "text/plain; charset=utf-8"},
    [TOOL_CSV] = {"csv", "text/csv; charset=utf-8"},
    [TOOL_JSON] = {"json", "application/json"},
    [TOOL_GVIZ] = {"gviz", "application/json"},
};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

/* `is_empty` is NULL, and left out, where no profile is asked about. */
static void put_tool(struct json *json, const struct xprof_tool *tool, const bool *is_empty)
{
    const char *why = tool_why(tool);
    json_open(json, '{');
    json_put_text(json, "name", text_of(tool_name(tool)));
    json_put_text(json, "about", text_of(tool_about(tool)));
    json_put_text(json, "why", text_of(why ? why : ""));
    if (is_empty) {
        json_key(json, "is_empty");
        json_bool(json, *is_empty);
    }
    json_key(json, "tables");
    json_open(json, '[');
    for (size_t table = 0; tool_table(tool, table); table++)
        json_text(json, text_of(tool_table(tool, table)));
    json_close(json, ']');
    json_close(json, '}');
}

static void put_tools(struct reply *reply, const bool *are_empty)
{
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "tools");
    json_open(&json, '[');
    for (size_t i = 0; i < xprof_tool_count; i++)
        put_tool(&json, xprof_tools[i], are_empty ? &are_empty[i] : NULL);
    json_close(&json, ']');
    json_close(&json, '}');
}

void list_tools(struct request *request, struct reply *reply)
{
    (void)request;
    put_tools(reply, NULL);
}

void list_profile_tools(struct request *request, struct reply *reply)
{
    struct profile_query query;
    struct error err;
    if (!profile_query_begin(&query, request->subject->opened, request, QUERY_SEARCH, reply))
        return;
    bool *are_empty = mem_zeroed(xprof_tool_count, sizeof *are_empty);
    if (tools_find_empty(query.connection, are_empty, &err))
        put_tools(reply, are_empty);
    else
        profile_query_failed(&query, reply, &err);
    mem_free(are_empty);
    profile_query_end(&query);
}

static bool read_format(const struct request *request, struct reply *reply,
                        enum tool_format *format)
{
    const char *word = request_argument(request, "format");
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(word ? word : "json", formats[i].name) == 0) {
            *format = (enum tool_format)i;
            return true;
        }
    reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"format\" must be json, csv, text or gviz");
    return false;
}

static bool has_table_named(const struct xprof_tool *tool, const char *name)
{
    for (size_t i = 0; tool_table(tool, i); i++)
        if (strcmp(tool_table(tool, i), name) == 0)
            return true;
    return false;
}

/* Answers before the query are limited, as rows are made in memory. */
static bool read_options(const struct request *request, struct reply *reply,
                         const struct xprof_tool *tool, struct tool_options *options)
{
    uint64_t width = 0, first = 0;
    options->limit = TOOL_MAX_ROWS;
    options->host = request_argument(request, "host");
    options->table = request_argument(request, "table");
    options->module = request_argument(request, "module");
    options->op = request_argument(request, "op");
    if (!tool_grouping(request_argument(request, "group_by"), &options->group_by)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "unknown \"group_by\"");
        return false;
    }
    if (!read_format(request, reply, &options->format) ||
        !request_number(request, reply, "limit", TOOL_MAX_ROWS, &options->limit) ||
        !request_number(request, reply, "memory_space", UINT32_MAX, &options->memory_space) ||
        !request_number(request, reply, "width", TOOL_MAX_WIDTH, &width) ||
        !request_number(request, reply, "first", UINT32_MAX, &first))
        return false;
    options->width = (uint32_t)width;
    options->has_first = request_argument(request, "first") != NULL;
    options->first = (uint32_t)first;
    if (options->limit == 0)
        options->limit = TOOL_MAX_ROWS;
    options->style = (struct text_style){
        .width = SIZE_MAX, .top = options->limit, .digits = DIGITS_OF_ALL, .has_blank_nulls = true};
    if (options->table && !has_table_named(tool, options->table)) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "%s has no table '%s'", tool_name(tool),
                    options->table);
        return false;
    }
    return true;
}

void get_tool(struct request *request, struct reply *reply)
{
    const struct xprof_tool *tool = tool_find(request->parameters[1]);
    struct tool_options options = {0};
    struct profile_query query;
    struct error err;
    if (!tool) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "no tool '%s'", request->parameters[1]);
        return;
    }
    if (!read_options(request, reply, tool, &options))
        return;
    struct opened *opened = request->subject->opened;
    if (profile_query_begin(&query, opened, request, QUERY_SEARCH, reply)) {
        reply->type = formats[options.format].type;
        options.directory = opened_directory(opened);
        if (!tool_write(tool, query.connection, &options, &reply->body, &err))
            profile_query_failed(&query, reply, &err);
        profile_query_end(&query);
    }
}
