/*
 * Compressed archives, by zlib.
 */
#include "neff/compressed.h"

bool archive_unpack(const char *path, const uint8_t *data, size_t size, uint8_t **unpacked,
                    size_t *unpacked_size, struct error *err)
{
    *unpacked = NULL;
    if (stream_kind_of(data, size) == STREAM_PLAIN)
        return true;
    return stream_unpack(path, data, size, unpacked, unpacked_size, err);
}

bool archive_pack(struct output *archive, struct error *err)
{
    (void)err;
    struct output packed;
    struct packer *packer = packer_create();
    output_memory(&packed);
    packer_pack(packer, archive->data, archive->size, &packed);
    packer_destroy(packer);
    output_discard(archive);
    *archive = packed;
    return true;
}
