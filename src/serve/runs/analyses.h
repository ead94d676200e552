/*
 * Runs of many ranks, internal to serve: the datasets that are served, and the analysis of their
 * runs, which is made on the first request by a child process, one at a time.
 */
#ifndef KYMO_SERVE_RUNS_ANALYSES_H
#define KYMO_SERVE_RUNS_ANALYSES_H

#include "serve/http/server.h"

struct fleet_runs *fleet_runs_create(struct server *server);
/* Ends analyses at work. */
void fleet_runs_stop(struct fleet_runs *runs);
/* Call after the last request. */
void fleet_runs_destroy(struct fleet_runs *runs);

/* The names of the datasets: the log directory's own, or those of datasets in it, which are paths.
 * Free with mem_free. */
typedef ARRAY(char *) dataset_names;
dataset_names datasets_list(const struct server *server);
void datasets_free(dataset_names *names);
/* The path of a dataset, NULL if there is none of this name; free with mem_free. */
char *dataset_path(const struct server *server, const char *name);

bool dataset_has_run(const char *path, const char *run);

/* A run of a dataset that is served. */
struct fleet_run {
    char *dataset, *path; /* the dataset's name and path */
    char *name;           /* of the run */
};
/* The directory of its results, freed by the caller. NULL with the reply set if its analysis failed
 * or is not done; it is begun if need be. */
char *fleet_run_results(struct fleet_runs *runs, const struct fleet_run *run, struct reply *reply);

#endif
