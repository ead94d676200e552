/*
 * What nghttp2 calls: headers and bodies become requests, answers are a head and a file, the status
 * comes in trailers.
 */
#include "capture/server/connection.h"

#include "capture/recorder/encode.h"
#include "capture/server/descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SERVICE_NAMES = 3 };

static struct stream *recorded_stream; /* whose capture runs */
static void (*recorded_call)(void);
static size_t all_bodies; /* bytes of bodies that are being received */
static size_t monitors;   /* streams that monitor */
static int64_t current_ms;

/* ---- Streams ------------------------------------------------------------------------------- */

static struct stream *find_stream(struct connection *connection, int32_t id)
{
    return nghttp2_session_get_stream_user_data(connection->session, id);
}

static void free_body(struct stream *stream)
{
    all_bodies -= stream->body_capacity;
    free(stream->body);
    stream->body = NULL;
    stream->body_size = stream->body_capacity = 0;
}

static void unlink_stream(struct stream *stream)
{
    for (struct stream **at = &stream->connection->streams; *at; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            return;
        }
}

static void free_stream(struct stream *stream)
{
    if (recorded_stream == stream) {
        recorded_stream = NULL;
        recording_cancel();
    }
    monitors -= stream->state == STREAM_MONITORS;
    if (stream->fd >= 0)
        descriptor_close(stream->fd);
    free_body(stream);
    free(stream);
}

/* ---- Answers ------------------------------------------------------------------------------- */

#define HEADER(name, value)                                                                        \
    {(uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1, strlen(value), \
     NGHTTP2_NV_FLAG_NONE}

/* Percent-encoding, as gRPC has it for messages. */
static void encode_message(char *to, size_t size, const char *message)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t at = 0;
    for (const unsigned char *c = (const unsigned char *)message; *c && at + 4 < size; c++) {
        if (*c >= ' ' && *c <= '~' && *c != '%') {
            to[at++] = (char)*c;
        } else {
            to[at++] = '%';
            to[at++] = hex[*c >> 4];
            to[at++] = hex[*c & 15];
        }
    }
    to[at] = '\0';
}

static void begin_answer(struct stream *stream)
{
    monitors -= stream->state == STREAM_MONITORS;
    stream->state = STREAM_ANSWERS;
    stream->connection->served_ms = current_ms;
}

/* A status alone, before or after the request has ended. */
static void answer_status(struct stream *stream, const struct status *status)
{
    nghttp2_session *session = stream->connection->session;
    char code[16], message[3 * STATUS_MESSAGE];
    bool is_early = stream->state == STREAM_RECEIVES;
    snprintf(code, sizeof code, "%d", (int)status->code);
    encode_message(message, sizeof message, status->message);
    const nghttp2_nv headers[] = {HEADER(":status", "200"),
                                  HEADER("content-type", "application/grpc"),
                                  HEADER("grpc-status", code), HEADER("grpc-message", message)};
    begin_answer(stream);
    free_body(stream);
    nghttp2_submit_response(session, stream->id, headers, sizeof headers / sizeof *headers, NULL);
    if (is_early)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
}

static void answer_http(struct stream *stream, const char *code)
{
    const nghttp2_nv headers[] = {HEADER(":status", code)};
    begin_answer(stream);
    free_body(stream);
    nghttp2_submit_response(stream->connection->session, stream->id, headers, 1, NULL);
}

static void end_answer(nghttp2_session *session, int32_t id, uint32_t *flags)
{
    const nghttp2_nv trailers[] = {HEADER("grpc-status", "0")};
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_submit_trailer(session, id, trailers, 1);
}

static ssize_t read_answer(nghttp2_session *session, int32_t id, uint8_t *to, size_t size,
                           uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct stream *stream = source->ptr;
    size_t head = stream->head_size - stream->head_sent;
    (void)context;
    stream->connection->served_ms = current_ms;
    if (head > 0) {
        head = head < size ? head : size;
        memcpy(to, stream->head + stream->head_sent, head);
        stream->head_sent += head;
        if (stream->head_sent == stream->head_size && stream->file_left == 0)
            end_answer(session, id, flags);
        return (ssize_t)head;
    }
    ssize_t got = read(stream->fd, to, size < stream->file_left ? size : stream->file_left);
    if (got <= 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    stream->file_left -= (uint64_t)got;
    if (stream->file_left == 0)
        end_answer(session, id, flags);
    return got;
}

/* What is in the head, and the file. */
static void answer(struct stream *stream)
{
    const nghttp2_nv headers[] = {HEADER(":status", "200"),
                                  HEADER("content-type", "application/grpc")};
    nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_answer};
    begin_answer(stream);
    nghttp2_submit_response(stream->connection->session, stream->id, headers, 2, &provider);
}

static void answer_empty(struct stream *stream)
{
    memset(stream->head, 0, MESSAGES_PREFIX);
    stream->head_size = MESSAGES_PREFIX;
    answer(stream);
}

void connection_answer_recorded(const struct recorded_profile *recorded, int64_t now_ms)
{
    struct stream *stream = recorded_stream;
    current_ms = now_ms;
    recorded_stream = NULL;
    if (!stream) {
        if (recorded->fd >= 0)
            descriptor_close(recorded->fd);
        return;
    }
    if (recorded->fd < 0) {
        answer_status(stream, &recorded->status);
        return;
    }
    stream->head_size = profile_head(stream->head, recorded->size, stream->emits_xspace);
    stream->fd = recorded->fd;
    stream->file_left = recorded->size;
    answer(stream);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static bool begin_profile(struct stream *stream, const uint8_t *data, size_t size,
                          struct status *status)
{
    struct profile_request request;
    if (!profile_request_read(&request, data, size, status) ||
        !recording_begin(&request, recorded_call, status))
        return false;
    stream->emits_xspace = request.emits_xspace;
    stream->state = STREAM_RECORDS;
    recorded_stream = stream;
    return true;
}

static bool terminate(struct stream *stream, const uint8_t *data, size_t size,
                      struct status *status)
{
    char session_id[MESSAGES_SESSION_ID];
    if (!terminate_request_read(session_id, data, size, status))
        return false;
    recording_end(session_id);
    answer_empty(stream);
    return true;
}

static bool begin_monitor(struct stream *stream, const uint8_t *data, size_t size,
                          struct status *status)
{
    if (!monitor_request_read(&stream->monitor, data, size, status))
        return false;
    if (stream->monitor.duration_ms > CONNECTION_MONITOR_MS)
        return status_set(status, GRPC_INVALID_ARGUMENT, "Monitoring is limited to one hour.");
    if (monitors == CONNECTION_MONITORS)
        return status_set(status, GRPC_RESOURCE_EXHAUSTED,
                          "The program is being monitored by %d clients already; try again later.",
                          CONNECTION_MONITORS);
    monitors++;
    stream->usage = usage_now(current_ms);
    stream->due_ms = current_ms + (int64_t)stream->monitor.duration_ms;
    stream->state = STREAM_MONITORS;
    return true;
}

static void end_monitor(struct stream *stream, int64_t now_ms)
{
    struct usage now = usage_now(now_ms);
    char line[STATUS_MESSAGE / 2];
    usage_describe(line, sizeof line, &stream->usage, &now, &stream->monitor);
    uint8_t *end = encode_text(stream->head + MESSAGES_PREFIX, 1, line);
    size_t size = (size_t)(end - stream->head) - MESSAGES_PREFIX;
    memset(stream->head, 0, MESSAGES_PREFIX);
    stream->head[MESSAGES_PREFIX - 2] = (uint8_t)(size >> 8);
    stream->head[MESSAGES_PREFIX - 1] = (uint8_t)size;
    stream->head_size = MESSAGES_PREFIX + size;
    answer(stream);
}

static void dispatch(struct stream *stream)
{
    struct status status = {0};
    const uint8_t *data = stream->body;
    size_t size = stream->body_size;
    if (!stream->is_post || !stream->is_grpc) {
        answer_http(stream, stream->is_post ? "415" : "405");
        return;
    }
    stream->state = STREAM_ANSWERS; /* the request is complete */
    stream->connection->served_ms = current_ms;
    bool ok = stream->method != METHOD_OTHER
                  ? message_open(&data, &size, &status)
                  : status_set(&status, GRPC_UNIMPLEMENTED, "Unknown method.");
    if (ok)
        ok = stream->method == METHOD_PROFILE     ? begin_profile(stream, data, size, &status)
             : stream->method == METHOD_TERMINATE ? terminate(stream, data, size, &status)
                                                  : begin_monitor(stream, data, size, &status);
    if (!ok)
        answer_status(stream, &status);
    free_body(stream);
}

static enum method find_method(const uint8_t *path, size_t size)
{
    static const struct {
        const char *path;
        enum method method;
    } methods[SERVICE_NAMES] = {
        {"/tensorflow.ProfilerService/Profile", METHOD_PROFILE},
        {"/tensorflow.ProfilerService/Terminate", METHOD_TERMINATE},
        {"/tensorflow.ProfilerService/Monitor", METHOD_MONITOR},
    };
    for (size_t i = 0; i < SERVICE_NAMES; i++)
        if (size == strlen(methods[i].path) && memcmp(path, methods[i].path, size) == 0)
            return methods[i].method;
    return METHOD_OTHER;
}

/* ---- Calls of nghttp2 ---------------------------------------------------------------------- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    struct connection *connection = context;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    stream->connection = connection;
    stream->id = frame->hd.stream_id;
    stream->method = METHOD_OTHER;
    stream->begun_ms = current_ms;
    stream->fd = -1;
    stream->next = connection->streams;
    connection->streams = stream;
    connection->had_request = true;
    nghttp2_session_set_stream_user_data(session, stream->id, stream);
    return 0;
}

static bool is_text(const uint8_t *data, size_t size, const char *text)
{
    return size == strlen(text) && memcmp(data, text, size) == 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t size, uint8_t flags,
                     void *context)
{
    static const char grpc[] = "application/grpc";
    struct stream *stream = find_stream(context, frame->hd.stream_id);
    (void)session, (void)flags;
    if (!stream || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (is_text(name, name_size, ":method"))
        stream->is_post = is_text(value, size, "POST");
    else if (is_text(name, name_size, ":path"))
        stream->method = find_method(value, size);
    else if (is_text(name, name_size, "content-type"))
        stream->is_grpc = size >= sizeof grpc - 1 && memcmp(value, grpc, sizeof grpc - 1) == 0 &&
                          (size == sizeof grpc - 1 || strchr("+;", value[sizeof grpc - 1]) != NULL);
    return 0;
}

static bool grow_body(struct stream *stream, size_t size)
{
    size_t capacity = stream->body_capacity * 2 > size ? stream->body_capacity * 2 : size;
    if (capacity > CONNECTION_MESSAGE + MESSAGES_PREFIX)
        capacity = CONNECTION_MESSAGE + MESSAGES_PREFIX;
    if (size > CONNECTION_SMALL_BODY &&
        all_bodies + capacity - stream->body_capacity > CONNECTION_ALL_BODIES)
        return false;
    uint8_t *body = realloc(stream->body, capacity);
    if (!body)
        return false;
    all_bodies += capacity - stream->body_capacity;
    stream->body = body;
    stream->body_capacity = capacity;
    return true;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t size, void *context)
{
    struct stream *stream = find_stream(context, id);
    struct status status;
    (void)session, (void)flags;
    if (!stream || stream->state != STREAM_RECEIVES)
        return 0;
    size_t needed = stream->body_size + size;
    bool is_too_large = needed > CONNECTION_MESSAGE + MESSAGES_PREFIX;
    if (is_too_large || (needed > stream->body_capacity && !grow_body(stream, needed))) {
        status_set(&status, GRPC_RESOURCE_EXHAUSTED, "%s",
                   is_too_large ? "The request is too large; 4 MiB at most."
                                : "Out of memory for this request; try again later.");
        answer_status(stream, &status);
        return 0;
    }
    memcpy(stream->body + stream->body_size, data, size);
    stream->body_size = needed;
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    bool ends = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    struct stream *stream = ends ? find_stream(context, frame->hd.stream_id) : NULL;
    (void)session;
    if (stream && stream->state == STREAM_RECEIVES)
        dispatch(stream);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *context)
{
    struct stream *stream = find_stream(context, id);
    (void)session, (void)code;
    if (stream) {
        unlink_stream(stream);
        free_stream(stream);
    }
    return 0;
}

/* ---- The connection ------------------------------------------------------------------------ */

static nghttp2_session *create_session(struct connection *connection)
{
    nghttp2_session *session = NULL;
    nghttp2_session_callbacks *callbacks;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, CONNECTION_STREAMS},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, CONNECTION_HEADERS}};
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    if (nghttp2_session_server_new(&session, callbacks, connection) == 0 &&
        nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2) != 0) {
        nghttp2_session_del(session);
        session = NULL;
    }
    nghttp2_session_callbacks_del(callbacks);
    return session;
}

struct connection *connection_open(int fd, int64_t now_ms, void (*on_recorded)(void))
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection) {
        *connection = (struct connection){
            .fd = fd, .begun_ms = now_ms, .active_ms = now_ms, .served_ms = now_ms};
        connection->session = create_session(connection);
    }
    recorded_call = on_recorded;
    if (connection && connection->session)
        return connection;
    free(connection);
    descriptor_close(fd);
    return NULL;
}

void connection_close(struct connection *connection)
{
    for (struct stream *stream; (stream = connection->streams);) {
        connection->streams = stream->next;
        free_stream(stream);
    }
    nghttp2_session_del(connection->session);
    descriptor_close(connection->fd);
    free(connection);
}

void connection_read(struct connection *connection, int64_t now_ms)
{
    static uint8_t buffer[CONNECTION_READ]; /* one thread reads */
    current_ms = now_ms;
    for (int i = 0; i < CONNECTION_READS && !connection->is_broken; i++) {
        ssize_t got = recv(connection->fd, buffer, sizeof buffer, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0 || nghttp2_session_mem_recv(connection->session, buffer, (size_t)got) != got)
            connection->is_broken = true;
        connection->active_ms = now_ms;
    }
}

bool connection_wants_write(const struct connection *connection)
{
    return connection->to_send_size > 0 || nghttp2_session_want_write(connection->session);
}

/* Bounded, so that a client that reads fast does not keep the others waiting. What to_send points
 * to belongs to nghttp2 until its next call, so it is sent completely first. */
void connection_write(struct connection *connection, int64_t now_ms)
{
    current_ms = now_ms;
    for (int i = 0; i < 64 * CONNECTION_READS && !connection->is_broken; i++) {
        if (connection->to_send_size == 0) {
            ssize_t size = nghttp2_session_mem_send(connection->session, &connection->to_send);
            if (size < 0)
                connection->is_broken = true;
            if (size <= 0)
                break;
            connection->to_send_size = (size_t)size;
        }
        ssize_t sent =
            send(connection->fd, connection->to_send, connection->to_send_size, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (sent < 0) {
            connection->is_broken = true;
            return;
        }
        connection->to_send += sent;
        connection->to_send_size -= (size_t)sent;
        connection->active_ms = now_ms;
    }
    if (!connection_wants_write(connection) && !nghttp2_session_want_read(connection->session))
        connection->is_broken = true;
}

void connection_tick(struct connection *connection, int64_t now_ms)
{
    current_ms = now_ms;
    for (struct stream *stream = connection->streams; stream; stream = stream->next)
        if (stream->state == STREAM_MONITORS && now_ms >= stream->due_ms)
            end_monitor(stream, now_ms);
}

void connections_forked(void)
{
    recorded_stream = NULL;
    all_bodies = monitors = 0;
}
