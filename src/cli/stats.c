/*
 * kymo stats: summaries of a GPU profile, as users of Nsight Systems know them.
 */
#include "report/nsight/stats.h"
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

static int stats(int count, char **arguments);

const struct command command_stats = {
    .name = "stats",
    .summary = "Summarize GPU work: kernels, copies, API calls, NVTX ranges, launches, NCCL.",
    .about = "Prints the summaries that nsys stats prints, under the same names and with the same "
             "columns, and some more: by HLO operation, by operator of the framework, NCCL beside "
             "computation, gaps with their cause. PROFILE is a name in the workspace, a directory "
             "of Parquet files, or a capture of any format that kymo view reads. Without a REPORT, "
             "all summaries that have rows are printed; --help-reports lists all reports. "
             "REPORT:base prints kernels without namespaces, template arguments and parameters.\n\n"
             "Several reports are one object in JSON, with a member for each; in CSV the name of "
             "each is on a line before it, with an empty line between reports.",
    .usage = "[options] PROFILE|PATH [REPORT ...]",
    .examples =
        (const char *const[]){
            "gpt",
            "gpt cuda_gpu_kern_sum:base --timeunit us",
            "run.xplane.pb cuda_gpu_kern_sum cuda_api_sum",
            "trace.json.gz nvtx_gpu_proj_sum --format csv --output-file ranges.csv",
            "gpt gpu_gaps --limit 20",
            "gpt --format json | jq '.cuda_gpu_kern_sum[0]'",
            NULL,
        },
    .run = stats,
};

static const char *const formats[] = {"text", "csv", "json", NULL};
static const enum rows_kind format_kinds[] = {ROWS_TEXT, ROWS_CSV, ROWS_JSON};
static const char *const time_units[] = {"ns", "us", "ms", "s", NULL};

enum { MAX_REPORTS = 64, ROWS_OF_EACH = 15 };
#define NOT_GIVEN ULONG_MAX

struct stats_call {
    const char *format, *time_unit, *file, *data_path;
    unsigned long limit, jobs;
    bool lists_reports;
    struct report_choice choices[MAX_REPORTS];
    size_t choice_count;
};

static size_t index_of(const char *word, const char *const *words)
{
    size_t i = 0;
    while (strcmp(word, words[i]) != 0)
        i++;
    return i;
}

static int list_reports(void)
{
    static const char *const headings[] = {
        [REPORT_SUMMARY] = "summaries", [REPORT_TRACE] = "rows of single events"};
    for (enum report_kind kind = REPORT_SUMMARY; kind <= REPORT_TRACE; kind++) {
        printf("%s%s:\n", kind == REPORT_SUMMARY ? "" : "\n", headings[kind]);
        for (size_t i = 0; i < report_count; i++)
            if (reports[i].kind == kind)
                printf("  %-22s %s%s%s%s\n", reports[i].name, reports[i].about,
                       reports[i].alias ? " (also: " : "", reports[i].alias ? reports[i].alias : "",
                       reports[i].alias ? ")" : "");
    }
    return finish_printing();
}

static void explain(const struct report *report)
{
    log_warn("%s has no rows: %s", report->name, report->why);
}

static bool find_reports(struct stats_call *call, const char *const *words, size_t count)
{
    const char *names[MAX_REPORTS];
    for (size_t i = 0; i < report_count && i < MAX_REPORTS; i++)
        names[i] = reports[i].name;
    for (; call->choice_count < count; call->choice_count++) {
        const char *word = words[call->choice_count];
        if (report_find(&call->choices[call->choice_count], word))
            continue;
        fprintf(stderr, "%s stats: unknown report %s\n", program_name(), word);
        suggest(word, names, report_count, "");
        fprintf(stderr, "%s stats --help-reports lists the reports\n", program_name());
        return false;
    }
    return true;
}

static struct stats_options options_of(const struct stats_call *call)
{
    bool to_file = call->file && strcmp(call->file, "-") != 0;
    bool on_terminal = !to_file && isatty(STDOUT_FILENO);
    enum rows_kind format = format_kinds[index_of(call->format, formats)];
    bool is_cut = call->limit == NOT_GIVEN && format == ROWS_TEXT && call->choice_count == 0;
    unsigned long limit = is_cut ? ROWS_OF_EACH : call->limit == NOT_GIVEN ? 0 : call->limit;
    struct stats_options options = {.format = format,
                                    .unit = (enum time_unit)index_of(call->time_unit, time_units),
                                    .style = style_for(to_file, limit),
                                    .limit = limit,
                                    .notice = explain};
    options.style.digits = DIGITS_OF_UNITS;
    options.style.has_blank_nulls = true;
    if (!on_terminal && call->choice_count > 0)
        options.style.width = SIZE_MAX; /* no truncation of reports asked for by name */
    return options;
}

static bool write_reports(const void *context, struct sql_connection *connection,
                          const char *directory, struct output *out, struct error *err)
{
    const struct stats_call *call = context;
    struct stats_options options = options_of(call);
    size_t written = 0;
    (void)directory;
    bool ok =
        stats_write(connection, call->choices, call->choice_count, &options, out, &written, err);
    if (ok && written == 0)
        log_warn("no report has rows: the capture has no GPU work, API calls or annotations");
    return ok;
}

/* Names of reports are checked before the profile is looked for, so that a typo fails at once. */
static int stats(int count, char **arguments)
{
    struct stats_call call = {.format = formats[0], .time_unit = time_units[0], .limit = NOT_GIVEN};
    const struct option table[] = {
        {"help-reports", 0, OPTION_FLAG, &call.lists_reports, NULL, "list the reports", NULL},
        {"format", 0, OPTION_CHOICE, &call.format, "FORMAT", "output format (default: text)",
         formats},
        {"timeunit", 0, OPTION_CHOICE, &call.time_unit, "UNIT", "unit of times (default: ns)",
         time_units},
        {"limit", 0, OPTION_NUMBER, &call.limit, "N",
         "maximum rows of a report, 0 for all (default: all; 15 each as text if no report is "
         "named)",
         NULL},
        ANSWER_OPTIONS(call),
    };
    const char *operands[MAX_REPORTS + 1];
    size_t operand_count;
    int result = options_read(&command_stats, table, sizeof table / sizeof *table, count, arguments,
                              operands, MAX_REPORTS + 1, &operand_count);
    if (result != EXIT_DONE)
        return result;
    if (call.lists_reports)
        return list_reports();
    if (operand_count == 0) {
        fprintf(stderr, "%s stats: missing argument: a profile or a capture\n", program_name());
        return EXIT_USAGE;
    }
    if (!find_reports(&call, operands + 1, operand_count - 1))
        return EXIT_USAGE;
    return on_profile(&(struct profile_call){.place = operands[0],
                                             .data_path = call.data_path,
                                             .file = call.file,
                                             .jobs = call.jobs,
                                             .run = write_reports,
                                             .context = &call});
}
