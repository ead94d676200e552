/*
 * kymo tool: the analyses that users of XProf know.
 */
#include "cli/cli.h"
#include "report/xprof/tools.h"

#include <stdio.h>
#include <unistd.h>

static int tool(int count, char **arguments);

const struct command command_tool = {
    .name = "tool",
    .summary = "Show an analysis as XProf's tools do: operations, roofline, memory, kernels.",
    .about =
        "Prints what XProf's tool of the same name shows, for a capture of any format. PROFILE is "
        "a "
        "name in the workspace, a directory of Parquet files, or a capture that kymo view reads. "
        "Without NAME, the tools are listed.\n\n"
        "--format gviz writes what XProf's server answers for the tool, for programs that read "
        "it; csv and json have the same columns under XProf's ids, and some of Kymo's own. Where "
        "XProf's figures are wrong, docs/xprof-tools.md says how and what is shown instead.",
    .usage = "[options] [NAME PROFILE|PATH]",
    .examples =
        (const char *const[]){
            "overview_page gpt",
            "op_profile run.xplane.pb --group-by provenance --limit 5",
            "roofline_model gpt",
            "memory_profile gpt",
            "memory_viewer gpt --module jit_train_step",
            "graph_viewer gpt --op fusion.410 --width 2 --format gviz --output-file fusion.dot",
            "kernel_stats gpt --format csv --output-file kernels.csv",
            "memory_profile gpt --format gviz --output-file memory_profile.json",
            NULL,
        },
    .run = tool,
};

static const char *const formats[] = {"text", "csv", "json", "gviz", NULL};

enum { ROWS_OF_EACH = 25, MAX_WIDTH = 1000 };
#define NOT_GIVEN ULONG_MAX

struct tool_call {
    const struct xprof_tool *tool;
    const char *format, *host, *table, *group_by, *module, *op, *file, *data_path;
    unsigned long limit, jobs, width, first, memory_space;
};

static int list_tools(void)
{
    for (size_t i = 0; i < xprof_tool_count; i++)
        printf("  %-24s %s\n", tool_name(xprof_tools[i]), tool_about(xprof_tools[i]));
    return finish_printing();
}

static const struct xprof_tool *find_tool(const char *name)
{
    enum { MAX_TOOLS = 32 };
    const char *names[MAX_TOOLS];
    const struct xprof_tool *found = tool_find(name);
    for (size_t i = 0; i < xprof_tool_count && i < MAX_TOOLS; i++)
        names[i] = tool_name(xprof_tools[i]);
    if (!found) {
        fprintf(stderr, "%s tool: unknown tool %s\n", program_name(), name);
        suggest(name, names, xprof_tool_count, "");
        fprintf(stderr, "%s tool lists the tools\n", program_name());
    }
    return found;
}

static void explain(void *context, const char *sentence)
{
    const struct tool_call *call = context;
    log_warn("%s has nothing to show: %s", tool_name(call->tool), sentence);
}

/* Run by on_profile with the tables open. Text has a few rows by default, and on a terminal is cut
 * to its width. */
static bool write_tool(const void *context, struct sql_connection *connection,
                       const char *directory, struct output *out, struct error *err)
{
    const struct tool_call *call = context;
    bool to_file = call->file && strcmp(call->file, "-") != 0;
    size_t format = 0;
    while (strcmp(call->format, formats[format]) != 0)
        format++;
    unsigned long usual = format == TOOL_TEXT ? ROWS_OF_EACH : 0;
    unsigned long limit = call->limit == NOT_GIVEN ? usual : call->limit;
    struct tool_call notice = *call;
    struct tool_options options = {.format = (enum tool_format)format,
                                   .host = call->host,
                                   .table = call->table,
                                   .group_by = call->group_by ? call->group_by : tool_groupings[0],
                                   .module = call->module,
                                   .op = call->op,
                                   .width = (uint32_t)call->width,
                                   .has_first = call->first != NOT_GIVEN,
                                   .first = call->first == NOT_GIVEN ? 0 : (uint32_t)call->first,
                                   .memory_space = call->memory_space,
                                   .directory = directory,
                                   .limit = limit,
                                   .style = style_for(to_file, limit),
                                   .notice = explain,
                                   .context = &notice};
    options.style.digits = DIGITS_OF_ALL;
    options.style.has_blank_nulls = true;
    if (to_file || !isatty(STDOUT_FILENO))
        options.style.width = SIZE_MAX;
    return tool_write(call->tool, connection, &options, out, err);
}

/* Options of some tools are refused for the others. */
static bool check_options(const struct tool_call *call)
{
    const struct {
        bool is_given;
        enum tool_option option;
        const char *words;
    } options[] = {
        {call->group_by != NULL, TOOL_GROUP_BY, "--group-by is for op_profile"},
        {call->module != NULL, TOOL_MODULE, "--module is for memory_viewer and graph_viewer"},
        {call->op != NULL, TOOL_OP, "--op is for graph_viewer"},
        {call->width > 0, TOOL_OP, "--width is for graph_viewer"},
        {call->first != NOT_GIVEN, TOOL_OP, "--first is for graph_viewer"},
        {call->memory_space != NOT_GIVEN, TOOL_MEMORY_SPACE, "--memory-space is for memory_viewer"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].is_given && !tool_heeds(call->tool, options[i].option)) {
            fprintf(stderr, "%s tool: %s\n", program_name(), options[i].words);
            return false;
        }
    if (call->width > MAX_WIDTH) {
        fprintf(stderr, "%s tool: --width must be %d at most\n", program_name(), MAX_WIDTH);
        return false;
    }
    if (call->first != NOT_GIVEN && call->first > UINT32_MAX) {
        fprintf(stderr, "%s tool: --first must be %u at most\n", program_name(), UINT32_MAX);
        return false;
    }
    return true;
}

/* Without a name it lists the tools. Options are checked against the tool before anything is read.
 */
static int tool(int count, char **arguments)
{
    struct tool_call call = {
        .format = formats[0], .limit = NOT_GIVEN, .first = NOT_GIVEN, .memory_space = NOT_GIVEN};
    const struct option table[] = {
        {"format", 0, OPTION_CHOICE, &call.format, "FORMAT", "output format (default: text)",
         formats},
        {"group-by", 0, OPTION_CHOICE, &call.group_by, "LEVEL",
         "how op_profile groups operations (default: program)", tool_groupings},
        {"module", 0, OPTION_TEXT, &call.module, "NAME",
         "HLO module of memory_viewer and graph_viewer (default: the one that takes most time)",
         NULL},
        {"op", 0, OPTION_TEXT, &call.op, "NAME", "operation or computation of graph_viewer", NULL},
        {"width", 0, OPTION_NUMBER, &call.width, "N",
         "graph_viewer shows operations this far from --op (default: 1)", NULL},
        {"first", 0, OPTION_NUMBER, &call.first, "N",
         "first operation that graph_viewer shows of a computation with more than 1000", NULL},
        {"memory-space", 0, OPTION_NUMBER, &call.memory_space, "N",
         "memory of memory_viewer (default: 0, the device's main memory)", NULL},
        {"host", 0, OPTION_TEXT, &call.host, "NAME", "only this host (default: all)", NULL},
        {"table", 0, OPTION_TEXT, &call.table, "TABLE", "only this table (default: all)", NULL},
        {"limit", 0, OPTION_NUMBER, &call.limit, "N",
         "maximum rows of a table, 0 for all (default: 25 as text, else all)", NULL},
        ANSWER_OPTIONS(call),
    };
    const char *operands[2];
    size_t operand_count;
    int result = options_read(&command_tool, table, sizeof table / sizeof *table, count, arguments,
                              operands, 2, &operand_count);
    if (result != EXIT_DONE)
        return result;
    if (operand_count == 0)
        return list_tools();
    call.tool = find_tool(operands[0]);
    if (!call.tool)
        return EXIT_USAGE;
    if (operand_count == 1) {
        fprintf(stderr, "%s tool: missing argument: a profile or a capture\n", program_name());
        return EXIT_USAGE;
    }
    if (!check_options(&call))
        return EXIT_USAGE;
    if (call.memory_space == NOT_GIVEN)
        call.memory_space = 0;
    return on_profile(&(struct profile_call){.place = operands[1],
                                             .data_path = call.data_path,
                                             .file = call.file,
                                             .jobs = call.jobs,
                                             .run = write_tool,
                                             .context = &call});
}
