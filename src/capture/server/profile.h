/*
 * Makes a profile of a session, by the program `kymo`.
 */
#ifndef KYMO_CAPTURE_SERVER_PROFILE_H
#define KYMO_CAPTURE_SERVER_PROFILE_H

#include "capture/server/status.h"

#include <stdbool.h>

/* For XLA's profiler, which adds the planes to its own, or for others. */
enum profile_use { PROFILE_WHOLE, PROFILE_PLANES };

struct profile_files {
    const char *session; /* a directory of libkymo's */
    const char *other;   /* XPlane that is merged with it, or NULL */
    const char *profile; /* XPlane, to be written */
    const char *log;     /* takes what the program says */
};

/* Asks now and then whether to give up. */
bool profile_make(const struct profile_files *files, enum profile_use use, bool (*is_over)(void),
                  struct status *status);

#endif
