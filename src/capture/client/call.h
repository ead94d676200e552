/*
 * Calls of ProfilerService, and what their status says.
 */
#ifndef KYMO_CAPTURE_CLIENT_CALL_H
#define KYMO_CAPTURE_CLIENT_CALL_H

#include "capture/client/answer.h"

/* Of gRPC; those that are not named are only printed. */
enum grpc_status {
    GRPC_OK = 0,
    GRPC_UNKNOWN = 2,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
};

struct remote_call {
    const char *host; /* as in a URL */
    unsigned port;
    const char *method;           /* such as Profile */
    const struct output *message; /* with its prefix */
    unsigned timeout_ms;
    struct answer *answer; /* takes what comes; NULL: it is dropped */
    bool (*is_over)(void *context);
    void *context;
};

enum { CALL_STATUS_SIZE = 512 };

struct call_status {
    unsigned code;
    char message[CALL_STATUS_SIZE]; /* for people */
};

/* Makes the call. Errors of the network are UNAVAILABLE if nothing was sent, else UNKNOWN. */
bool call_run(const struct remote_call *call, struct call_status *status, struct error *err);
const char *grpc_status_name(unsigned code);

#endif
