/*
 * Opens or makes the analysis of a run, and calls a function with it.
 */
#include "cli/on_run.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* A line on the terminal that says which stage is at work, after the first second. */
struct stage_progress {
    time_t started;
    bool is_shown;
    int fd; /* lines for another program; 0: none */
};

static void show_stage(void *context, const char *stage, size_t done, size_t count)
{
    struct stage_progress *progress = context;
    if (progress->fd > 0)
        dprintf(progress->fd, "%zu %zu of %zu: %s\n", done * 100 / count, done + 1, count, stage);
    if (!isatty(STDERR_FILENO) || time(NULL) - progress->started < 2)
        return;
    progress->is_shown = true;
    fprintf(stderr, "\r\033[Kanalyzing: %3zu %% %s", done * 100 / count, stage);
}

int on_run(const struct run_call *call, struct error *err)
{
    struct stage_progress progress = {.started = time(NULL), .fd = call->progress_fd};
    size_t left_out = 0;
    struct fleet_analysis_options options = call->options;
    struct fleet_analysis *analysis;
    options.progress = show_stage;
    options.context = &progress;
    if (!fleet_analysis_open(&analysis, &options, err))
        return EXIT_FAILED;
    warn_of_drops(run_drops(options.dataset, options.run));
    struct interrupt *interrupt = interrupt_start(fleet_connection(analysis));
    bool ok = fleet_analyze(analysis, &options, err) && fleet_left_out(analysis, &left_out, err) &&
              call->run(call->context, analysis, err);
    bool was_interrupted = interrupt_stop(interrupt);
    fleet_analysis_close(analysis);
    if (progress.is_shown)
        fputs("\r\033[K", stderr);
    if (ok && left_out > 0)
        log_warn("run %s: %zu %s left out: files of %s cannot be read", options.run, left_out,
                 left_out == 1 ? "rank is" : "ranks are", left_out == 1 ? "it" : "them");
    return was_interrupted ? EXIT_INTERRUPTED : ok ? EXIT_DONE : EXIT_FAILED;
}

static bool do_nothing(void *context, struct fleet_analysis *analysis, struct error *err)
{
    (void)context, (void)analysis, (void)err;
    return true;
}

int run_results(const char *place, const char *data_path, char **directory, struct error *err)
{
    char *dataset, *run;
    if (fleet_find_run(place, &dataset, &run, err) != RUN_PATH_FOUND)
        return EXIT_FAILED;
    const struct run_call call = {
        .options = {.dataset = dataset, .run = run, .data_path = data_path}, .run = do_nothing};
    int result = on_run(&call, err);
    if (result == EXIT_DONE && !(*directory = fleet_results(&call.options))) {
        error_in_file(err, place, "ranks were added or removed meanwhile; try again");
        result = EXIT_FAILED;
    }
    mem_free(dataset);
    mem_free(run);
    return result;
}
