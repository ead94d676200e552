/*
 * What a connection waits for, and for how long: which ones are closed for being late, and which
 * ones may be closed to make room.
 */
#include "capture/server/connection.h"

bool connection_is_waiting(const struct connection *connection)
{
    for (const struct stream *stream = connection->streams; stream; stream = stream->next)
        if (stream->state == STREAM_RECORDS || stream->state == STREAM_MONITORS)
            return false;
    return true;
}

size_t connection_profiles(const struct connection *connection)
{
    size_t count = 0;
    for (const struct stream *stream = connection->streams; stream; stream = stream->next)
        count += stream->fd >= 0;
    return count;
}

bool connection_has_profile(const struct connection *connection)
{
    return connection_profiles(connection) > 0;
}

/* A client waiting for a capture may be silent: TCP finds out whether it is still there. */
bool connection_is_late(const struct connection *connection, int64_t now_ms)
{
    bool is_answering = false;
    for (const struct stream *stream = connection->streams; stream; stream = stream->next) {
        if (stream->state == STREAM_RECEIVES && now_ms - stream->begun_ms > CONNECTION_REQUEST_MS)
            return true;
        is_answering |= stream->state == STREAM_ANSWERS;
    }
    int64_t silent_ms = now_ms - connection->active_ms;
    if (!connection->had_request)
        return now_ms - connection->begun_ms > CONNECTION_START_MS;
    if (is_answering && now_ms - connection->served_ms > CONNECTION_STALL_MS)
        return true;
    if (is_answering || connection->to_send_size > 0)
        return silent_ms > CONNECTION_STALL_MS;
    return connection_is_waiting(connection) && silent_ms > CONNECTION_IDLE_MS;
}
