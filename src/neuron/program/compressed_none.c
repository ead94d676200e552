/*
 * In builds without zlib: archives must be plain.
 */
#include "neuron/program/compressed.h"

bool archive_unpack(const char *path, const uint8_t *data, size_t size, uint8_t **unpacked,
                    size_t *unpacked_size, struct error *err)
{
    *unpacked = NULL;
    *unpacked_size = 0;
    if (size < 2 || data[0] != 0x1F || data[1] != 0x8B)
        return true;
    return error_in_file(err, path,
                         "it is compressed, and this build of Kymo has no zlib; build it with "
                         "`kymo neff build --plain`, or use a complete build of Kymo");
}

bool archive_pack(struct output *archive, struct error *err)
{
    (void)archive;
    return error_set(err, "this build of Kymo has no zlib: NEFFs can be written uncompressed only");
}
