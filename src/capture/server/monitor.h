/*
 * Monitor: what the process uses.
 */
#ifndef KYMO_CAPTURE_SERVER_MONITOR_H
#define KYMO_CAPTURE_SERVER_MONITOR_H

#include "capture/server/messages.h"

/* Usage of the process at a time. */
struct usage {
    int64_t wall_ms;
    int64_t cpu_ns;
};

struct usage usage_now(int64_t now_ms);
/* Writes a line for people; returns its length. */
size_t usage_describe(char *line, size_t size, const struct usage *before, const struct usage *now,
                      const struct monitor_request *request);

#endif
