/*
 * Compressed archives, by zlib.
 */
#include "neuron/program/compressed.h"

/* The large part of a NEFF is weights, which hardly compress. gzip can reach a ratio of a thousand,
 * so the limit for other streams would let 100 MB become 100 GB. */
enum { ARCHIVE_MAX_RATIO = 20 };

bool archive_unpack(const char *path, const uint8_t *data, size_t size, uint8_t **unpacked,
                    size_t *unpacked_size, struct error *err)
{
    *unpacked = NULL;
    if (stream_kind_of(data, size) == STREAM_PLAIN)
        return true;
    return stream_unpack_within(path, data, size, ARCHIVE_MAX_RATIO, unpacked, unpacked_size, err);
}

bool archive_pack(struct output *archive, struct error *err)
{
    (void)err;
    struct output packed;
    struct packer *packer = packer_create();
    output_memory(&packed);
    packer_pack(packer, archive->data, archive->size, &packed);
    packer_destroy(packer);
    /* An archive that would be refused when read stays uncompressed. */
    if (archive->size > STREAM_UNCHECKED_SIZE && archive->size / ARCHIVE_MAX_RATIO > packed.size) {
        output_discard(&packed);
        return true;
    }
    output_discard(archive);
    *archive = packed;
    return true;
}
