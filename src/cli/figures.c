/*
 * kymo figures: what figures mean, and the queries that give them.
 */
#include "report/figures/figures.h"
#include "cli/cli.h"
#include "report/fleet/fleet.h"
#include "report/xprof/tools.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

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
        "capture that kymo view reads; for figures of runs of many ranks it is DATASET/RUN, or "
        "DATASET if it has one run. In the web UI, hover over a figure, or press ? there.",
    .usage = "[options] [ID [PROFILE|PATH|DATASET/RUN]]",
    .examples =
        (const char *const[]){
            "summary.devices.busy_share",
            "kernel_stats",
            "summary.devices gpt",
            "summary.devices gpt | kymo sql gpt -",
            "run.slow_ranks runs/night | kymo sql runs/night -",
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

static void explain_no_query(const char *id, enum figure_query found)
{
    if (found == FIGURE_NO_GROUP)
        fprintf(stderr,
                "%s figures: no group of figures '%s'; %s figures lists figures as GROUP.FIGURE\n",
                program_name(), id, program_name());
    if (found == FIGURE_NO_QUERY)
        fprintf(stderr, "%s figures: the query of %s depends on what was chosen on its page\n",
                program_name(), id);
}

struct figures_call {
    const char *file, *data_path;
    unsigned long jobs;
};

/* The query of a group of runs is the same for all of them. */
static int print_run_query(const struct figures_call *call, const char *id, const char *place)
{
    struct output out;
    struct error err;
    char *dataset, *run;
    enum run_path found = fleet_find_run(place, &dataset, &run, &err);
    bool ok = found == RUN_PATH_FOUND;
    if (found == RUN_PATH_OTHER && access(place, F_OK) != 0)
        error_in_file(&err, place, "cannot open: %s", strerror(errno));
    else if (found == RUN_PATH_OTHER)
        error_in_file(&err, place, "is not a run of many ranks; name one as DATASET/RUN for %s",
                      id);
    if (ok) {
        mem_free(dataset);
        mem_free(run);
        ok = output_open(&out, call->file, &err);
    }
    if (ok) {
        figures_put_run_query(&out, text_of(id), default_parameter, NULL);
        output_char(&out, '\n');
        ok = output_commit(&out, &err);
    }
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

static int print_query(const struct figures_call *call, const char *id, const char *place)
{
    enum figure_query found = figures_find_query(text_of(id));
    if (found == FIGURE_RUN_QUERY)
        return print_run_query(call, id, place);
    if (found == FIGURE_QUERY)
        return on_profile(&(struct profile_call){.place = place,
                                                 .data_path = call->data_path,
                                                 .file = call->file,
                                                 .jobs = call->jobs,
                                                 .run = write_query,
                                                 .context = id});
    explain_no_query(id, found);
    return EXIT_USAGE;
}

/* With a profile or a run, the query of a group; without, definitions. */
static int figures(int count, char **arguments)
{
    struct figures_call call = {0};
    const struct option table[] = {ANSWER_OPTIONS(call)};
    const char *operands[2];
    size_t operand_count;
    int result = options_read(&command_figures, table, sizeof table / sizeof *table, count,
                              arguments, operands, 2, &operand_count);
    if (result != EXIT_DONE)
        return result;
    if (operand_count == 2)
        return print_query(&call, operands[0], operands[1]);
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
