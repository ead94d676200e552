/*
 * The header of NEFF files: 1,024 bytes, little-endian, at the published offsets.
 */
#include "neuron/program/container.h"

#include <inttypes.h>

enum {
    PACKAGE_VERSION_AT = 0,
    HEADER_SIZE_AT = 8,
    DATA_SIZE_AT = 16,
    VERSION_MAJOR_AT = 24,
    VERSION_MINOR_AT = 32,
    BUILD_VERSION_AT = 40,
    BUILD_VERSION_SIZE = 128,
    CORE_COUNT_AT = 168,
    HASH_AT = 172,
    UUID_AT = 204,
    NAME_AT = 220,
    NAME_SIZE = 256,
    REQUESTED_AT = 476,
    CORES_PER_NODE_AT = 480,
    FEATURES_AT = 544,
    LOGICAL_AT = 552,
};

/* A text in a field, which has a NUL only where it is shorter. Cut between characters. */
static void put_text(uint8_t *field, size_t size, const char *text)
{
    size_t length = strlen(text);
    memcpy(field, text, length <= size ? length : text_utf8_prefix(text, size));
}

void header_encode(const struct neff_header *header, uint8_t bytes[static NEFF_HEADER_SIZE])
{
    memset(bytes, 0, NEFF_HEADER_SIZE);
    memcpy(bytes + PACKAGE_VERSION_AT, &header->package_version, 8);
    memcpy(bytes + HEADER_SIZE_AT, &header->header_size, 8);
    memcpy(bytes + DATA_SIZE_AT, &header->data_size, 8);
    memcpy(bytes + VERSION_MAJOR_AT, &header->version_major, 8);
    memcpy(bytes + VERSION_MINOR_AT, &header->version_minor, 8);
    put_text(bytes + BUILD_VERSION_AT, BUILD_VERSION_SIZE, header->build_version);
    memcpy(bytes + CORE_COUNT_AT, &header->core_count, 4);
    memcpy(bytes + HASH_AT, header->hash, sizeof header->hash);
    memcpy(bytes + UUID_AT, header->uuid, sizeof header->uuid);
    put_text(bytes + NAME_AT, NAME_SIZE, header->name);
    memcpy(bytes + REQUESTED_AT, &header->requested_core_count, 4);
    bytes[CORES_PER_NODE_AT] = (uint8_t)header->core_count; /* one node: kelf-0 */
    memcpy(bytes + FEATURES_AT, &header->feature_bits, 8);
    memcpy(bytes + LOGICAL_AT, &header->logical_core_size, 4);
}

bool neff_recognize(const void *bytes, size_t size)
{
    uint64_t package_version, header_size;
    if (size < BUILD_VERSION_AT)
        return false;
    memcpy(&package_version, (const uint8_t *)bytes + PACKAGE_VERSION_AT, 8);
    memcpy(&header_size, (const uint8_t *)bytes + HEADER_SIZE_AT, 8);
    return package_version >= 1 && package_version < 256 && header_size == NEFF_HEADER_SIZE;
}

/* Copies field by field at fixed offsets: the file's layout is not that of a C struct. Fields for
 * text are one byte longer here, so they always end with a NUL. */
bool header_decode(struct neff_header *header, const uint8_t *bytes, size_t size, const char *path,
                   struct error *err)
{
    if (!neff_recognize(bytes, size))
        return error_in_file(err, path, "this is not a NEFF file");
    if (size < NEFF_HEADER_SIZE)
        return error_at(err, path, size, "the NEFF file ends inside its header");
    *header = (struct neff_header){0};
    memcpy(&header->package_version, bytes + PACKAGE_VERSION_AT, 8);
    memcpy(&header->header_size, bytes + HEADER_SIZE_AT, 8);
    memcpy(&header->data_size, bytes + DATA_SIZE_AT, 8);
    memcpy(&header->version_major, bytes + VERSION_MAJOR_AT, 8);
    memcpy(&header->version_minor, bytes + VERSION_MINOR_AT, 8);
    memcpy(header->build_version, bytes + BUILD_VERSION_AT, BUILD_VERSION_SIZE);
    memcpy(&header->core_count, bytes + CORE_COUNT_AT, 4);
    memcpy(header->hash, bytes + HASH_AT, sizeof header->hash);
    memcpy(header->uuid, bytes + UUID_AT, sizeof header->uuid);
    memcpy(header->name, bytes + NAME_AT, NAME_SIZE);
    memcpy(&header->requested_core_count, bytes + REQUESTED_AT, 4);
    memcpy(&header->feature_bits, bytes + FEATURES_AT, 8);
    memcpy(&header->logical_core_size, bytes + LOGICAL_AT, 4);
    if (header->data_size > size - NEFF_HEADER_SIZE)
        return error_at(err, path, size,
                        "the NEFF file is cut off: %" PRIu64 " bytes should follow its header",
                        header->data_size);
    return true;
}

bool neff_read_header(const char *path, struct neff_header *header, struct error *err)
{
    struct file file;
    if (!file_open(&file, path, err))
        return false;
    bool ok = header_decode(header, file.data, file.size, path, err);
    file_close(&file);
    return ok;
}
