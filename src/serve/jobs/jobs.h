/*
 * The job queue, internal to serve. A job is the workspace folder uploads/<id> with job.json and,
 * if uploaded, files/; so the queue survives restarts. Child processes do the work; only one server
 * per workspace runs jobs.
 */
#ifndef KYMO_SERVE_JOBS_JOBS_H
#define KYMO_SERVE_JOBS_JOBS_H

#include "serve/http/server.h"

enum job_state { JOB_RECEIVING, JOB_QUEUED, JOB_PROCESSING, JOB_FAILED };

struct job {
    char *id, *name;
    char *source; /* path of the capture if not uploaded, otherwise NULL */
    /* To be captured over the network first; NULL and 0 if not. */
    char *addresses, *settings;
    uint64_t duration_ms;
    char *reason; /* why it failed, or NULL */
    enum job_state state;
    bool force;
    unsigned percent;
    int64_t created_ms; /* Unix time */
};
typedef ARRAY(struct job) job_list;

/* Captures become runs of the log directory, named after their profiles. */
bool server_keeps_captures(const struct server *server);

bool jobs_start(struct jobs **jobs, struct server *server, struct error *err);
/* Terminates the children; their jobs stay queued. */
void jobs_stop(struct jobs *jobs);

/* All jobs, oldest first. */
job_list jobs_list(struct jobs *jobs);
void jobs_free(job_list *list);
/* False if there is no such job. Free with job_free. */
bool job_load(struct jobs *jobs, const char *id, struct job *job);
void job_free(struct job *job);
/* The newest job for a profile, whose files have all been received. */
bool job_find(struct jobs *jobs, const char *name, struct job *job);
/* *id: 32 hex digits, freed by the caller. */
bool job_create(struct jobs *jobs, const struct job *job, char **id, struct error *err);
bool job_save(struct jobs *jobs, const struct job *job, struct error *err);
/* Cancels the job if running and removes its files. */
void job_remove(struct jobs *jobs, const char *id);
/* The path of its folder; free with mem_free. */
char *job_folder(struct jobs *jobs, const char *id);
/* Makes the queue thread look for new jobs. */
void jobs_wake(struct jobs *jobs);

#endif
