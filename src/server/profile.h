/*
 * Makes a profile of a session, by the program `kymo`.
 */
#ifndef KYMO_SERVER_PROFILE_H
#define KYMO_SERVER_PROFILE_H

#include "server/status.h"

#include <stdbool.h>

/* Writes `path`, an XPlane file; `log` takes what the program says. Asks now and then whether to
 * give up. */
bool profile_make(const char *session, const char *path, const char *log, bool (*is_over)(void),
                  struct status *status);

#endif
