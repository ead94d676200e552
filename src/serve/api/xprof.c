/*
 * The routes of XProf's server, for programs that ask it: runs of a log directory, their tools,
 * hosts and data. Runs are processed when they are first asked for.
 */
#include "report/xprof/tools.h"
#include "serve/api/handlers.h"
#include "serve/runs/log_runs.h"

#include <stdlib.h>

static const struct text all_hosts = TEXT("ALL_HOSTS");
#define TRACE_VIEWER "trace_viewer@" /* the timeline, which is not among the tools of tables */

static int by_name_descending(const void *left, const void *right)
{
    char *const *a = left, *const *b = right;
    return strcmp(*b, *a);
}

static char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return mem_copy_text(name, strlen(name));
}

/* Descending: runs are usually named by their time, so that the newest comes first. With a session
 * path, runs are named by the last part of their path, as XProf does. */
void plugin_runs(struct request *request, struct reply *reply)
{
    const char *path = request_argument(request, "session_path");
    if (!run_paths_check(request, reply))
        return;
    run_list runs = runs_list(request->server);
    ARRAY(char *) names = {0};
    const struct run *run;
    char **name;
    array_each (run, &runs)
        if (!path)
            *array_push(&names) = run_xprof_name(request->server, run);
        else if (run_is_at(run, path))
            *array_push(&names) = last_part(run->path);
    if (names.count > 0)
        qsort(names.items, names.count, sizeof *names.items, by_name_descending);
    struct json json = reply_json(reply);
    json_open(&json, '[');
    array_each (name, &names) {
        json_text(&json, text_of(*name));
        mem_free(*name);
    }
    json_close(&json, ']');
    array_free(&names);
    runs_free(&runs);
}

/* A query on the profile of a run, which is processed if need be. */
struct plugin_query {
    struct opened *opened;
    struct profile_query query;
};

static bool plugin_begin(struct plugin_query *plugin, struct request *request, struct reply *reply)
{
    if (!subject_make_ready(request, reply))
        return false;
    plugin->opened = request->subject->opened;
    return profile_query_begin(&plugin->query, plugin->opened, request, QUERY_SEARCH, reply);
}

static void plugin_end(struct plugin_query *plugin)
{
    profile_query_end(&plugin->query);
}

/* Texts that a query of one column answers with. */
typedef ARRAY(char *) text_array;
static bool ask_texts(struct plugin_query *plugin, struct reply *reply, const char *query,
                      text_array *texts)
{
    struct output sql;
    bool ok = true;
    output_memory(&sql);
    output_text(&sql, query);
    struct sql_result *result = profile_query_run(&plugin->query, &sql, reply);
    for (size_t rows;
         result && (rows = profile_query_next(&plugin->query, result, reply, &ok)) > 0;)
        for (size_t row = 0; row < rows; row++) {
            struct text value = sql_value(result, row, 0);
            *array_push(texts) = mem_copy_text(value.data, value.size);
        }
    ok = ok && result;
    sql_free(result);
    output_discard(&sql);
    return ok;
}

static void free_texts(text_array *texts)
{
    char **text;
    array_each (text, texts)
        mem_free(*text);
    array_free(texts);
}

/* Whether a run has what a tool shows, as XProf decides it. */
static bool is_offered(const struct opened *opened, const char *tool)
{
    static const struct {
        const char *tool, *table;
    } needs[] = {{"kernel_stats", "GpuKernel"},  {"memory_viewer", "HloModule"},
                 {"graph_viewer", "HloModule"},  {"perf_counters", "CounterSample"},
                 {"inference_profile", NULL},    {"megascale_stats", NULL},
                 {"collective_stats", NULL}, /* not one of XProf's */
                 {"pod_viewer", "StepBreakdown"}};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (strcmp(tool, needs[i].tool) == 0)
            return needs[i].table && has_table(opened, needs[i].table);
    return true;
}

void plugin_run_tools(struct request *request, struct reply *reply)
{
    struct plugin_query plugin;
    if (!plugin_begin(&plugin, request, reply))
        return;
    struct json json = reply_json(reply);
    json_open(&json, '[');
    for (size_t i = 0; i < xprof_tool_count; i++) {
        if (i == 1) /* XProf's order */
            json_text(&json, TEXT(TRACE_VIEWER));
        if (is_offered(plugin.opened, tool_name(xprof_tools[i])))
            json_text(&json, text_of(tool_name(xprof_tools[i])));
    }
    json_close(&json, ']');
    plugin_end(&plugin);
}

static void put_host(struct json *json, struct text name)
{
    json_open(json, '{');
    json_put_text(json, "hostname", name);
    json_close(json, '}');
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; word && *words; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* XProf offers "all hosts" for some tools and nothing else for others; both only where a run has
 * several hosts. */
void plugin_hosts(struct request *request, struct reply *reply)
{
    static const char *const for_all[] = {"input_pipeline_analyzer", "framework_op_stats",
                                          "kernel_stats", "megascale_stats", NULL};
    static const char *const only_for_all[] = {"overview_page", "pod_viewer", NULL};
    const char *tool = request_argument(request, "tag");
    struct plugin_query plugin;
    text_array hosts = {0};
    if (!plugin_begin(&plugin, request, reply))
        return;
    if (ask_texts(&plugin, reply, "SELECT DISTINCT instance_id FROM Track ORDER BY 1", &hosts)) {
        struct json json = reply_json(reply);
        bool is_only = hosts.count > 1 && is_one_of(tool, only_for_all);
        char **host;
        json_open(&json, '[');
        if (hosts.count > 1 && (is_only || is_one_of(tool, for_all)))
            put_host(&json, all_hosts);
        array_each (host, &hosts)
            if (!is_only)
                put_host(&json, text_of(*host));
        json_close(&json, ']');
    }
    free_texts(&hosts);
    plugin_end(&plugin);
}

void plugin_modules(struct request *request, struct reply *reply)
{
    struct plugin_query plugin;
    text_array labels = {0};
    if (!plugin_begin(&plugin, request, reply))
        return;
    bool ok = !has_table(plugin.opened, "HloModule") ||
              ask_texts(&plugin, reply, "SELECT DISTINCT label FROM HloModule ORDER BY 1", &labels);
    for (size_t i = 0; ok && i < labels.count; i++)
        output_format(&reply->body, "%s%s", i ? "," : "", labels.items[i]);
    if (ok)
        reply->type = "text/plain; charset=utf-8";
    free_texts(&labels);
    plugin_end(&plugin);
}

/* What XProf's server can do beyond this one is refused. */
static bool check_arguments(const struct request *request, struct reply *reply)
{
    static const struct {
        const char *name, *words;
    } refused[] = {
        {"view_memory_allocation_timeline",
         "a module's memory over time is not available as a page"},
        {"perfetto", "kymo view --output-format perfetto writes that"},
        {"names_only", "names of counters are those of the run"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *value = request_argument(request, refused[i].name);
        if (value && *value && strcmp(value, "false") != 0 && strcmp(value, "0") != 0) {
            reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"%s\" is not supported: %s", refused[i].name,
                        refused[i].words);
            return false;
        }
    }
    return true;
}

/* What a graph is to be answered with: its type, and for a drawing its form. */
static bool read_graph(const struct request *request, struct reply *reply,
                       struct tool_options *options)
{
    static const struct {
        const char *name;
        enum tool_format format;
        enum tool_graph graph;
        bool is_long;
    } types[] = {
        {"graph", TOOL_GVIZ, TOOL_GRAPH_NEAR, false},
        {"adj_nodes", TOOL_GVIZ, TOOL_GRAPH_NEIGHBORS, false},
        {"short_txt", TOOL_TEXT, TOOL_GRAPH_NEAR, false},
        {"long_txt", TOOL_TEXT, TOOL_GRAPH_NEAR, true},
        {"pb", TOOL_GVIZ, TOOL_GRAPH_PROTO, false},
    };
    const char *type = request_argument(request, "type");
    const char *form = request_argument(request, "format");
    size_t i = 0, count = type && *type ? sizeof types / sizeof *types : 1;
    while (count > 1 && i < count && strcmp(types[i].name, type) != 0)
        i++;
    if (i == count) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST,
                    "\"type\" must be graph, adj_nodes, short_txt, long_txt or pb");
        return false;
    }
    if (i == 0 && form && *form && strcmp(form, "dot") != 0) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"format\" of a graph must be dot");
        return false;
    }
    options->format = types[i].format;
    options->graph = types[i].graph;
    options->has_long_text = types[i].is_long;
    options->limit = options->format == TOOL_TEXT ? 0 : TOOL_MAX_ROWS;
    options->op = options->format == TOOL_TEXT ? NULL : request_argument(request, "node_name");
    return true;
}

static bool is_true(const struct request *request, const char *name)
{
    const char *value = request_argument(request, name);
    return value && strcmp(value, "true") == 0;
}

enum { XPROF_GRAPH_WIDTH = 3 };

/* Arguments as XProf names them. */
static bool read_plugin_options(const struct request *request, struct reply *reply, bool is_graph,
                                struct tool_options *options)
{
    const char *host = request_argument(request, "host");
    const char *module = request_argument(request, "module_name");
    uint64_t width = XPROF_GRAPH_WIDTH;
    if (!host)
        host = request_argument(request, "hosts");
    bool is_all = !host || !*host || strcmp(host, all_hosts.data) == 0 || strchr(host, ',');
    *options = (struct tool_options){
        .format = TOOL_GVIZ,
        .host = is_all ? NULL : host,
        .limit = TOOL_MAX_ROWS,
        .module = module && *module ? module : request_argument(request, "program_id"),
        .has_bodies = !is_true(request, "merge_fusion"),
        .has_metadata = is_true(request, "show_metadata"),
        .style = {.width = SIZE_MAX}};
    if (!tool_grouping(request_argument(request, "group_by"), &options->group_by)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "unknown \"group_by\"");
        return false;
    }
    if (!check_arguments(request, reply) || (is_graph && !read_graph(request, reply, options)))
        return false;
    if (!request_number(request, reply, "memory_space", UINT32_MAX, &options->memory_space) ||
        !request_number(request, reply, "graph_width", TOOL_MAX_WIDTH, &width))
        return false;
    options->width = (uint32_t)width;
    return true;
}

typedef bool tool_writer(const struct xprof_tool *tool, struct sql_connection *connection,
                         const struct tool_options *options, struct output *out, struct error *err);

/* Arguments are checked before the run is processed, which may take minutes. Only a graph is not
 * JSON or CSV, unless it is the list of neighbors. */
static void answer(struct request *request, struct reply *reply, tool_writer *write,
                   const char *type)
{
    const char *name = request_argument(request, "tag");
    const struct xprof_tool *tool = name ? tool_find(name) : NULL;
    struct plugin_query plugin;
    struct tool_options options;
    struct error err;
    if (!tool) {
        reply_error(reply, MHD_HTTP_NOT_FOUND, "no data for '%s'", name ? name : "");
        return;
    }
    bool is_graph = strcmp(name, "graph_viewer") == 0;
    if (!read_plugin_options(request, reply, is_graph, &options) ||
        !plugin_begin(&plugin, request, reply))
        return;
    bool is_json = !is_graph || options.graph == TOOL_GRAPH_NEIGHBORS;
    options.directory = opened_directory(plugin.opened);
    reply->type = is_json                             ? type
                  : options.graph == TOOL_GRAPH_PROTO ? "application/octet-stream"
                                                      : "text/plain; charset=utf-8";
    if (!write(tool, plugin.query.connection, &options, &reply->body, &err))
        profile_query_failed(&plugin.query, reply, &err);
    plugin_end(&plugin);
}

static bool is_trace_viewer(const char *name)
{
    return name && (strcmp(name, TRACE_VIEWER) == 0 || strcmp(name, "trace_viewer") == 0);
}

void plugin_data(struct request *request, struct reply *reply)
{
    if (is_trace_viewer(request_argument(request, "tag")))
        plugin_trace(request, reply);
    else
        answer(request, reply, tool_write, "application/json");
}

void plugin_csv(struct request *request, struct reply *reply)
{
    const char *name = request_argument(request, "tag");
    const struct xprof_tool *tool = name ? tool_find(name) : NULL;
    if (tool && !tool_has_xprof_table(tool)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "%s is not a table", name);
        return;
    }
    answer(request, reply, tool_write_xprof_csv, "text/csv; charset=utf-8");
}

void plugin_config(struct request *request, struct reply *reply)
{
    const struct serve_options *options = request->server->options;
    struct json json = reply_json(reply);
    json_open(&json, '{');
    json_key(&json, "hideCaptureProfileButton");
    json_bool(&json, !captures_are_allowed(request->server));
    json_put_text(&json, "srcPathPrefix",
                  text_of(options->source_root ? options->source_root : ""));
    json_key(&json, "enableTabNameLabel");
    json_bool(&json, false);
    json_close(&json, '}');
}

void plugin_version(struct request *request, struct reply *reply)
{
    reply->type = "text/plain; charset=utf-8";
    output_format(&reply->body, "kymo %s", request->server->options->version);
}

/* Whether one of the tools of a list is known; the timeline is trace_viewer. */
static bool names_a_tool(const char *list)
{
    for (const char *at = list; *at;) {
        at += strspn(at, ", ");
        size_t size = strcspn(at, ", ");
        char *name = mem_copy_text(at, size);
        bool is_known = tool_find(name) || is_trace_viewer(name);
        mem_free(name);
        if (is_known)
            return true;
        at += size;
    }
    return false;
}

/* XProf keeps answers of single tools; here, tables that all of them are made from. */
void plugin_prepare(struct request *request, struct reply *reply)
{
    const char *tools = request_argument(request, "tools");
    if (tools && *tools && !names_a_tool(tools)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "\"tools\" names no tool that is known here");
    } else if (run_prepare(request, reply, request->subject->name)) {
        struct json json = reply_json(reply);
        reply->status = MHD_HTTP_ACCEPTED;
        json_open(&json, '{');
        json_put_text(&json, "status", TEXT("ACCEPTED"));
        json_put_text(&json, "message", TEXT("Cache generation started"));
        json_close(&json, '}');
    }
}
