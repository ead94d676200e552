/*
 * kymo diff: what changed between two profiles, or two runs of many ranks.
 */
#include "report/compare/diff.h"
#include "cli/on_run.h"

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

/* One side of a comparison: a profile, a capture, or a run of a dataset. */
struct compared {
    const char *place;
    char *dataset, *run; /* NULL: not a run */
    struct diff_side *side;
};

static bool read_profile(void *context, struct sql_connection *connection, const char *directory,
                         struct error *err)
{
    struct compared *one = context;
    (void)directory;
    return diff_read_profile(&one->side, one->place, connection, err);
}

static bool read_run(void *context, struct fleet_analysis *analysis, struct error *err)
{
    struct compared *one = context;
    bool ok = true;
    for (size_t i = 0; i < diff_run_table_count && ok; i++)
        ok =
            fleet_view_table(analysis, diff_run_tables[i].table, diff_run_tables[i].max_ranks, err);
    ok = ok && diff_read_run(&one->side, one->place, fleet_connection(analysis), err);
    if (!ok)
        fleet_advise(err);
    return ok;
}

static int read_side(const struct diff_call *call, struct compared *one)
{
    struct error err;
    if (!one->run)
        return on_tables(&(struct tables_call){.place = one->place,
                                               .data_path = call->data_path,
                                               .jobs = call->jobs,
                                               .run = read_profile,
                                               .context = one});
    int result = on_run(&(struct run_call){.options = {.dataset = one->dataset,
                                                       .run = one->run,
                                                       .data_path = call->data_path,
                                                       .threads = (unsigned)call->jobs},
                                           .run = read_run,
                                           .context = one},
                        &err);
    if (result == EXIT_INTERRUPTED)
        log_fatal("interrupted");
    else if (result != EXIT_DONE)
        print_error(&err);
    return result;
}

/* Finds out whether places name runs: both must, or none. */
static bool find_runs(struct compared compared[static 2])
{
    struct error err;
    for (size_t i = 0; i < 2; i++)
        if (fleet_find_run(compared[i].place, &compared[i].dataset, &compared[i].run, &err) ==
            RUN_PATH_FAILED) {
            print_error(&err);
            return false;
        }
    if (!compared[0].run == !compared[1].run)
        return true;
    const struct compared *run = &compared[compared[0].run ? 0 : 1];
    const struct compared *other = &compared[compared[0].run ? 1 : 0];
    log_error("%s is a run of many ranks and %s is not: compare a run with a run, or a profile "
              "with a profile",
              run->place, other->place);
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

static int compare(const struct diff_call *call, const char *const places[2])
{
    struct compared compared[2] = {{.place = places[0]}, {.place = places[1]}};
    int result = find_runs(compared) ? EXIT_DONE : EXIT_FAILED;
    for (size_t i = 0; i < 2 && result == EXIT_DONE; i++)
        result = read_side(call, &compared[i]);
    if (result == EXIT_DONE) {
        struct diff *found = diff_compare(compared[0].side, compared[1].side);
        result = write_diff(call, found);
        result = result == EXIT_DONE ? judge(call, found) : result;
        diff_free(found);
    }
    for (size_t i = 0; i < 2; i++) {
        diff_side_free(compared[i].side);
        mem_free(compared[i].dataset);
        mem_free(compared[i].run);
    }
    return result;
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
    return read_percent(&call) ? compare(&call, operands) : EXIT_USAGE;
}
