/*
 * What kind of kernel a GPU kernel is, by its name: its family, whether it uses tensor cores, and
 * who made it. Names are matched against those of known libraries, listed in kernel_names.def; one
 * table serves every format and everything that asks.
 */
#ifndef KYMO_MODEL_KERNEL_FAMILY_H
#define KYMO_MODEL_KERNEL_FAMILY_H

#include "base/base.h"

enum kernel_family {
    FAMILY_OTHER, /* none of these, or the name does not tell */
    FAMILY_GEMM,  /* products of matrices, and of matrices and vectors */
    FAMILY_ATTENTION,
    FAMILY_CONVOLUTION,
    FAMILY_EMBEDDING, /* lookups in tables of embeddings, and their gradients */
    FAMILY_NORM,
    FAMILY_SOFTMAX,
    FAMILY_REDUCTION,
    FAMILY_ELEMENTWISE,
    FAMILY_COPY, /* moves data: copies, transposes, concatenation, gathers */
    FAMILY_COMMUNICATION,
    KERNEL_FAMILIES,
};
/* "gemm" */
struct text kernel_family_name(enum kernel_family family);

/* Tensor cores of NVIDIA, matrix cores of AMD. */
enum tensor_cores { TENSOR_CORES_UNKNOWN, TENSOR_CORES_NO, TENSOR_CORES_YES };

/* Who made it, where that says what could be done about it. */
enum kernel_maker {
    MADE_BY_LIBRARY,    /* or it is not known */
    MADE_BY_COMPILER,   /* of fused operations */
    MADE_BY_PYTORCH,    /* one for each operator, as a program that is not compiled calls them */
    MADE_BY_TENSORFLOW, /* the same */
    MADE_BY_XLA_ALONE,  /* compiled from a single operation */
};

struct kernel_kind {
    uint8_t family, tensor_cores, maker; /* of the enums above */
};

/* Any thread may call it. */
struct kernel_kind kernel_kind_of(struct text name);

#endif
