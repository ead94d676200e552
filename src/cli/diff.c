/*
 * kymo diff: what changed between two profiles.
 */
#include "diff/diff.h"
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int diff(int count, char **arguments);

const struct command command_diff = {
    .name = "diff",
    .summary = "Compare two profiles: steps, operators, kernels, collectives, memory.",
    .about =
        "Tells what changed from profile A to profile B and what explains the change of the step "
        "time. A and B are names in the workspace, directories of Parquet files, or captures of "
        "any format that kymo view reads. Times are means per step and device where both have "
        "steps, without steps of warming up at the start, otherwise sums over the captures. A "
        "change counts if it is significant over the steps (Mann-Whitney U test; Welch's t-test "
        "for fewer than eight steps), corrected for the number of rows (Benjamini-Hochberg, "
        "5 %).\n\n"
        "Rows are matched by name, layer and shape; those left over without their shapes, then "
        "by names without template arguments, hashes and tuning suffixes.\n\n"
        "With --fail-above the exit status is 1 if the step time of B is significantly longer "
        "than that of A by more than PERCENT, or if that cannot be told as a profile has too few "
        "steps; else 0.",
    .usage = "[options] PROFILE|PATH PROFILE|PATH",
    .examples =
        (const char *const[]){
            "before after",
            "before.xplane.pb after.xplane.pb --by kernels --top 20",
            "base.json.gz test.json.gz --format markdown --output-file change.md",
            "nightly.json.gz today.json.gz --fail-above 3",
            "before after --format json | jq '.step_time.ratio'",
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

/* One of the profiles, while its tables are read. */
struct reading {
    const char *name;
    struct diff_side *side;
};

static bool read_side(void *context, struct sql_connection *connection, const char *directory,
                      struct error *err)
{
    struct reading *reading = context;
    (void)directory;
    return diff_read(&reading->side, reading->name, connection, err);
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

static int compare(const struct diff_call *call, const char *const places[2])
{
    struct reading readings[2] = {{.name = places[0]}, {.name = places[1]}};
    int result = EXIT_DONE;
    for (size_t i = 0; i < 2 && result == EXIT_DONE; i++)
        result = on_tables(&(struct tables_call){.place = places[i],
                                                 .data_path = call->data_path,
                                                 .jobs = call->jobs,
                                                 .run = read_side,
                                                 .context = &readings[i]});
    if (result == EXIT_DONE) {
        struct diff *found = diff_compare(readings[0].side, readings[1].side);
        result = write_diff(call, found);
        result = result == EXIT_DONE ? judge(call, found) : result;
        diff_free(found);
    }
    diff_side_free(readings[0].side);
    diff_side_free(readings[1].side);
    return result;
}

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
        {"output-file", 0, OPTION_TEXT, &call.file, "FILE",
         "output file (default: standard output)", NULL},
        {"data-path", 0, OPTION_TEXT, &call.data_path, "DIR",
         "workspace directory (default: ~/.local/share/kymo)", NULL},
        LOG_LEVEL_OPTION,
        {"jobs", 'j', OPTION_NUMBER, &call.jobs, "N", "threads to use (default: all cores)", NULL},
    };
    const char *operands[2];
    size_t operand_count;
    int result = options_read(&command_diff, table, sizeof table / sizeof *table, count, arguments,
                              operands, 2, &operand_count);
    if (result != EXIT_DONE)
        return result;
    if (operand_count != 2) {
        fprintf(stderr, "%s diff: missing argument: two profiles or captures\n", program_name());
        return EXIT_USAGE;
    }
    return read_percent(&call) ? compare(&call, operands) : EXIT_USAGE;
}
