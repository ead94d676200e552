/*
 * Tar archives: blocks of 512 bytes; a header for each member with numbers in octal, then its data.
 */
#include "neuron/program/tar.h"

#include <assert.h>
#include <stdio.h>

enum {
    BLOCK = 512,
    NAME_SIZE = 100,
    SIZE_AT = 124,
    SIZE_SIZE = 12,
    CHECKSUM_AT = 148,
    CHECKSUM_SIZE = 8,
    TYPE_AT = 156,
    MAGIC_AT = 257,
    PREFIX_AT = 345,
    PREFIX_SIZE = 155,
};

/* Of the header's bytes, with spaces in place of the checksum. */
static unsigned header_sum(const uint8_t *header)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < BLOCK; i++)
        sum += i >= CHECKSUM_AT && i < CHECKSUM_AT + CHECKSUM_SIZE ? ' ' : header[i];
    return sum;
}

/* Owner, time and mode are constants, so that the archive depends on its content alone. The name
 * must fit in the header; callers check it. */
void tar_add(struct output *out, const char *name, const void *data, size_t size)
{
    char header[BLOCK] = {0}, number[24];
    size_t name_size = strlen(name);
    assert(name_size <= NAME_SIZE);
    for (size_t i = 0; i < name_size; i++) /* has a NUL only if it is shorter than the field */
        header[i] = name[i];
    memcpy(header + 100, "0000644", 8); /* mode */
    memcpy(header + 108, "0000000", 8); /* owner */
    memcpy(header + 116, "0000000", 8); /* group */
    snprintf(number, sizeof number, "%011zo", size);
    if (strlen(number) < SIZE_SIZE) {
        memcpy(header + SIZE_AT, number, SIZE_SIZE);
    } else { /* 8 GiB and more: in binary, as GNU tar does */
        header[SIZE_AT] = (char)0x80;
        for (unsigned i = 0; i < 8; i++)
            header[SIZE_AT + SIZE_SIZE - 1 - i] = (char)((uint64_t)size >> 8 * i);
    }
    memcpy(header + 136, "00000000000", 12); /* time */
    header[TYPE_AT] = '0';
    memcpy(header + MAGIC_AT, "ustar", 6);
    header[MAGIC_AT + 6] = header[MAGIC_AT + 7] = '0'; /* version */
    snprintf(number, sizeof number, "%06o", header_sum((const uint8_t *)header));
    memcpy(header + CHECKSUM_AT, number, 7);
    header[CHECKSUM_AT + 7] = ' ';
    output_write(out, header, sizeof header);
    output_write(out, data, size);
    static const char padding[BLOCK];
    output_write(out, padding, (BLOCK - size % BLOCK) % BLOCK);
}

void tar_end(struct output *out)
{
    static const char zeros[2 * BLOCK];
    output_write(out, zeros, sizeof zeros);
}

/* Octal with spaces or NULs around it, or binary behind a byte with the highest bit set. */
static bool read_number(const uint8_t *at, size_t size, uint64_t *value)
{
    *value = 0;
    if (at[0] & 0x80) {
        for (size_t i = 1; i < size; i++) {
            if (*value >> 56)
                return false;
            *value = *value << 8 | at[i];
        }
        return at[0] == 0x80;
    }
    size_t i = 0;
    while (i < size && at[i] == ' ')
        i++;
    for (; i < size && at[i] >= '0' && at[i] <= '7'; i++)
        *value = *value << 3 | (at[i] - (uint64_t)'0');
    return i == size || at[i] == ' ' || at[i] == '\0';
}

static size_t field_size(const uint8_t *field, size_t limit)
{
    const uint8_t *nul = memchr(field, '\0', limit);
    return nul ? (size_t)(nul - field) : limit;
}

static const char *header_name(const uint8_t *header, struct arena *arena)
{
    const uint8_t *prefix = header + PREFIX_AT;
    size_t size = field_size(header, NAME_SIZE);
    /* GNU's own format has other fields in place of the prefix. */
    bool is_posix = memcmp(header + MAGIC_AT, "ustar", 6) == 0;
    size_t before = is_posix ? field_size(prefix, PREFIX_SIZE) : 0;
    char *name = arena_alloc(arena, before + 1 + size + 1), *at = name;
    if (before > 0) {
        memcpy(at, prefix, before);
        at[before] = '/';
        at += before + 1;
    }
    memcpy(at, header, size);
    at[size] = '\0';
    return name;
}

/* The path in a pax header: records of "length key=value\n". NULL if it has none. */
static const char *pax_path(const uint8_t *data, size_t size, struct arena *arena)
{
    for (size_t at = 0; at < size;) {
        size_t length = 0, i = at;
        for (; i < size && data[i] >= '0' && data[i] <= '9' && length <= size; i++)
            length = length * 10 + (data[i] - (size_t)'0');
        if (i >= size || data[i] != ' ' || length > size - at || at + length <= i + 1)
            return NULL;
        struct text record = {(const char *)data + i + 1, at + length - (i + 1)};
        if (text_starts(record, TEXT("path=")))
            return arena_copy_text(arena, record.data + 5,
                                   record.size - 5 - text_ends(record, TEXT("\n")));
        at += length;
    }
    return NULL;
}

/* Copies no data: members point into the archive. Long names, in pax or GNU headers, apply to the
 * next member only. The archive may end without its two empty blocks. */
bool tar_read(const uint8_t *archive, size_t size, const char *path, struct arena *arena,
              member_list *members, struct error *err)
{
    const char *long_name = NULL;
    for (size_t at = 0; size - at >= BLOCK;) {
        const uint8_t *header = archive + at;
        uint64_t data_size, sum;
        if (header[0] == '\0')
            return true;
        if (!read_number(header + CHECKSUM_AT, CHECKSUM_SIZE, &sum) || sum != header_sum(header))
            return error_at(err, path, at,
                            "the archive inside is damaged: the header of a member does not match "
                            "its checksum");
        at += BLOCK;
        if (!read_number(header + SIZE_AT, SIZE_SIZE, &data_size) || data_size > size - at)
            return error_at(err, path, at, "the archive inside is cut off");
        const uint8_t *data = archive + at;
        char type = (char)header[TYPE_AT];
        if (type == 'x') {
            const char *name = pax_path(data, data_size, arena);
            long_name = name ? name : long_name;
        } else if (type == 'L') {
            long_name =
                arena_copy_text(arena, (const char *)data, field_size(data, (size_t)data_size));
        } else {
            if (type == '0' || type == '\0') {
                if (members->count == TAR_MAX_MEMBERS)
                    return error_at(err, path, at, "the archive inside has more than %d members",
                                    TAR_MAX_MEMBERS);
                const char *name = long_name ? long_name : header_name(header, arena);
                name += strncmp(name, "./", 2) == 0 ? 2 : 0;
                *array_push(members) = (struct neff_member){name, data, (size_t)data_size};
            }
            long_name = NULL;
        }
        size_t padded = (size_t)data_size + (BLOCK - data_size % BLOCK) % BLOCK;
        at = padded > size - at ? size : at + padded;
    }
    return true;
}
