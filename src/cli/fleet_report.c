/*
 * kymo fleet report: analyzes the runs of a dataset and prints what was found.
 */
#include "cli/fleet_options.h"
#include "cli/on_run.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

static enum fleet_format format_of(const char *name)
{
    if (name && strcmp(name, "json") == 0)
        return FLEET_JSON;
    return name && strcmp(name, "markdown") == 0 ? FLEET_MARKDOWN : FLEET_TEXT;
}

/* A run whose report is written. */
struct reporting {
    struct fleet_report_style style;
    struct output *out;
};

static bool write_report(void *context, struct fleet_analysis *analysis, struct error *err)
{
    const struct reporting *reporting = context;
    return fleet_report(analysis, &reporting->style, reporting->out, err);
}

/* Returns the exit code. */
static int report_run(const struct fleet_options *options, const char *run, struct output *out,
                      struct error *err)
{
    bool to_file = options->file && strcmp(options->file, "-") != 0;
    struct reporting reporting = {.style = {.format = format_of(options->format),
                                            .with_sql = options->with_sql,
                                            .has_color = style_for(to_file, 0).colored},
                                  .out = out};
    const struct run_call call = {
        .options = {.dataset = options->dataset,
                    .run = run,
                    .data_path = options->data_path,
                    .engine = options->engine,
                    .force = options->force,
                    .threads = options->jobs == NOT_GIVEN ? 0 : (unsigned)options->jobs},
        .progress_fd = options->progress_fd == NOT_GIVEN ? 0 : (int)options->progress_fd,
        .run = write_report,
        .context = &reporting};
    return on_run(&call, err);
}

/* All runs of the dataset, or the one that was asked for. As JSON it is a list, of one run too. */
static int report_runs(const struct fleet_options *options, struct output *out, struct error *err)
{
    run_names names;
    bool is_json = format_of(options->format) == FLEET_JSON;
    int result = EXIT_DONE;
    if (!fleet_runs(options->dataset, &names, err))
        return EXIT_FAILED;
    size_t count = 0;
    output_text(out, is_json ? "[" : "");
    for (size_t i = 0; i < names.count && result == EXIT_DONE; i++) {
        if (options->run && strcmp(options->run, names.items[i]) != 0)
            continue;
        output_text(out, count == 0 ? "" : is_json ? ",\n" : "\n\n");
        count++;
        result = report_run(options, names.items[i], out, err);
    }
    output_text(out, is_json ? "]\n" : "");
    if (count == 0) {
        if (options->run)
            error_in_file(err, options->dataset, "has no run %s", options->run);
        else
            error_in_file(err, options->dataset, "the dataset has no ranks yet");
        result = EXIT_FAILED;
    }
    run_names_free(&names);
    return result;
}

static bool has_progress_fd(const struct fleet_options *options)
{
    if (options->progress_fd == NOT_GIVEN)
        return true;
    signal(SIGPIPE, SIG_IGN); /* its reader may exit */
    if (options->progress_fd <= INT_MAX && fcntl((int)options->progress_fd, F_GETFD) >= 0)
        return true;
    fprintf(stderr, "%s fleet report: --progress-fd is not an open file descriptor\n",
            program_name());
    return false;
}

int fleet_print_report(const struct fleet_options *options)
{
    struct output out;
    struct error err;
    if (!has_progress_fd(options))
        return EXIT_USAGE;
    if (!output_open(&out, options->file, &err)) {
        print_error(&err);
        return EXIT_FAILED;
    }
    int result = report_runs(options, &out, &err);
    if (result != EXIT_DONE)
        output_discard(&out);
    else if (!output_commit(&out, &err))
        result = EXIT_FAILED;
    if (result == EXIT_INTERRUPTED)
        log_fatal("interrupted");
    else if (result != EXIT_DONE)
        print_error(&err);
    return result;
}
