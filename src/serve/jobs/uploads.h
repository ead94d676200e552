/*
 * Streams uploaded files to disk, internal to serve.
 */
#ifndef KYMO_SERVE_JOBS_UPLOADS_H
#define KYMO_SERVE_JOBS_UPLOADS_H

#include "serve/jobs/jobs.h"

/* Where a file goes: the parts of its path below the files of a job. */
struct upload_place {
    struct jobs *jobs;
    const char *id; /* of the job */
    const char *const *names;
    size_t count;
};
/* Begins to receive a file of the announced size, 0 if unknown; NULL with the reply set if it
 * cannot be. */
struct body_sink *upload_begin(struct server *server, const struct upload_place *place,
                               uint64_t announced, struct reply *reply);
/* Whether all of it could be written; otherwise replies why not. */
bool upload_is_whole(const struct body_sink *sink, struct reply *reply);
/* Makes the file visible, and replies. */
void upload_finish(struct body_sink *sink, struct reply *reply);

/* Creates a job if its name is free, and replies with its id; otherwise replies why not. It
 * replaces failed ones with the same name. */
bool upload_create(struct server *server, struct reply *reply, const struct job *job);
/* Bytes that uploads and captures may still take; 0 with the reply set if there are none. */
uint64_t upload_bytes_left(struct server *server, struct reply *reply);

#endif
