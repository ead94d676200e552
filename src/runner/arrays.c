/*
 * .npy: "\x93NUMPY", a version, the length of a header, and a Python dictionary as the header.
 */
#include "runner/arrays.h"

#include <ctype.h>
#include <stdlib.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC_SIZE = 6, ALIGNMENT = 64 };

/* NumPy's name without the byte order; NULL when it has none. */
static const char *numpy_name(nrt_dtype_t dtype)
{
    static const char *const names[] = {
        [NRT_DTYPE_UINT64] = "u8", [NRT_DTYPE_INT8] = "i1",   [NRT_DTYPE_UINT8] = "u1",
        [NRT_DTYPE_INT16] = "i2",  [NRT_DTYPE_UINT16] = "u2", [NRT_DTYPE_FLOAT16] = "f2",
        [NRT_DTYPE_INT32] = "i4",  [NRT_DTYPE_UINT32] = "u4", [NRT_DTYPE_FLOAT32] = "f4",
        [NRT_DTYPE_FP32R] = "f4",  [NRT_DTYPE_INT64] = "i8",
    };
    return (size_t)dtype < sizeof names / sizeof *names ? names[dtype] : NULL;
}

struct array_file {
    char descr[16]; /* "<f4" */
    bool is_fortran;
    const uint8_t *data;
    size_t size;
};

/* The text after a key of the dictionary; NULL when there is none. */
static const char *value_of(const char *header, const char *key)
{
    const char *found = strstr(header, key);
    found = found ? strchr(found + strlen(key), ':') : NULL;
    if (!found)
        return NULL;
    for (found++; *found == ' ';)
        found++;
    return found;
}

static bool parse_header(char *header, struct array_file *array)
{
    const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    if (!descr || *descr != '\'' || !order)
        return false;
    size_t length = strcspn(descr + 1, "'");
    if (length == 0 || length >= sizeof array->descr)
        return false;
    memcpy(array->descr, descr + 1, length);
    array->descr[length] = '\0';
    array->is_fortran = strncmp(order, "True", 4) == 0;
    return true;
}

static bool parse_npy(const struct file *file, const char *path, struct array_file *array,
                      struct error *err)
{
    const uint8_t *data = file->data;
    size_t start = 10, length = 0;
    if (file->size >= 12 && data[6] == 1) {
        length = data[8] | (size_t)data[9] << 8;
    } else if (file->size >= 12 && (data[6] == 2 || data[6] == 3)) {
        length = data[8] | (size_t)data[9] << 8 | (size_t)data[10] << 16 | (size_t)data[11] << 24;
        start = 12;
    } else {
        return error_in_file(err, path, "not a .npy file of version 1, 2 or 3");
    }
    if (length > file->size - start)
        return error_in_file(err, path, "the header of the .npy file is cut off");
    char *header = mem_copy_text((const char *)data + start, length);
    bool ok = parse_header(header, array);
    mem_free(header);
    array->data = data + start + length;
    array->size = file->size - start - length;
    return ok || error_in_file(err, path, "the header of the .npy file cannot be read");
}

/* One byte has no order; BF16 and FP8 are bytes to NumPy ("V2", "V1"). */
static bool check_type(const struct array_file *array, const nrt_tensor_info_t *tensor,
                       const char *path, struct error *err)
{
    const char *name = numpy_name(tensor->dtype), *own = array->descr;
    if (array->is_fortran)
        return error_in_file(err, path, "the array is in Fortran's order; save it in C's");
    if (*own == '>')
        return error_in_file(err, path, "the array is big-endian");
    own += strchr("<|=", *own) ? 1 : 0;
    if (strcmp(own, "b1") == 0)
        own = "u1";
    bool is_opaque = *own == 'V';
    return is_opaque || (name && strcmp(own, name) == 0) ||
           error_in_file(err, path, "the array has elements of type %s, tensor %s of type %s",
                         array->descr, tensor->name, name ? name : "bfloat16 or float8");
}

bool array_read(const char *path, const nrt_tensor_info_t *tensor, void *data, struct error *err)
{
    struct file file;
    if (!file_open(&file, path, err))
        return false;
    struct array_file array = {.data = file.data, .size = file.size};
    bool is_npy = file.size >= MAGIC_SIZE && memcmp(file.data, magic, MAGIC_SIZE) == 0;
    bool ok =
        !is_npy || (parse_npy(&file, path, &array, err) && check_type(&array, tensor, path, err));
    if (ok && array.size != tensor->size)
        ok = error_in_file(err, path, "%zu bytes of data; tensor %s has %zu", array.size,
                           tensor->name, tensor->size);
    if (ok && array.size > 0)
        memcpy(data, array.data, array.size);
    file_close(&file);
    return ok;
}

static bool write_header(struct output *out, const nrt_tensor_info_t *tensor, struct error *err)
{
    const char *name = numpy_name(tensor->dtype);
    struct output text;
    if (!name)
        return error_set(err,
                         "output %s is bfloat16 or float8, which .npy files cannot have; "
                         "save it with --save-output",
                         tensor->name);
    output_memory(&text);
    output_format(&text, "{'descr': '%s%s', 'fortran_order': False, 'shape': (",
                  name[1] == '1' ? "|" : "<", name);
    for (uint32_t i = 0; i < tensor->ndim; i++)
        output_format(&text, "%u,%s", tensor->shape[i], i + 1 < tensor->ndim ? " " : "");
    output_text(&text, "), }");
    while ((10 + text.size + 1) % ALIGNMENT != 0)
        output_char(&text, ' ');
    output_char(&text, '\n');
    output_write(out, magic, MAGIC_SIZE);
    output_write(out, "\1\0", 2);
    output_char(out, (char)(text.size & 0xFF));
    output_char(out, (char)(text.size >> 8));
    output_write(out, text.data, text.size);
    output_discard(&text);
    return true;
}

bool array_write(const char *path, const nrt_tensor_info_t *tensor, const void *data, bool is_npy,
                 struct error *err)
{
    struct output out;
    if (!output_open(&out, path, err))
        return false;
    if (is_npy && !write_header(&out, tensor, err)) {
        output_discard(&out);
        return false;
    }
    output_write(&out, data, tensor->size);
    return output_commit(&out, err);
}
