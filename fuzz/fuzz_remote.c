/*
 * Fuzz target: captures over the network. The first byte chooses what the rest is: an answer to the
 * client, which must be read alike in one piece and in many; a request's message; or what a client
 * sends to the server after its preface. Captures are not taken.
 */
#include "capture/client/answer.h"
#include "capture/server/connection.h"
#include "capture/server/descriptors.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ANSWER, MESSAGE, CONNECTION, KINDS, MOST = 60000 };

/* ---- The client ---------------------------------------------------------------------------- */

static bool take_answer(struct answer *answer, struct output *out, const uint8_t *data, size_t size,
                        size_t piece)
{
    static struct answer_total total = {.max_bytes = UINT64_MAX};
    bool ok = true;
    output_memory(out);
    answer_begin(answer, out, &total);
    for (size_t at = 0; ok && at < size; at += piece)
        ok = answer_take(answer, data + at, size - at < piece ? size - at : piece);
    return ok;
}

static void try_answer(const uint8_t *data, size_t size)
{
    struct answer whole, pieces;
    struct output first, second;
    bool is_good = take_answer(&whole, &first, data, size, size + 1);
    bool is_alike = take_answer(&pieces, &second, data, size, 1) == is_good;
    assert(is_alike && answer_is_whole(&whole) == answer_is_whole(&pieces));
    assert(!is_good ||
           (first.size == second.size && memcmp(first.data, second.data, first.size) == 0));
    assert(whole.profile_bytes == first.size && first.size <= size);
    output_discard(&first);
    output_discard(&second);
}

/* ---- The server ---------------------------------------------------------------------------- */

static bool is_recording;

bool recording_begin(const struct profile_request *request, void (*finished)(void),
                     struct status *status)
{
    (void)finished;
    assert(request->level >= 0 && request->level <= 3);
    assert(strlen(request->session_id) < MESSAGES_SESSION_ID);
    if (is_recording)
        return status_set(status, GRPC_ALREADY_EXISTS, "busy");
    is_recording = true;
    return true;
}

void recording_end(const char *session_id)
{
    assert(strlen(session_id) < MESSAGES_SESSION_ID);
}

void recording_cancel(void)
{
}

static void try_message(const uint8_t *data, size_t size)
{
    struct profile_request profile;
    struct monitor_request monitor;
    struct status status = {0};
    char session_id[MESSAGES_SESSION_ID];
    if (profile_request_read(&profile, data, size, &status) && profile.options)
        assert(profile.options >= data && profile.options + profile.options_size <= data + size);
    terminate_request_read(session_id, data, size, &status);
    monitor_request_read(&monitor, data, size, &status);
    if (message_open(&data, &size, &status))
        profile_request_read(&profile, data, size, &status);
}

static void ignore(void)
{
}

static int open_profile(void *context)
{
    (void)context;
    int fd = memfd_create("profile", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, "profile", 7) == 7)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static int take_end(void *context)
{
    return *(const int *)context;
}

static void try_connection(const uint8_t *data, size_t size)
{
    static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    static uint8_t sent[1 << 16];
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    struct connection *connection = connection_open(descriptor_keep(take_end, &ends[0]), 0, ignore);
    is_recording = false;
    if (write(ends[1], hello, sizeof hello - 1) > 0 && write(ends[1], data, size) >= 0)
        shutdown(ends[1], SHUT_WR);
    for (int64_t now_ms = 1; now_ms < 100 && !connection->is_broken; now_ms++) {
        connection_read(connection, now_ms);
        connection_tick(connection, now_ms * CONNECTION_MONITOR_MS);
        if (is_recording && now_ms % 2 == 0) {
            struct recorded_profile recorded = {.fd = descriptor_keep(open_profile, NULL),
                                                .size = 7};
            connection_answer_recorded(&recorded, now_ms);
            is_recording = false;
        }
        connection_write(connection, now_ms);
        connection_is_late(connection, now_ms);
        while (read(ends[1], sent, sizeof sent) > 0)
            continue;
    }
    connection_close(connection);
    close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > MOST)
        return 0;
    switch (data[0] % KINDS) {
    case ANSWER:
        try_answer(data + 1, size - 1);
        break;
    case MESSAGE:
        try_message(data + 1, size - 1);
        break;
    default:
        try_connection(data + 1, size - 1);
    }
    return 0;
}
