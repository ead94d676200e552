/*
 * A recording by libkymo in a private folder, and the profile made of it. One at a time, for
 * whoever asks: libkymo has one capture.
 */
#ifndef KYMO_CAPTURE_SERVER_SESSION_H
#define KYMO_CAPTURE_SERVER_SESSION_H

#include "capture/server/profile.h"

#include <limits.h>
#include <stdbool.h>

struct server_session {
    char folder[PATH_MAX];       /* empty: none */
    char directory[PATH_MAX];    /* of the recording, in the folder */
    char other[PATH_MAX + 32];   /* XPlane of another profiler, to be merged if it is there */
    char profile[PATH_MAX + 32]; /* XPlane, once it is made */
};

/* Begins to record. False, with nothing left behind: why, in the status. */
bool session_start(struct server_session *session, int level, struct status *status);
void session_stop(struct server_session *session);
/* Makes the profile. Asks now and then whether to give up. */
bool session_convert(struct server_session *session, enum profile_use use, bool (*is_over)(void),
                     struct status *status);
/* Removes the folder and what is in it. */
void session_remove(struct server_session *session);

#endif
