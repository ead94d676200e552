/*
 * XPlane: the files of JAX's and TensorFlow's profilers (*.xplane.pb), one for each host of a
 * session.
 */
#include "import/xplane/xplane.h"

#include "import/content.h"
#include "import/hlo.h"
#include "import/xplane/xplane_passes.h"

#include <stdio.h>

static void xplane_close(struct source *base)
{
    struct xplane_source *source = (struct xplane_source *)base;
    struct xplane_line *line;
    array_each (line, &source->lines)
        array_free(&line->chunks);
    array_free(&source->lines);
    array_free(&source->chunks);
    struct xplane_plane *plane;
    array_each (plane, &source->planes) {
        idmap_free(&plane->strings);
        idmap_free(&plane->types);
    }
    array_free(&source->planes);
    struct xplane_file *file;
    array_each (file, &source->files) {
        mem_free(file->unpacked);
        file_close(&file->map);
    }
    array_free(&source->files);
    catalog_free(&source->source.catalog);
    mem_free(source);
}

static struct xplane_source *xplane_create(void)
{
    struct xplane_source *source = mem_zeroed(1, sizeof *source);
    source->source.read = xplane_decode;
    source->source.close = xplane_close;
    catalog_init(&source->source.catalog);
    source->source.catalog.format = "xplane";
    return source;
}

/* Files are assumed to be XPlane by name; one is reported as damaged only if it begins like
 * XPlane. */
static bool lay_out(struct xplane_source *source, uint32_t index, const char *label,
                    struct pool *pool, struct error *err)
{
    if (xplane_layout(source, index, label, pool, err))
        return true;
    const struct xplane_file *file = &source->files.items[index];
    if (xplane_recognize(file->data, file->size))
        return false;
    size_t head_size = file->size < CONTENT_HEAD_SIZE ? file->size : CONTENT_HEAD_SIZE;
    if (content_kind(file->data, head_size))
        return content_refuse(file->path, file->data, head_size, err);
    char problem[ERROR_TEXT_SIZE];
    snprintf(problem, sizeof problem, "%s", err->text);
    return error_at(err, file->path, err->offset, "not an XPlane file, or %.400s", problem);
}

/* The file and its host are added even on failure, so that closing the source frees them. */
static bool add_file(struct xplane_source *source, struct xplane_file *file, const char *label,
                     struct pool *pool, struct error *err)
{
    struct catalog *catalog = &source->source.catalog;
    enum stream_kind kind = stream_kind_of(file->data, file->size);
    struct host host = {.file = catalog_string(catalog, text_of(file->path)),
                        .size_bytes = file->size,
                        .compression = catalog_string(catalog, text_of(stream_kind_name(kind))),
                        .start_epoch_ns = TIME_UNSET,
                        .stop_epoch_ns = TIME_UNSET};
    uint32_t index = (uint32_t)source->files.count;
    bool ok = true;
    catalog_give(catalog, file->size, kind != STREAM_PLAIN);
    if (file->size == 0)
        ok = error_in_file(err, file->path,
                           "the file is empty; JAX leaves an empty file behind when a capture "
                           "exceeds 2 GiB: capture fewer steps");
    else if (kind != STREAM_PLAIN)
        ok = stream_unpack(file->path, file->data, file->size, &file->unpacked, &file->size, err);
    if (ok && file->unpacked)
        file->data = file->unpacked;
    if (ok && file->size == 0)
        ok = error_in_file(err, file->path, "the file is empty after unpacking");
    *array_push(&catalog->hosts) = host;
    *array_push(&source->files) = *file;
    return ok && lay_out(source, index, label, pool, err);
}

static bool finish(struct xplane_source *source, bool ok, struct source **result, struct error *err)
{
    if (!ok || !xplane_align(source, err)) {
        source_close(&source->source);
        return false;
    }
    *result = &source->source;
    return true;
}

bool import_xplane_bytes(const char *name, const uint8_t *data, size_t size, struct pool *pool,
                         struct source **result, struct error *err)
{
    struct xplane_source *source = xplane_create();
    struct xplane_file file = {.path = name, .data = data, .size = size};
    return finish(source, add_file(source, &file, "host", pool, err), result, err);
}

bool import_xplane(const struct capture *capture, struct pool *pool, struct source **result,
                   struct error *err)
{
    struct xplane_source *source = xplane_create();
    bool ok = true;
    const struct capture_file *input;
    array_each (input, &capture->files) {
        struct xplane_file file = {.path = input->path};
        ok = file_open(&file.map, input->path, err);
        file.data = file.map.data;
        file.size = file.map.size;
        if (!ok || !(ok = add_file(source, &file, input->label, pool, err)))
            break;
    }
    return finish(source, ok, result, err);
}

bool xplane_recognize(const uint8_t *data, size_t size)
{
    /* A space begins with a plane, and a plane with its id, name, lines or metadata. */
    struct pb_reader in = pb_read(data, size);
    uint64_t tag, length, inner;
    return pb_varint(&in, &tag) && tag == XSPACE_PLANES && pb_varint(&in, &length) && length > 0 &&
           pb_varint(&in, &inner) &&
           (inner == XPLANE_ID ||
            (inner >= XPLANE_NAME && inner <= XPLANE_STATS && (inner & 7) == PB_BYTES));
}
