/*
 * A client's connection: HTTP/2 by nghttp2, gRPC on top of it. All of it runs in the server's
 * thread.
 */
#ifndef KYMO_CAPTURE_SERVER_CONNECTION_H
#define KYMO_CAPTURE_SERVER_CONNECTION_H

#include "capture/server/limits.h"
#include "capture/server/messages.h"
#include "capture/server/monitor.h"
#include "capture/server/recording.h"

#include <nghttp2/nghttp2.h>

enum method { METHOD_NONE, METHOD_PROFILE, METHOD_TERMINATE, METHOD_MONITOR, METHOD_OTHER };

/* A request and its answer. */
struct stream {
    struct stream *next;
    struct connection *connection;
    int32_t id;
    enum method method;
    bool is_post, is_grpc;
    enum { STREAM_RECEIVES, STREAM_RECORDS, STREAM_MONITORS, STREAM_ANSWERS } state;
    int64_t begun_ms;
    uint8_t *body;
    size_t body_size, body_capacity;
    bool emits_xspace; /* of Profile */
    int64_t due_ms;    /* of Monitor */
    struct monitor_request monitor;
    struct usage usage;
    /* The answer: what is in the head, then a file. */
    uint8_t head[MESSAGES_HEAD + STATUS_MESSAGE];
    size_t head_size, head_sent;
    int fd;
    uint64_t file_left;
};

struct connection {
    int fd;
    nghttp2_session *session;
    struct stream *streams;
    int64_t begun_ms, active_ms;
    int64_t served_ms; /* last step of a call: a whole request, some of its answer; or the start */
    bool had_request, is_broken;
    const uint8_t *to_send; /* not yet sent; owned by nghttp2 until the next call of it */
    size_t to_send_size;
};

/* NULL when out of memory. The descriptor is the connection's from then on. */
struct connection *connection_open(int fd, int64_t now_ms, void (*on_recorded)(void));
/* Its capture is canceled. */
void connection_close(struct connection *connection);
/* Reads and writes what is possible. */
void connection_read(struct connection *connection, int64_t now_ms);
void connection_write(struct connection *connection, int64_t now_ms);
bool connection_wants_write(const struct connection *connection);
/* What is due. */
void connection_tick(struct connection *connection, int64_t now_ms);
bool connection_is_late(const struct connection *connection, int64_t now_ms);

/* Whether it waits for its client: to send a request or the rest of one, or to take an answer. */
bool connection_is_waiting(const struct connection *connection);
/* Those that it has not taken yet. */
size_t connection_profiles(const struct connection *connection);
bool connection_has_profile(const struct connection *connection);
/* In a child of fork, which has none of the connections. */
void connections_forked(void);

/* Answers the client whose capture has finished, or drops what was recorded. */
void connection_answer_recorded(const struct recorded_profile *recorded, int64_t now_ms);

#endif
