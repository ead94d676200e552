/*
 * The directory of a capture, <out>/<instance>_pid_<pid>, and the instance id.
 */
#ifndef KYMO_CAPTURE_RECORDER_SESSION_DIRECTORY_H
#define KYMO_CAPTURE_RECORDER_SESSION_DIRECTORY_H

#include "base/base.h"

#include <limits.h>

enum { SESSION_DIRECTORY_MAX = PATH_MAX - 320 }; /* leaves room for the names of files in it */

/* $KYMO_INSTANCE_ID, the id that the cloud's agent has left on this machine, or the host's name. */
void instance_id(char *instance, size_t size);

/* Makes the session's directory and rings/ in it. Where a capture of the same name exists already,
 * the new one goes into a directory of its own inside, named by the time; where the name is a link
 * or belongs to another user, beside it. */
bool session_directory_make(char directory[static SESSION_DIRECTORY_MAX], const char *output,
                            const char *instance, struct error *err);

#endif
