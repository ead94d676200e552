/*
 * Status codes of gRPC that the server uses.
 */
#ifndef KYMO_CAPTURE_SERVER_STATUS_H
#define KYMO_CAPTURE_SERVER_STATUS_H

enum grpc_status {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_ALREADY_EXISTS = 6,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
};

enum { STATUS_MESSAGE = 512 };

struct status {
    enum grpc_status code;
    char message[STATUS_MESSAGE];
};

/* Sets it and returns whether it is OK. */
_Bool status_set(struct status *status, enum grpc_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
