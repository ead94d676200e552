/*
 * The requests. Field numbers are those of profiler_service.proto and profiler_options.proto.
 */
#include "base/wire/wire.h"
#include "capture/client/settings.h"

enum { MAX_EVENTS = 1000000, GRPC_PREFIX = 5 };

static void put_options(struct output *out, const struct remote_request *request)
{
    const struct remote_settings *settings = request->settings;
    pb_put_varint(out, 1, settings->has_dataset_ops);
    pb_put_varint(out, 2, settings->host_level);
    pb_put_varint(out, 3, settings->device_level);
    pb_put_varint(out, 4, settings->python_level);
    pb_put_varint(out, 5, 1); /* version: with 0, servers discard the options */
    pb_put_varint(out, 7, settings->has_hlo);
    if (request->start_ns)
        pb_put_varint(out, 8, request->start_ns);
    pb_put_varint(out, 9, request->duration_ms);
    if (settings->has_mask) {
        size_t mark = pb_begin(out, 11);
        pb_put_varint(out, 1, settings->traceme_mask);
        pb_end(out, mark);
    }
    output_write(out, settings->advanced.data, settings->advanced.size);
    pb_put_varint(out, 13, 1); /* a tracer that cannot start is an error, not a missing plane */
    pb_put_text(out, 14, text_of(request->session_id));
    pb_put_text(out, 15, text_of(request->host_name));
}

/* The length is filled in afterwards. */
static size_t begin_message(struct output *out)
{
    static const char prefix[GRPC_PREFIX];
    output_write(out, prefix, sizeof prefix);
    return out->size;
}

static void end_message(struct output *out, size_t mark)
{
    size_t size = out->size - mark;
    for (size_t i = 1; i < GRPC_PREFIX; i++, size >>= 8)
        out->data[mark - i] = (char)size;
}

void request_put(struct output *out, const struct remote_request *request)
{
    size_t message = begin_message(out);
    pb_put_varint(out, 1, request->duration_ms);
    pb_put_varint(out, 2, MAX_EVENTS);
    size_t options = pb_begin(out, 4);
    put_options(out, request);
    pb_end(out, options);
    pb_put_text(out, 5, text_of(request->repository));
    pb_put_text(out, 6, text_of(request->session_id));
    pb_put_text(out, 7, text_of(request->host_name));
    pb_put_varint(out, 9, 1); /* emit_xspace */
    end_message(out, message);
}

void terminate_put(struct output *out, const char *session_id)
{
    size_t message = begin_message(out);
    pb_put_text(out, 1, text_of(session_id));
    end_message(out, message);
}
