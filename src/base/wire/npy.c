/*
 * Reads the header of .npy files.
 */
#include "base/wire/npy.h"

#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC_SIZE = 6, FIXED_SIZE = 12 };

bool npy_recognize(const void *bytes, size_t size)
{
    return size >= MAGIC_SIZE && memcmp(bytes, magic, MAGIC_SIZE) == 0;
}

/* The text after a key of the dictionary; empty when the key is missing. */
static struct text value_of(struct text header, const char *key)
{
    size_t key_size = strlen(key);
    const char *at = memmem(header.data, header.size, key, key_size);
    if (!at)
        return (struct text){"", 0};
    at += key_size;
    while (at < header.data + header.size && *at == ' ')
        at++;
    return (struct text){at, (size_t)(header.data + header.size - at)};
}

static bool read_type(struct text value, struct npy *npy)
{
    if (value.size < 3 || value.data[0] != '\'' || !memchr("<|=", value.data[1], 3))
        return false;
    const char *end = memchr(value.data + 2, '\'', value.size - 2);
    size_t size = end ? (size_t)(end - value.data - 2) : 0;
    if (size == 0 || size >= sizeof npy->type)
        return false;
    memcpy(npy->type, value.data + 2, size);
    npy->type[size] = '\0';
    return true;
}

/* "()", "(3,)", "(3, 4)" */
static bool read_shape(struct text value, struct npy *npy)
{
    const char *at = value.data, *end = value.data + value.size;
    if (at == end || *at++ != '(')
        return false;
    npy->rank = 0;
    while (at < end && *at != ')') {
        uint64_t number = 0;
        const char *digits = at;
        for (; at < end && *at >= '0' && *at <= '9' && number < UINT64_MAX / 100; at++)
            number = number * 10 + (uint64_t)(*at - '0');
        bool is_whole = at > digits && at < end && (*at == ',' || *at == ')');
        if (!is_whole || npy->rank == NPY_RANK_MAX)
            return false;
        npy->shape[npy->rank++] = number;
        while (at < end && (*at == ',' || *at == ' '))
            at++;
    }
    return at < end;
}

bool npy_read(const void *bytes, size_t size, const char *path, struct npy *npy, struct error *err)
{
    const uint8_t *data = bytes;
    if (!npy_recognize(bytes, size) || size < FIXED_SIZE || data[6] < 1 || data[6] > 3)
        return error_in_file(err, path, "not a .npy file of version 1, 2 or 3");
    size_t start = data[6] == 1 ? 10 : 12;
    size_t length = data[8] | (size_t)data[9] << 8;
    if (data[6] > 1)
        length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (length > size - start)
        return error_in_file(err, path, "the header of the .npy file is cut off");
    struct text header = {(const char *)data + start, length};
    struct text type = value_of(header, "'descr':");
    if (type.size > 1 && type.data[0] == '\'' && type.data[1] == '>')
        return error_in_file(err, path, "the array is big-endian");
    if (!read_type(type, npy) || !read_shape(value_of(header, "'shape':"), npy))
        return error_in_file(err, path, "the header of the .npy file cannot be read");
    if (!text_starts(value_of(header, "'fortran_order':"), TEXT("False")))
        return error_in_file(err, path, "the array is in Fortran order; save it in C order");
    npy->data = data + start + length;
    npy->size = size - start - length;
    return true;
}
