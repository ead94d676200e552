/*
 * The bits of floats as integers, and back. No instruction does this: exponent and mantissa are
 * computed by arithmetic that is exact, as it only multiplies by powers of two. NaNs all have the
 * bits of the positive quiet one.
 */
#include "neuron/compiler/hlo/expand.h"

struct layout {
    int32_t bias, mantissa_bits;
    uint8_t integer; /* enum dtype: of the same width */
};

static bool layout_of(enum dtype dtype, struct layout *layout)
{
    switch (dtype) {
    case DTYPE_FP32:
        *layout = (struct layout){127, 23, DTYPE_INT32};
        return true;
    case DTYPE_BF16:
        *layout = (struct layout){127, 7, DTYPE_INT16};
        return true;
    case DTYPE_FP16:
        *layout = (struct layout){15, 10, DTYPE_INT16};
        return true;
    default:
        return false;
    }
}

/* value alu number, of floats or integers. */
static uint32_t by(struct ir *ir, enum alu alu, uint32_t value, double number)
{
    return ir_with_number(ir, alu, value, number);
}

static uint32_t power_of_two(struct ir *ir, uint32_t exponent)
{
    return ir->failed
               ? IR_NONE
               : ir_binary(ir, ALU_POWER, ir_number(ir, *ir_type_of(ir, exponent), 2), exponent);
}

/* floor(log2(value)), at least `least`, for value >= 0. The logarithm may be off by one. */
static uint32_t exponent_of(struct ir *ir, uint32_t value, int32_t least)
{
    const double per_bit = 1.4426950408889634; /* 1 / log(2) */
    uint32_t guess = by(ir, ALU_MULTIPLY, ir_unary(ir, FUNCTION_LOG, value), per_bit);
    guess = ir_unary(ir, FUNCTION_FLOOR, guess);
    guess = by(ir, ALU_MIN, by(ir, ALU_MAX, guess, least), 127);
    uint32_t less = ir_binary(ir, ALU_LESS, value, power_of_two(ir, guess));
    guess = ir_binary(ir, ALU_SUBTRACT, guess, ir_convert(ir, less, DTYPE_FP32, false));
    guess = by(ir, ALU_MAX, guess, least);
    /* Half of the value, as twice the power may exceed the largest float. */
    uint32_t half = by(ir, ALU_MULTIPLY, value, 0.5);
    uint32_t more = ir_binary(ir, ALU_GREATER_EQUAL, half, power_of_two(ir, guess));
    return ir_binary(ir, ALU_ADD, guess, ir_convert(ir, more, DTYPE_FP32, false));
}

/* All in FP32 and INT32, where every narrower float is exact. Infinity, zero's sign and NaN have no
 * exponent to compute, so each is selected separately at the end. */
static uint32_t bits_of(struct ir *ir, uint32_t number, const struct layout *layout)
{
    uint32_t wide = ir_convert(ir, number, DTYPE_FP32, false);
    if (ir->failed)
        return IR_NONE;
    struct ir_type type = ir_with_dtype(*ir_type_of(ir, wide), DTYPE_INT32, false);
    double step = (double)(1 << layout->mantissa_bits);
    double infinity = (2 * layout->bias + 1) * step;
    uint32_t size = ir_unary(ir, FUNCTION_ABS, wide);
    uint32_t exponent = exponent_of(ir, size, 1 - layout->bias);
    /* Two factors, as a single one may exceed the largest float. */
    uint32_t scaled =
        ir_binary(ir, ALU_MULTIPLY, size, power_of_two(ir, by(ir, ALU_MULTIPLY, exponent, -1)));
    uint32_t mantissa = ir_convert(ir, by(ir, ALU_MULTIPLY, scaled, step), DTYPE_INT32, false);
    uint32_t biased =
        by(ir, ALU_ADD, ir_convert(ir, exponent, DTYPE_INT32, false), layout->bias - 1);
    uint32_t bits = ir_binary(ir, ALU_ADD, by(ir, ALU_MULTIPLY, biased, step), mantissa);
    bits =
        ir_select(ir, ir_unary(ir, FUNCTION_IS_FINITE, wide), bits, ir_number(ir, type, infinity));
    /* A zero's sign is that of its reciprocal. */
    uint32_t is_zero = by(ir, ALU_EQUAL, wide, 0);
    uint32_t signed_one = ir_select(ir, is_zero, ir_unary(ir, FUNCTION_RECIPROCAL, wide), wide);
    uint32_t is_negative = by(ir, ALU_LESS, signed_one, 0);
    uint32_t negative = by(ir, ALU_ADD, bits, -infinity - step);
    bits = ir_select(ir, is_negative, negative, bits);
    uint32_t is_number = ir_binary(ir, ALU_EQUAL, wide, wide);
    bits = ir_select(ir, is_number, bits, ir_number(ir, type, infinity + step / 2));
    return ir_convert(ir, bits, layout->integer, false);
}

/* The inverse of bits_of. The exponent field is at least 1 for the power, so that subnormal numbers
 * need no case of their own, only no leading one. */
static uint32_t float_of(struct ir *ir, uint32_t bits, enum dtype dtype,
                         const struct layout *layout)
{
    /* Widened to 32 bits, so that shifts see the sign. */
    uint32_t wide =
        ir_convert(ir, ir_convert(ir, bits, layout->integer, false), DTYPE_INT32, false);
    if (ir->failed)
        return IR_NONE;
    struct ir_type number = ir_with_dtype(*ir_type_of(ir, wide), DTYPE_FP32, false);
    int32_t step = 1 << layout->mantissa_bits, last = 2 * layout->bias + 1;
    uint32_t exponent =
        by(ir, ALU_AND, by(ir, ALU_SHIFT_RIGHT_ARITHMETIC, wide, layout->mantissa_bits), last);
    uint32_t mantissa = by(ir, ALU_AND, wide, step - 1);
    uint32_t whole =
        ir_select(ir, by(ir, ALU_GREATER, exponent, 0), by(ir, ALU_ADD, mantissa, step), mantissa);
    uint32_t power =
        by(ir, ALU_ADD, by(ir, ALU_MAX, exponent, 1), -layout->bias - layout->mantissa_bits);
    uint32_t size = ir_binary(ir, ALU_MULTIPLY, ir_convert(ir, whole, DTYPE_FP32, false),
                              power_of_two(ir, ir_convert(ir, power, DTYPE_FP32, false)));
    uint32_t special =
        ir_select(ir, by(ir, ALU_EQUAL, mantissa, 0), ir_number(ir, number, __builtin_inf()),
                  ir_number(ir, number, __builtin_nan("")));
    size = ir_select(ir, by(ir, ALU_EQUAL, exponent, last), special, size);
    uint32_t result = ir_select(ir, by(ir, ALU_LESS, wide, 0), ir_negate(ir, size), size);
    return ir_convert(ir, result, dtype, false);
}

uint32_t expand_bitcast_convert(struct expand *expand, const struct typed_instruction *at,
                                const uint32_t *args)
{
    struct ir *ir = expand->ir;
    const struct ir_type from = *ir_type_of(ir, args[0]), *to = &at->shape.type;
    struct layout layout;
    if (from.dtype == to->dtype && from.is_bool == to->is_bool)
        return args[0];
    if (dtype_bytes(from.dtype) != dtype_bytes(to->dtype) || from.is_bool || to->is_bool)
        return expand_fail(expand, at, "the bits of %s as %s are not supported",
                           dtype_name(from.dtype), dtype_name(to->dtype));
    /* Integers are stored modulo their width. */
    if (!ir_is_float(&from) && !ir_is_float(to))
        return fold_convert(ir, args[0], *to);
    if (ir_is_float(&from) && layout_of(from.dtype, &layout) && !ir_is_float(to))
        return ir_convert(ir, bits_of(ir, args[0], &layout), to->dtype, false);
    if (!ir_is_float(&from) && layout_of(to->dtype, &layout))
        return float_of(ir, args[0], to->dtype, &layout);
    return expand_fail(expand, at, "the bits of %s as %s are not supported", dtype_name(from.dtype),
                       dtype_name(to->dtype));
}

uint32_t expand_total_order(struct expand *expand, const struct typed_instruction *at,
                            uint32_t value)
{
    struct ir *ir = expand->ir;
    struct layout layout;
    if (!layout_of(ir_type_of(ir, value)->dtype, &layout))
        return expand_fail(expand, at, "the total order of %s is not supported",
                           dtype_name(ir_type_of(ir, value)->dtype));
    uint32_t bits = ir_convert(ir, bits_of(ir, value, &layout), DTYPE_INT32, false);
    /* Of two negative numbers, the one with the larger bits is smaller. */
    int32_t largest = (int32_t)(((uint32_t)(2 * layout.bias + 2) << layout.mantissa_bits) - 1);
    return ir_select(ir, by(ir, ALU_LESS, bits, 0), by(ir, ALU_XOR, bits, largest), bits);
}
