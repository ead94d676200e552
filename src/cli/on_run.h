/*
 * Commands that ask the analysis of a run of many ranks.
 */
#ifndef KYMO_CLI_ON_RUN_H
#define KYMO_CLI_ON_RUN_H

#include "cli/cli.h"
#include "report/fleet/fleet.h"

/* Opens the analysis, makes its results if need be, which is shown on the terminal, and calls run
 * with it. Warns about ranks missing from the results. Returns the exit code; prints nothing on
 * failure. */
struct run_call {
    struct fleet_analysis_options options;
    int progress_fd; /* for progress lines to another program; 0: none */
    bool (*run)(void *context, struct fleet_analysis *analysis, struct error *err);
    void *context;
};
int on_run(const struct run_call *call, struct error *err);

/* The directory of the results of a run, DATASET/RUN, made if need be; free with mem_free. Returns
 * the exit code; prints nothing on failure. `err` is left alone where the place names no run. */
int run_results(const char *place, const char *data_path, char **directory, struct error *err);

#endif
