/*
 * Floating-point operations that the program asks for. Each counts one, including comparisons and
 * transcendental functions; moving, selecting and converting values, and integer work, count
 * nothing.
 */
#include "hlo/costs.h"

#include <math.h>

/* Of one element. */
static double per_element(enum hlo_opcode opcode, uint32_t type)
{
    bool is_complex = type == HLO_C64 || type == HLO_C128;
    if (!hlo_type_is_float(type))
        return 0;
    switch (opcode) {
    case HLO_OP_ADD:
    case HLO_OP_SUBTRACT:
    case HLO_OP_NEGATE:
    case HLO_OP_ABS:
        return is_complex ? 2 : 1;
    case HLO_OP_MULTIPLY:
        return is_complex ? 6 : 1;
    case HLO_OP_DIVIDE: /* two products, two sums, the norm, two quotients */
        return is_complex ? 11 : 1;
    case HLO_OP_CLAMP:
        return 2;
    case HLO_OP_CEIL:
    case HLO_OP_FLOOR:
    case HLO_OP_COMPARE:
    case HLO_OP_MAXIMUM:
    case HLO_OP_MINIMUM:
    case HLO_OP_REMAINDER:
    case HLO_OP_ROUND_NEAREST_AFZ:
    case HLO_OP_ROUND_NEAREST_EVEN:
    case HLO_OP_SIGN:
        return 1;
    default:
        return hlo_kind_of(opcode) == HLO_TRANSCENDENTAL ? 1 : 0;
    }
}

static double callee_flops(const struct costing *costing, const struct hlo_instruction *at,
                           uint32_t index)
{
    const struct cost_sum *sum = cost_of_callee(costing, at, index);
    return sum ? sum->flops : NAN;
}

static double window_elements(const struct hlo_instruction *at)
{
    struct pb_reader in = hlo_message(at->bytes, HLO_WINDOW);
    struct pb_field field;
    double product = 1;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(1, PB_BYTES))
            product *= (double)hlo_number(pb_enter(&field), 1);
    return product;
}

static double sort_flops(const struct costing *costing, const struct hlo_instruction *at)
{
    const struct hlo_shape *keys = operand_shape(costing->module, at, 0);
    if (at->dimension_count != 1 || at->dimensions[0] < 0 || at->dimensions[0] >= keys->rank)
        return NAN;
    double length = (double)keys->dimensions[at->dimensions[0]];
    return length > 1 ? shape_elements(keys) * ceil(log2(length)) * callee_flops(costing, at, 0)
                      : 0;
}

static double fft_flops(const struct costing *costing, const struct hlo_instruction *at)
{
    const struct hlo_shape *input = operand_shape(costing->module, at, 0);
    int64_t lengths[8];
    uint32_t count;
    if (!hlo_list(at->bytes, HLO_FFT_LENGTH, 8, lengths, &count))
        return NAN;
    double levels = 0, elements = fmax(shape_elements(input), shape_elements(&at->shape));
    for (uint32_t i = 0; i < count; i++)
        levels += lengths[i] > 1 ? log2((double)lengths[i]) : 0;
    bool is_real = hlo_number(at->bytes, HLO_FFT_TYPE) >= 2;
    return (is_real ? 2.5 : 5) * elements * levels;
}

/* The order of the matrix: the length of its last dimension. */
static double matrix_order(const struct hlo_shape *shape)
{
    return shape->rank > 0 && shape->type != HLO_TUPLE_TYPE
               ? (double)shape->dimensions[shape->rank - 1]
               : NAN;
}

static double reduction_flops(const struct costing *costing, const struct hlo_instruction *at)
{
    const struct hlo_module *module = costing->module;
    double results = shape_elements(first_shape(&at->shape));
    switch (at->opcode) {
    case HLO_OP_REDUCE:
        return (shape_elements(operand_shape(module, at, 0)) - results) *
               callee_flops(costing, at, 0);
    case HLO_OP_REDUCE_WINDOW:
        return (window_elements(at) - 1) * results * callee_flops(costing, at, 0);
    case HLO_OP_MAP:
        return results * callee_flops(costing, at, 0);
    case HLO_OP_SCATTER:
        return shape_elements(
                   operand_shape(module, at, at->operand_count - at->operand_count / 2)) *
               callee_flops(costing, at, 0);
    case HLO_OP_SELECT_AND_SCATTER:
        return shape_elements(operand_shape(module, at, 1)) *
               ((window_elements(at) - 1) * callee_flops(costing, at, 0) +
                callee_flops(costing, at, 1));
    default: /* collectives: each element of the result is combined on the way */
        return shape_elements(&at->shape) * callee_flops(costing, at, 0);
    }
}

/* NAN for operations that matrix_flops_of counts and for those whose work cannot be derived from
 * shapes; 0 for operations that only move data. */
double flops_of(const struct costing *costing, const struct hlo_instruction *at)
{
    const struct hlo_module *module = costing->module;
    switch (at->opcode) {
    case HLO_OP_REDUCE:
    case HLO_OP_REDUCE_WINDOW:
    case HLO_OP_MAP:
    case HLO_OP_SCATTER:
    case HLO_OP_SELECT_AND_SCATTER:
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_ALL_REDUCE_START:
    case HLO_OP_REDUCE_SCATTER:
        return reduction_flops(costing, at);
    case HLO_OP_SORT:
        return sort_flops(costing, at);
    case HLO_OP_FFT:
        return fft_flops(costing, at);
    case HLO_OP_CHOLESKY:
        return shape_elements(operand_shape(module, at, 0)) *
               matrix_order(operand_shape(module, at, 0)) / 3;
    case HLO_OP_TRIANGULAR_SOLVE:
        return shape_elements(operand_shape(module, at, 1)) *
               matrix_order(operand_shape(module, at, 0));
    case HLO_OP_DOT:
    case HLO_OP_SCALED_DOT:
    case HLO_OP_RAGGED_DOT:
    case HLO_OP_CONVOLUTION:
    case HLO_OP_CUSTOM_CALL:
    case HLO_OP_BATCH_NORM_TRAINING:
    case HLO_OP_BATCH_NORM_INFERENCE:
    case HLO_OP_BATCH_NORM_GRAD:
    case HLO_OP_UNKNOWN:
        return NAN;
    default:
        break;
    }
    uint32_t type =
        at->opcode == HLO_OP_COMPARE ? operand_shape(module, at, 0)->type : at->shape.type;
    double each = per_element(at->opcode, type);
    return each > 0 ? each * shape_elements(&at->shape) : 0;
}
