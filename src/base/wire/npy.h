/*
 * NumPy's .npy files: "\x93NUMPY", a version, the length of a header, a Python dictionary as the
 * header, the elements.
 */
#ifndef KYMO_BASE_WIRE_NPY_H
#define KYMO_BASE_WIRE_NPY_H

#include "base/base.h"

enum { NPY_RANK_MAX = 32 };

struct npy {
    char type[16]; /* kind and bytes of an element: "f4", "u1", "b1"; "V2": a type
                      unknown to NumPy */
    uint32_t rank;
    uint64_t shape[NPY_RANK_MAX];
    const uint8_t *data; /* in row-major order, little-endian */
    size_t size;
};

bool npy_recognize(const void *bytes, size_t size);
/* Points into the bytes. path is for messages. */
bool npy_read(const void *bytes, size_t size, const char *path, struct npy *npy, struct error *err);

#endif
