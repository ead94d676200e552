/*
 * Field numbers are those of profiler_service.proto and profiler_options.proto.
 */
#include "capture/server/messages.h"

#include "base/wire/wire.h"
#include "capture/recorder/encode.h"
#include "capture/server/limits.h"

#include <stdarg.h>
#include <stdio.h>

enum { DEFAULT_LEVEL = 2, MAX_LEVEL = 3 };
#define TOOL_NAME "xplane.pb"

bool status_set(struct status *status, enum grpc_status code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status->code = code;
    vsnprintf(status->message, sizeof status->message, format, arguments);
    va_end(arguments);
    return code == GRPC_OK;
}

bool message_open(const uint8_t **data, size_t *size, struct status *status)
{
    const uint8_t *prefix = *data;
    if (*size < MESSAGES_PREFIX)
        return status_set(status, GRPC_INVALID_ARGUMENT, "The request has no message.");
    if (prefix[0] != 0)
        return status_set(status, GRPC_UNIMPLEMENTED, "Compressed requests are not supported.");
    uint64_t length = (uint64_t)prefix[1] << 24 | (uint64_t)prefix[2] << 16 |
                      (uint64_t)prefix[3] << 8 | prefix[4];
    if (length != *size - MESSAGES_PREFIX)
        return status_set(status, GRPC_INVALID_ARGUMENT,
                          "The request's message is not as long as it says.");
    *data += MESSAGES_PREFIX;
    *size -= MESSAGES_PREFIX;
    return true;
}

static bool malformed(struct status *status, const struct pb_reader *in)
{
    return status_set(status, GRPC_INVALID_ARGUMENT, "The request is malformed: %s.", in->problem);
}

static bool take_session_id(char *id, const struct pb_field *field, struct status *status)
{
    if (field->value >= MESSAGES_SESSION_ID || memchr(field->bytes, '\0', field->value))
        return status_set(status, GRPC_INVALID_ARGUMENT, "The session_id is too long.");
    memcpy(id, field->bytes, field->value);
    id[field->value] = '\0';
    return true;
}

/* An entry of advanced_configuration. Those of GPUs are libkymo-cuda's, which takes them when the
 * program starts; others are for devices that are not recorded here. */
static bool check_advanced(const struct pb_field *entry, struct status *status)
{
    struct pb_reader in = pb_enter(entry);
    struct pb_field field;
    while (pb_next(&in, &field)) {
        struct text key = pb_text(&field);
        if (field.tag != PB_TAG(1, PB_BYTES) || !text_starts(key, TEXT("gpu_")))
            continue;
        int size = key.size < CAPTURE_OPTION_NAME ? (int)text_utf8_prefix(key.data, key.size)
                                                  : CAPTURE_OPTION_NAME;
        return status_set(status, GRPC_INVALID_ARGUMENT,
                          "Options of GPUs are set when the program is started (kymo inspect "
                          "--gpu-...), not in a capture: %.*s.",
                          size, key.data);
    }
    return !in.problem || malformed(status, &in);
}

/* The fields that concern libkymo; others are skipped, as newer clients may send more. The request
 * points into the message, which must outlive it. */
static bool read_options(struct profile_request *request, const struct pb_field *message,
                         struct status *status)
{
    struct pb_reader in = pb_enter(message);
    struct pb_field field;
    uint64_t version = 0, level = 0, start_ns = 0;
    while (pb_next(&in, &field))
        switch (field.tag) {
        case PB_TAG(2, PB_VARINT):
            level = field.value;
            break;
        case PB_TAG(5, PB_VARINT):
            version = field.value;
            break;
        case PB_TAG(8, PB_VARINT):
            start_ns = field.value;
            break;
        case PB_TAG(9, PB_VARINT):
            request->duration_ms = field.value;
            break;
        case PB_TAG(12, PB_BYTES):
            if (!check_advanced(&field, status))
                return false;
            break;
        default:
            break;
        }
    if (in.problem)
        return malformed(status, &in);
    if (version == 0) /* version 0 means that the options are to be ignored */
        return true;
    request->level = level < MAX_LEVEL ? (int)level : MAX_LEVEL;
    request->start_ns = start_ns;
    request->options = message->bytes;
    request->options_size = message->value;
    return true;
}

/* A duration in the options takes precedence over the request's own. The request points into
 * `data`. */
bool profile_request_read(struct profile_request *request, const uint8_t *data, size_t size,
                          struct status *status)
{
    struct pb_reader in = pb_read(data, size);
    struct pb_field field;
    uint64_t duration_ms = 0;
    *request = (struct profile_request){.level = DEFAULT_LEVEL};
    while (pb_next(&in, &field)) {
        bool ok = true;
        switch (field.tag) {
        case PB_TAG(1, PB_VARINT):
            duration_ms = field.value;
            break;
        case PB_TAG(4, PB_BYTES):
            ok = read_options(request, &field, status);
            break;
        case PB_TAG(6, PB_BYTES):
            ok = take_session_id(request->session_id, &field, status);
            break;
        case PB_TAG(9, PB_VARINT):
            request->emits_xspace = field.value != 0;
            break;
        default:
            break;
        }
        if (!ok)
            return false;
    }
    if (request->duration_ms == 0)
        request->duration_ms = duration_ms;
    if (request->duration_ms > CAPTURE_LONGEST_MS)
        request->duration_ms = MESSAGES_FOREVER;
    return !in.problem || malformed(status, &in);
}

bool terminate_request_read(char session_id[static MESSAGES_SESSION_ID], const uint8_t *data,
                            size_t size, struct status *status)
{
    struct pb_reader in = pb_read(data, size);
    struct pb_field field;
    session_id[0] = '\0';
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(1, PB_BYTES) && !take_session_id(session_id, &field, status))
            return false;
    return !in.problem || malformed(status, &in);
}

bool monitor_request_read(struct monitor_request *request, const uint8_t *data, size_t size,
                          struct status *status)
{
    struct pb_reader in = pb_read(data, size);
    struct pb_field field;
    *request = (struct monitor_request){0};
    while (pb_next(&in, &field))
        switch (field.tag) {
        case PB_TAG(1, PB_VARINT):
            request->duration_ms = field.value;
            break;
        case PB_TAG(2, PB_VARINT):
            request->level = field.value;
            break;
        case PB_TAG(3, PB_VARINT):
            request->has_time = field.value != 0;
            break;
        default:
            break;
        }
    return !in.problem || malformed(status, &in);
}

static uint8_t *put_prefix(uint8_t *to, uint64_t size)
{
    *to++ = 0;
    for (int shift = 24; shift >= 0; shift -= 8)
        *to++ = (uint8_t)(size >> shift);
    return to;
}

static size_t varint_size(uint64_t value)
{
    uint8_t bytes[ENCODE_LONGEST];
    return (size_t)(encode_varint(bytes, value) - bytes);
}

/* Clients that do not ask for the profile save what is in tool_data, as HOST.NAME. */
size_t profile_head(uint8_t head[static MESSAGES_HEAD], uint64_t size, bool is_xspace)
{
    uint64_t field = 1 + varint_size(size) + size; /* the profile with its tag and length */
    uint64_t tool = 2 + sizeof TOOL_NAME - 1 + field;
    uint8_t *to = put_prefix(head, is_xspace ? field : 1 + varint_size(tool) + tool);
    if (!is_xspace) {
        to = encode_varint(encode_tag(to, 6, ENCODE_BYTES), tool);
        to = encode_text(to, 1, TOOL_NAME);
    }
    to = encode_varint(encode_tag(to, is_xspace ? 8 : 2, ENCODE_BYTES), size);
    return (size_t)(to - head);
}
