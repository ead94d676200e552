/*
 * Inputs are .npy files or bytes; outputs are written as either.
 */
#include "neuron/run/runner/arrays.h"

#include "base/wire/wire.h"

enum { ALIGNMENT = 64 };

/* NumPy's name without the byte order. It has none for BF16 and FP8: they are bytes, as ml_dtypes
 * saves them. NULL for types of the runtime that are not known. */
static const char *numpy_name(nrt_dtype_t dtype)
{
    static const char *const names[] = {
        [NRT_DTYPE_UINT64] = "u8", [NRT_DTYPE_INT8] = "i1",   [NRT_DTYPE_UINT8] = "u1",
        [NRT_DTYPE_INT16] = "i2",  [NRT_DTYPE_UINT16] = "u2", [NRT_DTYPE_FLOAT16] = "f2",
        [NRT_DTYPE_INT32] = "i4",  [NRT_DTYPE_UINT32] = "u4", [NRT_DTYPE_FLOAT32] = "f4",
        [NRT_DTYPE_FP32R] = "f4",  [NRT_DTYPE_INT64] = "i8",  [NRT_DTYPE_BFLOAT16] = "V2",
        [NRT_DTYPE_FP8_E3] = "V1", [NRT_DTYPE_FP8_E4] = "V1", [NRT_DTYPE_FP8_E5] = "V1",
    };
    return (size_t)dtype < sizeof names / sizeof *names ? names[dtype] : NULL;
}

/* Bytes are taken for any type. ml_dtypes saves float8_e5m2 as "f1". */
static bool check_type(const struct npy *array, const nrt_tensor_info_t *tensor, const char *path,
                       struct error *err)
{
    const char *name = numpy_name(tensor->dtype);
    const char *own = strcmp(array->type, "b1") == 0   ? "u1"
                      : strcmp(array->type, "f1") == 0 ? "V1"
                                                       : array->type;
    return *own == 'V' || (name && strcmp(own, name) == 0) ||
           error_in_file(err, path, "the array has elements of type %s, tensor %s of type %s",
                         array->type, tensor->name, name ? name : "unknown");
}

bool array_read(const char *path, const nrt_tensor_info_t *tensor, void *data, struct error *err)
{
    struct file file;
    if (!file_open(&file, path, err))
        return false;
    struct npy array = {.data = file.data, .size = file.size};
    bool ok = !npy_recognize(file.data, file.size) ||
              (npy_read(file.data, file.size, path, &array, err) &&
               check_type(&array, tensor, path, err));
    if (ok && array.size != tensor->size)
        ok = error_in_file(err, path, "%zu bytes of data; tensor %s has %zu", array.size,
                           tensor->name, tensor->size);
    if (ok && array.size > 0)
        memcpy(data, array.data, array.size);
    file_close(&file);
    return ok;
}

/* Version 1.0 of the format (numpy.lib.format): a Python literal, padded so that the data is
 * aligned. */
static bool write_header(struct output *out, const nrt_tensor_info_t *tensor, struct error *err)
{
    const char *name = numpy_name(tensor->dtype);
    struct output text;
    if (!name)
        return error_set(err,
                         "output %s has an element type that .npy files cannot hold; "
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
    output_write(out, "\x93NUMPY\1\0", 8);
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
