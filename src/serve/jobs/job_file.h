/*
 * Inside jobs: a job in the file job.json of its folder, which is named by its id.
 */
#ifndef KYMO_SERVE_JOBS_JOB_FILE_H
#define KYMO_SERVE_JOBS_JOB_FILE_H

#include "serve/jobs/jobs.h"

#define JOB_FILE "job.json"

bool job_is_id(const char *id);
/* `folder` is that of all jobs. False if there is no such job. The file does not tell whether the
 * job is running. */
bool job_read(const char *folder, const char *id, struct job *job);
bool job_write(const char *folder, const struct job *job, struct error *err);
struct job job_copy(const struct job *job);

#endif
