/*
 * kymo fleet report: analyses the runs of a dataset and prints what was found.
 */
#include "cli/fleet_options.h"
#include "fleet/fleet.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* A line on the terminal that says which stage is at work, after the first second. */
struct stage_progress {
    time_t started;
    bool is_shown;
};

static void show_stage(void *context, const char *stage, size_t done, size_t count)
{
    struct stage_progress *progress = context;
    if (!isatty(STDERR_FILENO) || time(NULL) - progress->started < 2)
        return;
    progress->is_shown = true;
    fprintf(stderr, "\r\033[Kanalysing: %3zu %% %s", done * 100 / count, stage);
}

static enum fleet_format format_of(const char *name)
{
    if (name && strcmp(name, "json") == 0)
        return FLEET_JSON;
    return name && strcmp(name, "markdown") == 0 ? FLEET_MARKDOWN : FLEET_TEXT;
}

static bool report_run(const struct fleet_options *options, const char *run, struct output *out,
                       struct error *err)
{
    struct stage_progress progress = {.started = time(NULL)};
    const struct fleet_analysis_options wanted = {
        .dataset = options->dataset,
        .run = run,
        .data_path = options->data_path,
        .engine = options->engine,
        .force = options->force,
        .threads = options->jobs == NOT_GIVEN ? 0 : (unsigned)options->jobs,
        .progress = show_stage,
        .context = &progress};
    bool to_file = options->file && strcmp(options->file, "-") != 0;
    const struct fleet_report_style style = {.format = format_of(options->format),
                                             .with_sql = options->with_sql,
                                             .has_colour = style_for(to_file, 0).coloured};
    struct fleet_analysis *analysis;
    bool ok = fleet_analyze(&analysis, &wanted, err);
    if (progress.is_shown)
        fputs("\r\033[K", stderr);
    if (!ok)
        return false;
    ok = fleet_report(analysis, &style, out, err);
    fleet_analysis_close(analysis);
    return ok;
}

/* All runs of the dataset, or the one that was asked for. As JSON it is a list, of one run too. */
static bool report_runs(const struct fleet_options *options, struct output *out, struct error *err)
{
    run_names names;
    bool is_json = format_of(options->format) == FLEET_JSON, ok = true;
    if (!fleet_runs(options->dataset, &names, err))
        return false;
    size_t count = 0;
    output_text(out, is_json ? "[" : "");
    char **name;
    array_each (name, &names) {
        if (!ok || (options->run && strcmp(options->run, *name) != 0))
            continue;
        output_text(out, count == 0 ? "" : is_json ? ",\n" : "\n\n");
        count++;
        ok = report_run(options, *name, out, err);
    }
    output_text(out, is_json ? "]\n" : "");
    if (ok && count == 0)
        ok = options->run ? error_in_file(err, options->dataset, "has no run %s", options->run)
                          : error_in_file(err, options->dataset, "the dataset has no ranks yet");
    run_names_free(&names);
    return ok;
}

int fleet_print_report(const struct fleet_options *options)
{
    struct output out;
    struct error err;
    bool ok = output_open(&out, options->file, &err);
    if (ok && (ok = report_runs(options, &out, &err)))
        ok = output_commit(&out, &err);
    else if (!ok)
        output_discard(&out);
    if (!ok)
        print_error(&err);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
