/*
 * Runs of the log directory, internal to serve: their names, and their processing on request. A run
 * and its profile have the same name.
 */
#ifndef KYMO_SERVE_RUNS_LOG_RUNS_H
#define KYMO_SERVE_RUNS_LOG_RUNS_H

#include "serve/http/server.h"

struct run {
    char *name, *path;
};
typedef ARRAY(struct run) run_list;
run_list runs_list(struct server *server);
void runs_free(run_list *runs);

/* As XProf names it: "a/plugins/profile/run" is "a/run". Free with mem_free. */
char *run_xprof_name(const struct server *server, const struct run *run);
/* Whether the name is that of the run or XProf's. */
bool run_has_name(const struct server *server, const struct run *run, const char *name);
/* Whether a path that a client names is that of the run. */
bool run_is_at(const struct run *run, const char *path);
/* The log directory is all that is served: replies to requests for other directories. */
bool run_paths_check(const struct request *request, struct reply *reply);

/* Queues a run for processing, or a failed job again, and replies. */
void run_process(struct server *server, const char *name, struct reply *reply);
/* Queues a run for processing unless it has a profile, or processing it failed; false, and the
 * reply is set, if it cannot be. */
bool run_prepare(struct request *request, struct reply *reply, const char *name);
/* Processes a run unless it has a profile, and waits for it; the reply is set if it fails or takes
 * too long. */
bool run_make_ready(struct request *request, struct reply *reply, const char *name);

/* Replies for a profile that does not exist: 409 if it is queued, processing or failed, otherwise
 * 404. */
void reply_unready(struct server *server, struct reply *reply, const char *name);

#endif
