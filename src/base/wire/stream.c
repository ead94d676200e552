/*
 * Decompression and compression with zlib and libzstd.
 */
#include "base/wire/stream.h"

#include <zlib.h>
#include <zstd.h>

enum { CHUNK = 256 << 10 };

struct stream {
    enum stream_kind kind;
    const char *name;
    const uint8_t *data;
    size_t size, at; /* at: compressed bytes consumed */
    z_stream gzip;
    ZSTD_DStream *zstd;
    bool inside; /* inside a gzip member or a zstd frame */
};

enum stream_kind stream_kind_of(const uint8_t *data, size_t size)
{
    if (size >= 2 && data[0] == 0x1F && data[1] == 0x8B)
        return STREAM_GZIP;
    if (size >= 4 && data[0] == 0x28 && data[1] == 0xB5 && data[2] == 0x2F && data[3] == 0xFD)
        return STREAM_ZSTD;
    /* A skippable frame, which parallel compressors write first. */
    if (size >= 4 && (data[0] & 0xF0) == 0x50 && data[1] == 0x2A && data[2] == 0x4D &&
        data[3] == 0x18)
        return STREAM_ZSTD;
    return STREAM_PLAIN;
}

const char *stream_kind_name(enum stream_kind kind)
{
    static const char *const names[] = {"none", "gzip", "zstd"};
    return names[kind];
}

/* Large files may have been compressed with a window of up to 2 GiB; a small file must not request
 * one. */
static int window_log_limit(size_t packed_size)
{
    int log = 27; /* zstd's default maximum: 128 MiB */
    while (log < 31 && packed_size >> (log - 5) > 0)
        log++;
    return log;
}

struct stream *stream_open(const char *name, const uint8_t *data, size_t size)
{
    struct stream *stream = mem_zeroed(1, sizeof *stream);
    stream->kind = stream_kind_of(data, size);
    stream->name = name;
    stream->data = data;
    stream->size = size;
    bool ready = true;
    if (stream->kind == STREAM_GZIP) {
        ready = inflateInit2(&stream->gzip, 15 + 16) == Z_OK; /* largest window, gzip framing */
    } else if (stream->kind == STREAM_ZSTD) {
        stream->zstd = ZSTD_createDStream();
        ready = stream->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(
                                    stream->zstd, ZSTD_d_windowLogMax, window_log_limit(size)));
    }
    if (!ready)
        mem_exhausted();
    return stream;
}

void stream_close(struct stream *stream)
{
    if (stream->kind == STREAM_GZIP)
        inflateEnd(&stream->gzip);
    ZSTD_freeDStream(stream->zstd);
    mem_free(stream);
}

static bool cut_off(struct stream *stream, struct error *err)
{
    return error_at(err, stream->name, stream->at, "the %s data is truncated",
                    stream_kind_name(stream->kind));
}

static bool damaged(struct stream *stream, const char *reason, struct error *err)
{
    return error_at(err, stream->name, stream->at, "the %s data is damaged: %s",
                    stream_kind_name(stream->kind), reason);
}

static unsigned limited(size_t size)
{
    return size > UINT32_MAX / 2 ? UINT32_MAX / 2 : (unsigned)size;
}

/* Members that follow each other are one stream. zlib counts in 32 bits, so large ranges are passed
 * in pieces; input that ends inside a member is an error, not an early end of the data. */
static bool read_gzip(struct stream *stream, uint8_t *buffer, size_t size, size_t *got,
                      struct error *err)
{
    z_stream *gzip = &stream->gzip;
    while (*got < size) {
        if (!stream->inside) {
            if (stream->at == stream->size)
                return true;
            inflateReset(gzip);
            stream->inside = true;
        }
        gzip->next_in = (z_const Bytef *)(uintptr_t)(stream->data + stream->at);
        gzip->avail_in = limited(stream->size - stream->at);
        gzip->next_out = buffer + *got;
        gzip->avail_out = limited(size - *got);
        unsigned in_before = gzip->avail_in, out_before = gzip->avail_out;
        int result = inflate(gzip, Z_NO_FLUSH);
        stream->at += in_before - gzip->avail_in;
        *got += out_before - gzip->avail_out;
        if (result == Z_STREAM_END)
            stream->inside = false;
        else if (result == Z_BUF_ERROR ||
                 (result == Z_OK && stream->at == stream->size && *got < size))
            return cut_off(stream, err);
        else if (result != Z_OK)
            return damaged(stream, gzip->msg ? gzip->msg : "unknown block", err);
    }
    return true;
}

static bool read_zstd(struct stream *stream, uint8_t *buffer, size_t size, size_t *got,
                      struct error *err)
{
    ZSTD_inBuffer in = {stream->data, stream->size, stream->at};
    ZSTD_outBuffer out = {buffer, size, *got};
    while (out.pos < size && (in.pos < in.size || stream->inside)) {
        size_t before_in = in.pos, before_out = out.pos;
        size_t result = ZSTD_decompressStream(stream->zstd, &out, &in);
        stream->at = in.pos;
        *got = out.pos;
        if (ZSTD_isError(result))
            return damaged(stream, ZSTD_getErrorName(result), err);
        stream->inside = result != 0;
        if (stream->inside && in.pos == before_in && out.pos == before_out)
            return cut_off(stream, err);
    }
    return true;
}

bool stream_read(struct stream *stream, uint8_t *buffer, size_t size, size_t *got,
                 struct error *err)
{
    *got = 0;
    if (stream->kind == STREAM_GZIP)
        return read_gzip(stream, buffer, size, got, err);
    if (stream->kind == STREAM_ZSTD)
        return read_zstd(stream, buffer, size, got, err);
    *got = size < stream->size - stream->at ? size : stream->size - stream->at;
    if (*got > 0)
        memcpy(buffer, stream->data + stream->at, *got);
    stream->at += *got;
    return true;
}

static bool is_plausible_size(size_t unpacked, size_t packed, size_t max_ratio, size_t available,
                              const char *name, struct error *err)
{
    char size[QUANTITY_SIZE];
    if (unpacked > available / 3 * 2) /* the block grows by half */
        return error_in_file(err, name,
                             "decompresses to more than %s, the limit on temporary data for "
                             "input of its size; raise --scratch-limit, or decompress it to a file "
                             "first",
                             format_bytes(available / 3 * 2, size));
    if (unpacked > STREAM_UNCHECKED_SIZE && unpacked / max_ratio > packed)
        return error_in_file(err, name,
                             "decompresses to more than %zu times its size; decompress it first",
                             max_ratio);
    return true;
}

bool stream_unpack(const char *name, const uint8_t *data, size_t size, uint8_t **unpacked,
                   size_t *unpacked_size, struct error *err)
{
    return stream_unpack_within(name, data, size, STREAM_MAX_RATIO, unpacked, unpacked_size, err);
}

/* Goes through a buffer: where the block is a file, its pages are written without being mapped
 * in. */
bool stream_unpack_within(const char *name, const uint8_t *data, size_t size, size_t max_ratio,
                          uint8_t **unpacked, size_t *unpacked_size, struct error *err)
{
    struct stream *stream = stream_open(name, data, size);
    uint8_t *chunk = mem_alloc(CHUNK);
    ARRAY(uint8_t) block = {0};
    array_reserve(&block, CHUNK);
    size_t got = CHUNK, available = mem_available();
    bool ok = true;
    while (ok && got == CHUNK) {
        ok = stream_read(stream, chunk, CHUNK, &got, err) &&
             is_plausible_size(block.count + got, size, max_ratio, available, name, err);
        if (!ok)
            break;
        array_reserve(&block, block.count + got);
        mem_write(block.items, block.items + block.count, chunk, got);
        block.count += got;
    }
    mem_free(chunk);
    stream_close(stream);
    if (!ok) {
        array_free(&block);
        return false;
    }
    *unpacked = mem_resize(block.items, block.count, 1);
    *unpacked_size = block.count;
    return true;
}

struct packer {
    z_stream gzip;
};

struct packer *packer_create(void)
{
    enum { MEMORY = 8, LEVEL = 1 }; /* higher levels take twice the time for a tenth of the size */
    struct packer *packer = mem_zeroed(1, sizeof *packer);
    if (deflateInit2(&packer->gzip, LEVEL, Z_DEFLATED, 15 + 16, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        mem_exhausted();
    return packer;
}

void packer_pack(struct packer *packer, const char *data, size_t size, struct output *out)
{
    z_stream *gzip = &packer->gzip;
    deflateReset(gzip);
    out->size = 0;
    for (int result = Z_OK; result != Z_STREAM_END;) {
        gzip->next_in = (z_const Bytef *)(uintptr_t)data;
        gzip->avail_in = limited(size);
        output_reserve(out, CHUNK);
        gzip->next_out = (Bytef *)out->data + out->size;
        gzip->avail_out = limited(out->capacity - out->size);
        unsigned in_before = gzip->avail_in, out_before = gzip->avail_out;
        result = deflate(gzip, in_before == size ? Z_FINISH : Z_NO_FLUSH);
        data += in_before - gzip->avail_in;
        size -= in_before - gzip->avail_in;
        out->size += out_before - gzip->avail_out;
    }
}

void packer_destroy(struct packer *packer)
{
    if (!packer)
        return;
    deflateEnd(&packer->gzip);
    mem_free(packer);
}
