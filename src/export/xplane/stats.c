/*
 * XPlane export: texts and stats as protobuf fields.
 */
#include "export/xplane/writer_passes.h"

void xspace_put_text(const struct xspace *space, struct output *out, uint32_t field,
                     struct text text)
{
    if (space->is_copy || text_utf8_prefix(text.data, text.size) == text.size) {
        pb_put_text(out, field, text);
        return;
    }
    struct output clean;
    output_memory(&clean);
    for (size_t at = 0; at < text.size;) {
        size_t good = text_utf8_prefix(text.data + at, text.size - at);
        output_write(&clean, text.data + at, good);
        at += good;
        if (at < text.size)
            output_text(&clean, UTF8_REPLACEMENT);
        at++;
    }
    pb_put_bytes(out, field, clean.data, clean.size);
    output_discard(&clean);
}

/* The slow path, for any type. An id of 0 is not written, as protobuf omits zeros: copies must have
 * the same bytes. */
void xspace_put_stat(const struct xspace *space, const struct xspace_plane *plane,
                     struct output *out, uint32_t field, uint64_t id, const struct arg *arg)
{
    size_t stat = pb_begin(out, field);
    if (id != 0)
        pb_put_varint(out, XSTAT_METADATA_ID, id);
    switch ((enum arg_type)arg->type) {
    case ARG_INT:
        pb_put_varint(out, XSTAT_INT64, arg->uinteger);
        break;
    case ARG_UINT:
        pb_put_varint(out, XSTAT_UINT64, arg->uinteger);
        break;
    case ARG_DOUBLE:
        pb_put_fixed64(out, XSTAT_DOUBLE, arg->uinteger);
        break;
    case ARG_STRING:
        pb_put_varint(out, XSTAT_REF, xspace_stat_id(plane, arg->string));
        break;
    case ARG_TEXT:
    case ARG_JSON:
        xspace_put_text(space, out, XSTAT_STR, (struct text){(const char *)arg->data, arg->size});
        break;
    case ARG_BYTES:
        pb_put_bytes(out, XSTAT_BYTES, arg->data, arg->size);
        break;
    case ARG_NONE:
        break;
    }
    pb_end(out, stat);
}
