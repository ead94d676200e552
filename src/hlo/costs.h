/*
 * Inside hlo: what costs are computed from.
 */
#ifndef KYMO_HLO_COSTS_H
#define KYMO_HLO_COSTS_H

#include "hlo/module.h"

/* What a computation costs when it runs once. */
struct cost_sum {
    double flops, matrix_flops, xla_flops;
    int64_t bytes_read, bytes_written; /* -1: unknown */
    const char *matrix_type;           /* of its largest matrix product */
    double matrix_largest;
};

struct costing {
    const struct hlo_module *module;
    struct hlo_cost *costs; /* by instruction */
    struct cost_sum *sums;  /* by computation */
    bool *is_known;         /* by computation: its sum has been made */
    struct arena memory;    /* of one fusion at a time */
};

/* The sum of a callee, or NULL when there is none. */
const struct cost_sum *cost_of_callee(const struct costing *costing,
                                      const struct hlo_instruction *at, uint32_t index);
static inline double shape_elements(const struct hlo_shape *shape)
{
    return (double)hlo_elements(shape);
}
/* The shape of an operand, or an empty one. */
const struct hlo_shape *operand_shape(const struct hlo_module *module,
                                      const struct hlo_instruction *at, uint32_t index);
/* The first of a tuple, or the shape itself. */
const struct hlo_shape *first_shape(const struct hlo_shape *shape);

/* Multiplications and additions of a dot, a convolution, or a library call for one of them; NAN for
 * other instructions and for inconsistent numbers. The type is that of the factors. */
double matrix_flops_of(const struct hlo_module *module, const struct hlo_instruction *at,
                       const char **type);
/* As XLA's cost analysis for GPUs counts. */
double xla_flops_of(const struct costing *costing, const struct hlo_instruction *at);
/* Floating-point operations. */
double flops_of(const struct costing *costing, const struct hlo_instruction *at);
/* The costs of a fusion from those of its body. */
void cost_fusion(struct costing *costing, const struct hlo_instruction *at, struct hlo_cost *cost);

#endif
