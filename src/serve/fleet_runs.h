/*
 * Runs of many ranks, internal to serve: the datasets that are served, and the analysis of their
 * runs, which is made on the first request by a child process, one at a time.
 */
#ifndef KYMO_SERVE_FLEET_RUNS_H
#define KYMO_SERVE_FLEET_RUNS_H

#include "serve/server.h"

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

/* A run whose results are there. */
struct fleet_run {
    char *dataset;   /* path */
    char *directory; /* of the results */
    const char *run; /* its name, a part of the request */
};
/* The run that the first two parameters name. False, and the reply is set, if there is none or its
 * analysis failed or is not done; that is begun if need be. */
bool fleet_run_open(struct fleet_run *run, struct request *request, struct reply *reply);
/* The same for a run by name: that of its dataset, a slash, its own. */
bool fleet_run_open_named(struct fleet_run *run, struct request *request, const char *name,
                          struct reply *reply);
/* Whether such a name begins with that of a dataset. */
bool is_run_name(const struct server *server, const char *name);
void fleet_run_close(struct fleet_run *run);

#endif
