/*
 * kymo diff: what changed between two profiles, or two runs of many ranks.
 */
#include "report/compare/diff.h"
#include "cli/on_diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int diff(int count, char **arguments);

const struct command command_diff = {
    .name = "diff",
    .summary = "Compare two profiles or runs: steps, operators, kernels, collectives, ranks.",
    .about =
        "Shows what changed from profile A to profile B and what explains the change in step "
        "time. A and B are names in the workspace, directories of Parquet files, or captures of "
        "any format that kymo view reads; or both are runs of many ranks, DATASET/RUN, or DATASET "
        "if it has one run (kymo fleet list lists them). Times are means per step and device if "
        "both have steps, excluding warm-up steps, otherwise sums over the captures. A "
        "change counts if it is significant over the steps (Mann-Whitney U test; Welch's t-test "
        "for fewer than eight steps), corrected for the number of rows (Benjamini-Hochberg, "
        "5 %).\n\n"
        "Rows are matched by name, layer and shape; those left over without their shapes, then "
        "by names without template arguments, hashes and tuning suffixes.\n\n"
        "For runs, times are means over the devices of all ranks. Ranks and machines are compared "
        "by how much longer than the median rank they take for their own work. A change must also "
        "exceed the difference between equal runs: 1 %, for ranks 2 %.\n\n"
        "With --fail-above the exit status is 1 if the step time of B is significantly longer "
        "than that of A by more than PERCENT, or if that cannot be decided because one of them has "
        "too few steps; otherwise 0.",
    .usage = "[options] PROFILE|PATH|DATASET/RUN PROFILE|PATH|DATASET/RUN",
    .examples =
        (const char *const[]){
            "before after",
            "before.xplane.pb after.xplane.pb --by kernels --top 20",
            "base.json.gz test.json.gz --format markdown --output-file change.md",
            "nightly.json.gz today.json.gz --fail-above 3",
            "before after --format json | jq '.step_time.ratio'",
            "runs/monday runs/tuesday",
            "runs/monday runs/tuesday --by ranks --top 20",
            "monday tuesday/night --fail-above 2 --format markdown",
            NULL,
        },
    .run = diff,
};

static const char *const formats[] = {"text", "json", "csv", "markdown", NULL};
enum { ROWS_OF_EACH = 10 };
#define NOT_GIVEN ULONG_MAX

struct diff_call {
    const char *format, *by, *file, *data_path, *fail_above;
    unsigned long top, jobs;
    double fail_percent; /* NAN: never */
};

static size_t index_of(const char *word, const char *const *words)
{
    size_t i = 0;
    while (words[i] && strcmp(word, words[i]) != 0)
        i++;
    return i;
}

static bool read_percent(struct diff_call *call)
{
    char *end;
    call->fail_percent = NAN;
    if (!call->fail_above)
        return true;
    call->fail_percent = strtod(call->fail_above, &end);
    if (end != call->fail_above && *end == '\0' && call->fail_percent >= 0 &&
        isfinite(call->fail_percent))
        return true;
    fprintf(stderr, "%s diff: --fail-above needs a percentage, not %s\n", program_name(),
            call->fail_above);
    return false;
}

static int write_diff(const struct diff_call *call, const struct diff *result)
{
    bool to_file = call->file && strcmp(call->file, "-") != 0;
    enum diff_format format = (enum diff_format)index_of(call->format, formats);
    bool is_for_people = format == DIFF_TEXT || format == DIFF_MARKDOWN;
    unsigned long top = call->top != NOT_GIVEN ? call->top : is_for_people ? ROWS_OF_EACH : 0;
    struct diff_options options = {
        .format = format,
        .kind = call->by ? (enum diff_kind)index_of(call->by, diff_kind_names) : DIFF_KINDS,
        .top = top,
        .style = style_for(to_file, top)};
    struct output out;
    struct error err;
    bool ok = output_open(&out, call->file, &err);
    if (ok) {
        diff_write(result, &options, &out);
        ok = output_commit(&out, &err);
    }
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* The exit code that --fail-above asks for. */
static int judge(const struct diff_call *call, const struct diff *result)
{
    struct diff_step_change change = diff_step_change(result);
    if (isnan(call->fail_percent))
        return EXIT_DONE;
    if (change.verdict == DIFF_UNKNOWN) {
        log_error("--fail-above: too few steps to tell whether the step time changed");
        return EXIT_FAILED;
    }
    if (change.verdict == DIFF_NOT_SIGNIFICANT || change.percent <= call->fail_percent)
        return EXIT_DONE;
    log_error("the step time is %.1f %% longer, more than %g %%", change.percent,
              call->fail_percent);
    return EXIT_FAILED;
}

static int write_and_judge(const void *context, const struct diff *result)
{
    const struct diff_call *call = context;
    int written = write_diff(call, result);
    return written == EXIT_DONE ? judge(call, result) : written;
}

/* Exit codes are an interface here: scripts depend on --fail-above. */
static int diff(int count, char **arguments)
{
    struct diff_call call = {.format = formats[0], .top = NOT_GIVEN};
    const struct option table[] = {
        {"by", 0, OPTION_CHOICE, &call.by, "KIND", "rows of this kind only (default: all kinds)",
         diff_kind_names},
        {"top", 0, OPTION_NUMBER, &call.top, "N",
         "rows of each kind and change, 0 for all (default: 10 as text and Markdown, else all)",
         NULL},
        {"format", 0, OPTION_CHOICE, &call.format, "FORMAT", "output format (default: text)",
         formats},
        {"fail-above", 0, OPTION_TEXT, &call.fail_above, "PERCENT",
         "exit status 1 if the step time is significantly longer by more than this", NULL},
        ANSWER_OPTIONS(call),
    };
    const char *operands[2];
    size_t operand_count;
    int result = options_read(&command_diff, table, sizeof table / sizeof *table, count, arguments,
                              operands, 2, &operand_count);
    if (result != EXIT_DONE)
        return result;
    if (operand_count != 2) {
        fprintf(stderr, "%s diff: missing argument: two profiles, captures or runs\n",
                program_name());
        return EXIT_USAGE;
    }
    if (!read_percent(&call))
        return EXIT_USAGE;
    return on_diff(&(struct diff_of_two){.places = {operands[0], operands[1]},
                                         .data_path = call.data_path,
                                         .jobs = call.jobs,
                                         .kinds = DIFF_ALL_KINDS,
                                         .run = write_and_judge,
                                         .context = &call});
}
