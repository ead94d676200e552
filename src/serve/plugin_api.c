/*
 * The routes of XProf's server, for programs that ask it: runs of a log directory, their tools,
 * hosts and data. Runs are processed when they are first asked for.
 */
#include "serve/handlers.h"
#include "serve/jobs.h"
#include "serve/open_profiles.h"
#include "tools/tools.h"

#include <stdlib.h>

static const struct text all_hosts = TEXT("ALL_HOSTS");

/* "a/plugins/profile/run" is "a/run" in XProf. */
static char *shown_name(const char *root, const struct run *run)
{
    static const char middle[] = "plugins/profile/";
    size_t size = strlen(root);
    const char *below = strncmp(run->path, root, size) == 0 ? run->path + size : run->name;
    below += strspn(below, "/");
    const char *at = strstr(below, middle);
    if (*below == '\0')
        return mem_copy_text(run->name, strlen(run->name));
    return at ? path_format("%.*s%s", (int)(at - below), below, at + strlen(middle))
              : mem_copy_text(below, strlen(below));
}

static int by_name_descending(const void *left, const void *right)
{
    char *const *a = left, *const *b = right;
    return strcmp(*b, *a);
}

void plugin_runs(struct request *request, struct reply *reply)
{
    const char *root = request->server->options->log_directory;
    run_list runs = runs_list(request->server);
    ARRAY(char *) names = {0};
    const struct run *run;
    char **name;
    array_each (run, &runs)
        *array_push(&names) = shown_name(root, run);
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

/* The profile of the run that was asked for; else one of that name. */
static char *find_profile(struct request *request, struct reply *reply)
{
    const char *root = request->server->options->log_directory;
    const char *wanted = request_argument(request, "run");
    if (!wanted) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "missing \"run\"");
        return NULL;
    }
    run_list runs = runs_list(request->server);
    char *found = NULL;
    const struct run *run;
    array_each (run, &runs) {
        char *name = shown_name(root, run);
        if (!found && (strcmp(name, wanted) == 0 || strcmp(run->name, wanted) == 0))
            found = mem_copy_text(run->name, strlen(run->name));
        mem_free(name);
    }
    runs_free(&runs);
    return found ? found : mem_copy_text(wanted, strlen(wanted));
}

/* A query on the profile of a run. */
struct plugin_query {
    char *name;
    struct opened *opened;
    struct profile_query query;
};

static bool plugin_begin(struct plugin_query *plugin, struct request *request, struct reply *reply)
{
    *plugin = (struct plugin_query){.name = find_profile(request, reply)};
    request->parameters[0] = plugin->name;
    if (plugin->name && run_make_ready(request, reply, plugin->name))
        plugin->opened = open_profile(request, reply);
    if (plugin->opened &&
        profile_query_begin(&plugin->query, plugin->opened, request, QUERY_SEARCH, reply))
        return true;
    close_profile(plugin->opened);
    mem_free(plugin->name);
    return false;
}

static void plugin_end(struct plugin_query *plugin)
{
    profile_query_end(&plugin->query);
    close_profile(plugin->opened);
    mem_free(plugin->name);
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
    for (size_t i = 0; i < xprof_tool_count; i++)
        if (is_offered(plugin.opened, tool_name(xprof_tools[i])))
            json_text(&json, text_of(tool_name(xprof_tools[i])));
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

/* Arguments as XProf names them. */
static bool read_plugin_options(const struct request *request, struct reply *reply,
                                struct tool_options *options)
{
    const char *host = request_argument(request, "host"), *type = request_argument(request, "type");
    const char *module = request_argument(request, "module_name");
    uint64_t width = 0;
    if (!host)
        host = request_argument(request, "hosts");
    bool is_all = !host || !*host || strcmp(host, all_hosts.data) == 0 || strchr(host, ',');
    bool is_text = type && (strcmp(type, "short_txt") == 0 || strcmp(type, "long_txt") == 0);
    *options = (struct tool_options){
        .format = is_text ? TOOL_TEXT : TOOL_GVIZ,
        .host = is_all ? NULL : host,
        .limit = is_text ? 0 : TOOL_MAX_ROWS,
        .module = module && *module ? module : request_argument(request, "program_id"),
        .op = is_text ? NULL : request_argument(request, "node_name"),
        .style = {.width = SIZE_MAX}};
    if (!tool_grouping(request_argument(request, "group_by"), &options->group_by)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "unknown \"group_by\"");
        return false;
    }
    if (!request_number(request, reply, "memory_space", UINT32_MAX, &options->memory_space) ||
        !request_number(request, reply, "graph_width", TOOL_MAX_WIDTH, &width))
        return false;
    options->width = (uint32_t)width;
    return true;
}

typedef bool tool_writer(const struct xprof_tool *tool, struct sql_connection *connection,
                         const struct tool_options *options, struct output *out, struct error *err);

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
    if (!read_plugin_options(request, reply, &options) || !plugin_begin(&plugin, request, reply))
        return;
    bool is_plain = options.format == TOOL_TEXT || strcmp(name, "graph_viewer") == 0;
    options.directory = opened_directory(plugin.opened);
    reply->type = is_plain ? "text/plain; charset=utf-8" : type;
    if (!write(tool, plugin.query.connection, &options, &reply->body, &err))
        profile_query_failed(&plugin.query, reply, &err);
    plugin_end(&plugin);
}

void plugin_data(struct request *request, struct reply *reply)
{
    answer(request, reply, tool_write, "application/json");
}

void plugin_csv(struct request *request, struct reply *reply)
{
    const char *name = request_argument(request, "tag");
    const struct xprof_tool *tool = name ? tool_find(name) : NULL;
    if (tool && !tool_has_xprof_table(tool)) {
        reply_error(reply, MHD_HTTP_BAD_REQUEST, "%s is no table", name);
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
    json_bool(&json, true);
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
