/*
 * XLA's cost analysis for GPUs, whose "FLOPs" XProf shows. For elementwise operations these are
 * clock cycles, measured by XLA on one card of compute capability 8.6: hence the weights.
 */
#include "hlo/costs.h"

#include <math.h>

enum { USUAL_WEIGHT = 3 };

/* By element type; 0: as usual. */
struct weights {
    uint16_t s8, s16, s32, s64, u8, u16, u32, u64, f16, f32, f64, c64, c128;
};

static const struct {
    enum hlo_opcode opcode;
    struct weights weights;
} weighted[] = {
    {HLO_OP_ADD, {.f64 = 97, .c128 = 97}},
    {HLO_OP_ATAN2, {.f16 = 482, .f32 = 486, .f64 = 3747, .c64 = 5353, .c128 = 39027}},
    {HLO_OP_CBRT, {.f16 = 925, .f32 = 867, .f64 = 6339}},
    {HLO_OP_COSINE, {.f16 = 691, .f32 = 662, .f64 = 1717, .c128 = 6613}},
    {HLO_OP_DIVIDE,
     {.s8 = 370,
      .s16 = 367,
      .s32 = 306,
      .s64 = 918,
      .u8 = 306,
      .u16 = 302,
      .u32 = 115,
      .u64 = 838,
      .f64 = 2016,
      .c64 = 687,
      .c128 = 7941}},
    {HLO_OP_EXPONENTIAL, {.f16 = 108, .f32 = 86, .f64 = 1652, .c64 = 1360, .c128 = 4028}},
    {HLO_OP_EXPONENTIAL_MINUS_ONE,
     {.f16 = 396, .f32 = 381, .f64 = 1900, .c64 = 1400, .c128 = 4161}},
    {HLO_OP_LOG, {.f16 = 266, .f32 = 244, .f64 = 608, .c64 = 950, .c128 = 7599}},
    {HLO_OP_LOG_PLUS_ONE, {.f16 = 284, .f32 = 262, .f64 = 2073, .c64 = 842, .c128 = 6962}},
    {HLO_OP_LOGISTIC, {.f16 = 226, .f32 = 176, .f64 = 2412}},
    {HLO_OP_MULTIPLY, {.f64 = 97, .c128 = 270}},
    {HLO_OP_POWER,
     {.s8 = 392,
      .s16 = 396,
      .s64 = 601,
      .u8 = 388,
      .u16 = 399,
      .u64 = 604,
      .f16 = 975,
      .f32 = 925,
      .f64 = 5511,
      .c64 = 3351,
      .c128 = 18205}},
    {HLO_OP_RSQRT, {.f16 = 97, .f32 = 75, .f64 = 698, .c64 = 2383, .c128 = 11318}},
    {HLO_OP_SINE, {.f32 = 662, .f64 = 1789, .c128 = 5878}},
    {HLO_OP_SQRT, {.f16 = 97, .f32 = 75, .f64 = 986, .c64 = 3193, .c128 = 15606}},
    {HLO_OP_SUBTRACT, {.f64 = 97, .c128 = 97}},
    {HLO_OP_TANH, {.f16 = 212, .f32 = 190, .f64 = 1609, .c128 = 9939}},
};

static uint32_t of_type(const struct weights *weights, uint32_t type)
{
    const uint16_t by_type[] = {
        [2] = weights->s8,         [3] = weights->s16,       [4] = weights->s32,
        [5] = weights->s64,        [6] = weights->u8,        [7] = weights->u16,
        [8] = weights->u32,        [9] = weights->u64,       [HLO_F16] = weights->f16,
        [HLO_F32] = weights->f32,  [HLO_F64] = weights->f64, [HLO_C64] = weights->c64,
        [HLO_C128] = weights->c128};
    uint32_t weight = type < sizeof by_type / sizeof *by_type ? by_type[type] : 0;
    return weight ? weight : USUAL_WEIGHT;
}

static double weight_of(enum hlo_opcode opcode, uint32_t type)
{
    for (size_t i = 0; i < sizeof weighted / sizeof *weighted; i++)
        if (weighted[i].opcode == opcode)
            return of_type(&weighted[i].weights, type);
    return USUAL_WEIGHT;
}

static double callee_flops(const struct costing *costing, const struct hlo_instruction *at,
                           uint32_t index)
{
    const struct cost_sum *sum = cost_of_callee(costing, at, index);
    return sum ? sum->xla_flops : 0;
}

struct xla_window {
    double elements;
    bool is_spread; /* a sum over one whole dimension, for each of its places */
    int64_t spread_dimension;
};

/* Also recognizes a running sum written as a window over a whole dimension, padded by half of it on
 * both sides, which XLA counts differently. */
static struct xla_window read_window(const struct hlo_instruction *at)
{
    struct xla_window window = {.elements = 1, .spread_dimension = -1};
    struct pb_reader in = hlo_message(at->bytes, HLO_WINDOW);
    struct pb_field field;
    uint32_t wide = 0, padded = 0;
    int64_t i = 0;
    for (; pb_next(&in, &field); i++) {
        if (field.tag != PB_TAG(1, PB_BYTES))
            continue;
        struct pb_reader dimension = pb_enter(&field);
        int64_t size = hlo_number(dimension, 1), low = hlo_number(dimension, 3);
        int64_t high = hlo_number(dimension, 4);
        window.elements *= (double)size;
        wide += size != 1;
        padded += low != 0 || high != 0;
        if (window.spread_dimension < 0 && size != 1 && low != 0 && low == high &&
            size / 2 == low && size % 2 == 1)
            window.spread_dimension = i;
    }
    window.is_spread =
        wide == 1 && padded == 1 && window.spread_dimension >= 0 &&
        window.spread_dimension < at->shape.rank && at->shape.type != HLO_TUPLE_TYPE &&
        at->shape.dimensions[window.spread_dimension] == (int64_t)(window.elements + 1) / 2;
    return window;
}

static double window_reductions(const struct hlo_instruction *at)
{
    struct xla_window window = read_window(at);
    double results = shape_elements(first_shape(&at->shape));
    if (!window.is_spread)
        return (window.elements - 1) * results;
    double length = (double)at->shape.dimensions[window.spread_dimension];
    return floor(results / length) + (length - 1);
}

static double concatenation(const struct hlo_module *module, const struct hlo_instruction *at)
{
    double elements = shape_elements(&at->shape);
    int64_t dimension = at->dimension_count == 1 ? at->dimensions[0] : 0;
    for (uint32_t i = 0; dimension > 0 && i < at->operand_count; i++) {
        const struct hlo_shape *operand = operand_shape(module, at, i);
        if (dimension < operand->rank && operand->dimensions[dimension] % 32 != 0)
            return 400 * elements;
    }
    return 6 * elements;
}

static double fft(const struct hlo_module *module, const struct hlo_instruction *at)
{
    int64_t lengths[8];
    uint32_t count;
    double factor = 8;
    if (!hlo_list(at->bytes, HLO_FFT_LENGTH, 8, lengths, &count))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        factor *= lengths[i] > 1 ? floor(log2((double)lengths[i])) : 0;
    return factor * shape_elements(first_shape(operand_shape(module, at, 0)));
}

static double last_dimension(const struct hlo_shape *shape)
{
    return shape->rank > 0 && shape->type != HLO_TUPLE_TYPE
               ? (double)shape->dimensions[shape->rank - 1]
               : 0;
}

static double combined(const struct costing *costing, const struct hlo_instruction *at)
{
    const struct hlo_instruction *root =
        hlo_root(costing->module, hlo_callee(costing->module, at, 0));
    return root ? weight_of(root->opcode, at->shape.type) * shape_elements(&at->shape) : 0;
}

static double reduction(const struct costing *costing, const struct hlo_instruction *at)
{
    const struct hlo_module *module = costing->module;
    double results = shape_elements(first_shape(&at->shape)), each = callee_flops(costing, at, 0);
    switch (at->opcode) {
    case HLO_OP_REDUCE:
        return (shape_elements(operand_shape(module, at, 0)) - results) * each;
    case HLO_OP_REDUCE_WINDOW:
        return window_reductions(at) * each;
    case HLO_OP_MAP:
        return results * each;
    case HLO_OP_SCATTER:
        return shape_elements(
                   operand_shape(module, at, at->operand_count - at->operand_count / 2)) *
               each;
    default:
        return shape_elements(operand_shape(module, at, 1)) *
               ((read_window(at).elements - 1) * each + callee_flops(costing, at, 1));
    }
}

static double of_library(const struct costing *costing, const struct hlo_instruction *at)
{
    struct text target = hlo_text(at->bytes, HLO_CUSTOM_CALL_TARGET);
    const char *type;
    if (!text_starts(target, TEXT("__cublas$")) && !text_starts(target, TEXT("__cudnn$conv")))
        return 0;
    double flops = matrix_flops_of(costing->module, at, &type);
    return isnan(flops) ? 0 : flops;
}

/* Reproduces XLA's numbers, since users compare them with XProf's; work it cannot determine counts
 * 0 there, not NAN. */
double xla_flops_of(const struct costing *costing, const struct hlo_instruction *at)
{
    const struct hlo_module *module = costing->module;
    const char *type;
    double flops;
    switch (at->opcode) {
    case HLO_OP_COPY:
        return 0;
    case HLO_OP_DOT:
    case HLO_OP_RAGGED_DOT:
    case HLO_OP_CONVOLUTION:
        flops = matrix_flops_of(module, at, &type);
        if (isnan(flops))
            return 0;
        /* XLA counts complex numbers like real ones. */
        return operand_shape(module, at, 0)->type == HLO_C64 ||
                       operand_shape(module, at, 0)->type == HLO_C128
                   ? flops / 4
                   : flops;
    case HLO_OP_CUSTOM_CALL:
        return of_library(costing, at);
    case HLO_OP_REDUCE:
    case HLO_OP_REDUCE_WINDOW:
    case HLO_OP_MAP:
    case HLO_OP_SCATTER:
    case HLO_OP_SELECT_AND_SCATTER:
        return reduction(costing, at);
    case HLO_OP_CONCATENATE:
        return concatenation(module, at);
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_ALL_REDUCE_START:
    case HLO_OP_REDUCE_SCATTER:
        return combined(costing, at);
    case HLO_OP_SORT:
        flops = shape_elements(operand_shape(module, at, 0));
        return flops > 1 ? flops * ceil(log2(flops)) : 0;
    case HLO_OP_FFT:
        return fft(module, at);
    case HLO_OP_CHOLESKY:
        return floor(last_dimension(operand_shape(module, at, 0)) *
                     shape_elements(operand_shape(module, at, 0)) / 3);
    case HLO_OP_TRIANGULAR_SOLVE:
        return 2 * last_dimension(operand_shape(module, at, 0)) *
               shape_elements(operand_shape(module, at, 1));
    default:
        break;
    }
    return hlo_kind_of(at->opcode) == HLO_ELEMENTWISE ||
                   hlo_kind_of(at->opcode) == HLO_TRANSCENDENTAL
               ? weight_of(at->opcode, at->shape.type) * shape_elements(&at->shape)
               : 0;
}
