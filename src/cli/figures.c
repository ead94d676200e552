/*
 * kymo figures: what figures mean, and the queries that give them.
 */
#include "report/figures/figures.h"
#include "cli/on_diff.h"
#include "report/xprof/tools.h"

#include <stdio.h>

static int figures(int count, char **arguments);

const struct command command_figures = {
    .name = "figures",
    .summary = "Define a figure: what it means, its unit, its formula and its query.",
    .about =
        "Every figure that a page, a summary or a tool shows has an id, one definition and a query "
        "over the tables of the profile. Without ID, all are listed; an ID may also be the "
        "beginning of several. With PROFILE, ID is a group of figures, and its query for that "
        "profile is printed: plain SQL, which kymo sql or any DuckDB runs over the profile's "
        "Parquet files. PROFILE is a name in the workspace, a directory of Parquet files, or a "
        "capture that kymo view reads. Figures of two profiles compared, diff, need both, A and B; "
        "their query is over the tables of A in the schema a and those of B in the schema b. In "
        "the web UI, hover over a figure, or press ? there.",
    .usage = "[options] [ID [PROFILE|PATH [PROFILE|PATH]]]",
    .examples =
        (const char *const[]){
            "summary.devices.busy_share",
            "kernel_stats",
            "summary.devices gpt",
            "summary.devices gpt | kymo sql gpt -",
            "diff.kernels before after",
            NULL,
        },
    .run = figures,
};

/* Without a page nothing is chosen. */
static const char *default_parameter(const void *context, const char *name)
{
    (void)context;
    return strcmp(name, "group_by") == 0 ? tool_groupings[0] : NULL;
}

static bool write_query(const void *context, struct sql_connection *connection,
                        const char *directory, struct output *out, struct error *err)
{
    (void)directory;
    const char *id = context;
    if (!figures_put_query(out, text_of(id), default_parameter, NULL, connection, err))
        return false;
    output_char(out, '\n');
    return true;
}

/* What is needed for a query over two profiles. */
struct diff_query {
    const char *id, *file;
};

static int write_diff_query(const void *context, const struct diff *diff)
{
    const struct diff_query *query = context;
    struct output out;
    struct error err;
    bool ok = output_open(&out, query->file, &err);
    if (ok && !diff_put_query(diff, text_of(query->id), &out)) {
        output_discard(&out);
        log_error("figures of two runs have no query over tables: docs/diff.md defines them");
        return EXIT_FAILED;
    }
    if (ok) {
        output_char(&out, '\n');
        ok = output_commit(&out, &err);
    }
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* Whether a group has a query over as many profiles as are given. */
static bool has_query(const char *id, size_t profiles, unsigned *kinds)
{
    enum figure_query found = figures_find_query(text_of(id));
    bool is_of_two = found == FIGURE_OF_TWO;
    if (is_of_two && profiles == 1)
        fprintf(stderr, "%s figures: %s compares two profiles, name both\n", program_name(), id);
    else if (is_of_two && !diff_has_query(text_of(id), kinds))
        fprintf(stderr, "%s figures: %s is of two runs, which have no query over tables\n",
                program_name(), id);
    else if (is_of_two)
        return true;
    else if (profiles == 2 && found != FIGURE_NO_GROUP)
        fprintf(stderr, "%s figures: %s is of one profile\n", program_name(), id);
    if (found == FIGURE_NO_GROUP)
        fprintf(stderr,
                "%s figures: no group of figures '%s'; %s figures lists figures as GROUP.FIGURE\n",
                program_name(), id, program_name());
    if (found == FIGURE_NO_QUERY && profiles == 1)
        fprintf(stderr, "%s figures: the query of %s depends on what was chosen on its page\n",
                program_name(), id);
    return found == FIGURE_QUERY && profiles == 1;
}

/* With a profile, the query of a group; without, definitions. */
static int figures(int count, char **arguments)
{
    struct {
        const char *file, *data_path;
        unsigned long jobs;
    } call = {0};
    const struct option table[] = {ANSWER_OPTIONS(call)};
    const char *operands[3];
    size_t operand_count;
    int result = options_read(&command_figures, table, sizeof table / sizeof *table, count,
                              arguments, operands, 3, &operand_count);
    if (result != EXIT_DONE)
        return result;
    unsigned kinds = 0;
    if (operand_count > 1 && !has_query(operands[0], operand_count - 1, &kinds))
        return EXIT_USAGE;
    if (operand_count == 3)
        return on_diff(&(struct diff_of_two){
            .places = {operands[1], operands[2]},
            .data_path = call.data_path,
            .jobs = call.jobs,
            .kinds = kinds,
            .run = write_diff_query,
            .context = &(struct diff_query){.id = operands[0], .file = call.file}});
    if (operand_count == 2)
        return on_profile(&(struct profile_call){.place = operands[1],
                                                 .data_path = call.data_path,
                                                 .file = call.file,
                                                 .jobs = call.jobs,
                                                 .run = write_query,
                                                 .context = operands[0]});
    struct output out;
    struct error err;
    if (!output_open(&out, call.file, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    if (!figures_put_text(&out, text_of(operand_count > 0 ? operands[0] : ""))) {
        output_discard(&out);
        fprintf(stderr, "%s figures: no figure '%s'\n%s figures lists them\n", program_name(),
                operands[0], program_name());
        return EXIT_USAGE;
    }
    if (output_commit(&out, &err))
        return EXIT_DONE;
    print_error(&err);
    return EXIT_FAILED;
}
