/*
 * Requests of ProfilerService. Nothing is allocated; everything a client sends is checked.
 */
#ifndef KYMO_CAPTURE_SERVER_MESSAGES_H
#define KYMO_CAPTURE_SERVER_MESSAGES_H

#include "capture/server/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGES_PREFIX = 5, MESSAGES_SESSION_ID = 256 };
#define MESSAGES_FOREVER UINT64_MAX

struct profile_request {
    uint64_t duration_ms; /* MESSAGES_FOREVER: until it is terminated */
    uint64_t start_ns;    /* of the wall clock; 0: at once */
    int level;            /* of libkymo */
    bool emits_xspace;    /* else as a tool's data */
    char session_id[MESSAGES_SESSION_ID];
    const uint8_t *options; /* the ProfileOptions, in the message */
    size_t options_size;
};

struct monitor_request {
    uint64_t duration_ms;
    uint64_t level;
    bool has_time;
};

/* Removes the prefix of gRPC from a body. */
bool message_open(const uint8_t **data, size_t *size, struct status *status);
bool profile_request_read(struct profile_request *request, const uint8_t *data, size_t size,
                          struct status *status);
bool terminate_request_read(char session_id[static MESSAGES_SESSION_ID], const uint8_t *data,
                            size_t size, struct status *status);
bool monitor_request_read(struct monitor_request *request, const uint8_t *data, size_t size,
                          struct status *status);

/* What stands before a profile of `size` bytes in an answer; returns its size. */
enum { MESSAGES_HEAD = 64 };
size_t profile_head(uint8_t head[static MESSAGES_HEAD], uint64_t size, bool is_xspace);

#endif
