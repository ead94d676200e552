/*
 * Inside serve: what is to be processed, and what is being. A job is a folder of the workspace,
 * uploads/<id>, with job.json and, when it was uploaded, files/; so the queue outlives the server.
 * The work is done by child processes, and one server of a workspace does it.
 */
#ifndef KYMO_SERVE_JOBS_H
#define KYMO_SERVE_JOBS_H

#include "serve/server.h"

enum job_state { JOB_RECEIVING, JOB_QUEUED, JOB_PROCESSING, JOB_FAILED };

struct job {
    char *id, *name;
    char *source; /* what to process when it was not uploaded; or NULL */
    char *reason; /* why it failed, or NULL */
    enum job_state state;
    bool force;
    unsigned percent;
    int64_t created_ms; /* since 1970 */
};
typedef ARRAY(struct job) job_list;

bool jobs_start(struct jobs **jobs, struct server *server, struct error *err);
/* Ends the children; what they were at stays in the queue. */
void jobs_stop(struct jobs *jobs);

/* All jobs there are, oldest first. */
job_list jobs_list(struct jobs *jobs);
void jobs_free(job_list *list);
/* The job of an id; false when there is none. Free it with job_free. */
bool job_load(struct jobs *jobs, const char *id, struct job *job);
void job_free(struct job *job);
/* A new one; its id is 32 hex digits, for the caller to free. */
bool job_create(struct jobs *jobs, const struct job *job, char **id, struct error *err);
bool job_save(struct jobs *jobs, const struct job *job, struct error *err);
/* Ends the work, if there is any, and removes all of the job. */
void job_remove(struct jobs *jobs, const char *id);
/* Its folder; free it with mem_free. */
char *job_folder(struct jobs *jobs, const char *id);
/* There is something to do. */
void jobs_wake(struct jobs *jobs);

/* Runs of the log directory: their names and where they are. */
struct run {
    char *name, *path;
};
typedef ARRAY(struct run) run_list;
run_list runs_list(struct server *server);
void runs_free(run_list *runs);

/* For a profile that is not there: 409 when it will be, 404 otherwise. */
void jobs_reply_unready(struct request *request, struct reply *reply, const char *name);

#endif
