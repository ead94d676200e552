/*
 * Operations on elements, and constants.
 */
#include "neuron/compiler/hlo/expand.h"

uint32_t expand_unary(struct expand *expand, const struct typed_instruction *at,
                      const uint32_t *args)
{
    return ir_unary(expand->ir, expand_operation(expand, at)->detail, args[0]);
}

uint32_t expand_negate(struct expand *expand, const struct typed_instruction *at,
                       const uint32_t *args)
{
    (void)at;
    return ir_negate(expand->ir, args[0]);
}

uint32_t expand_binary(struct expand *expand, const struct typed_instruction *at,
                       const uint32_t *args)
{
    return fold_binary(expand->ir, expand_operation(expand, at)->detail, args[0], args[1]);
}

uint32_t expand_compare(struct expand *expand, const struct typed_instruction *at,
                        const uint32_t *args)
{
    static const struct {
        const char *name;
        enum alu alu;
    } directions[] = {{"EQ", ALU_EQUAL},      {"NE", ALU_NOT_EQUAL}, {"LT", ALU_LESS},
                      {"LE", ALU_LESS_EQUAL}, {"GT", ALU_GREATER},   {"GE", ALU_GREATER_EQUAL}};
    struct ir *ir = expand->ir;
    uint32_t a = args[0], b = args[1];
    struct text direction = hlo_text(at->bytes, HLO_COMPARISON);
    bool is_total = text_equal(hlo_text(at->bytes, HLO_COMPARISON_TYPE), TEXT("TOTALORDER"));
    if (is_total && ir_is_float(ir_type_of(ir, a))) {
        a = expand_total_order(expand, at, a);
        b = expand_total_order(expand, at, b);
    }
    for (size_t i = 0; i < sizeof directions / sizeof *directions; i++)
        if (text_equal(direction, text_of(directions[i].name)))
            return fold_binary(ir, directions[i].alu, a, b);
    return expand_fail(expand, at, "comparison \"%.*s\"", (int)(direction.size % 100),
                       direction.data);
}

uint32_t expand_clamp(struct expand *expand, const struct typed_instruction *at,
                      const uint32_t *args)
{
    (void)at;
    struct ir *ir = expand->ir;
    struct ir_type type = *ir_type_of(ir, args[1]);
    uint32_t low = args[0], high = args[2];
    if (ir_type_of(ir, low)->rank == 0)
        low = fold_fill(ir, low, type);
    if (ir_type_of(ir, high)->rank == 0)
        high = fold_fill(ir, high, type);
    return fold_binary(ir, ALU_MIN, fold_binary(ir, ALU_MAX, args[1], low), high);
}

uint32_t expand_select(struct expand *expand, const struct typed_instruction *at,
                       const uint32_t *args)
{
    (void)at;
    struct ir *ir = expand->ir;
    struct ir_type type = *ir_type_of(ir, args[1]);
    uint32_t condition = args[0];
    if (ir_type_of(ir, condition)->rank == 0)
        condition = fold_fill(ir, condition, type);
    return fold_select(ir, condition, args[1], args[2]);
}

uint32_t expand_convert(struct expand *expand, const struct typed_instruction *at,
                        const uint32_t *args)
{
    return fold_convert(expand->ir, args[0], at->shape.type);
}

uint32_t expand_reduce_precision(struct expand *expand, const struct typed_instruction *at,
                                 const uint32_t *args)
{
    struct ir *ir = expand->ir;
    int64_t exponent = hlo_number(at->bytes, HLO_EXPONENT_BITS);
    int64_t mantissa = hlo_number(at->bytes, HLO_MANTISSA_BITS);
    struct ir_type type = *ir_type_of(ir, args[0]);
    enum dtype through = exponent == 8 && mantissa == 7    ? DTYPE_BF16
                         : exponent == 5 && mantissa == 10 ? DTYPE_FP16
                         : exponent == 8 && mantissa == 23 ? DTYPE_FP32
                                                           : DTYPE_NONE;
    if (through == DTYPE_NONE || !ir_is_float(&type))
        return expand_fail(expand, at,
                           "a precision of %d exponent and %d mantissa bits is not supported",
                           (int)exponent, (int)mantissa);
    return ir_convert(ir, ir_convert(ir, args[0], through, false), type.dtype, false);
}

uint32_t expand_copy(struct expand *expand, const struct typed_instruction *at,
                     const uint32_t *args)
{
    (void)expand, (void)at;
    return args[0];
}

static bool all_equal(const uint8_t *data, uint64_t count, uint32_t width)
{
    for (uint64_t i = 1; i < count; i++)
        if (memcmp(data, data + i * width, width) != 0)
            return false;
    return true;
}

static int64_t integer_at(const uint8_t *data, const struct ir_type *type)
{
    uint32_t width = dtype_bytes(type->dtype);
    uint64_t bits = 0;
    memcpy(&bits, data, width);
    unsigned shift = dtype_is_signed(type->dtype) ? 64 - 8 * width : 0;
    return (int64_t)(bits << shift) >> shift;
}

/* For FP32, BF16 and FP16; other types keep their bytes. */
static bool float_at(const uint8_t *data, const struct ir_type *type, double *number)
{
    uint32_t bits = 0;
    float value;
    memcpy(&bits, data, dtype_bytes(type->dtype));
    if (type->dtype == DTYPE_BF16)
        bits <<= 16;
    if (type->dtype == DTYPE_FP32 || type->dtype == DTYPE_BF16) {
        memcpy(&value, &bits, sizeof value);
        *number = (double)value;
        return true;
    }
    uint32_t exponent = bits >> 10 & 31;
    if (type->dtype != DTYPE_FP16 || exponent == 31)
        return false;
    /* In FP32's fields the number is smaller by the difference of the exponents' biases. */
    uint32_t wide = (bits & 0x7FFF) << 13 | (bits & 0x8000) << 16;
    memcpy(&value, &wide, sizeof value);
    *number = (double)value * 0x1p112;
    return true;
}

static uint32_t make_constant(struct expand *expand, const struct typed_instruction *at)
{
    struct ir *ir = expand->ir;
    const struct ir_type *type = &at->shape.type;
    struct error problem;
    double number;
    const uint8_t *data =
        hlo_literal_read(&ir->memory, hlo_message(at->bytes, HLO_LITERAL),
                         &expand->module->hlo.instructions.items[at->index].shape, &problem);
    if (!data)
        return expand_fail(expand, at, "%s", problem.text);
    uint64_t count = ir_elements(type);
    if (count > 0 && all_equal(data, count, dtype_bytes(type->dtype))) {
        if (!ir_is_float(type))
            return ir_integer(ir, *type, integer_at(data, type));
        if (float_at(data, type, &number))
            return ir_number(ir, *type, number);
    }
    return ir_constant(ir, arena_copy_text(&ir->memory, at->name.data, at->name.size),
                       ir->origins.items[ir->origin].layer, *type, data);
}

uint32_t expand_constant(struct expand *expand, const struct typed_instruction *at,
                         const uint32_t *args)
{
    (void)args;
    uint32_t node = idmap_get(&expand->constants, at->index);
    if (node == IDMAP_NONE) {
        node = make_constant(expand, at);
        if (node == IR_NONE)
            return IR_NONE;
        idmap_put(&expand->constants, at->index, node);
    }
    const struct ir_type *lift = expand->frame->lift;
    return lift && at->shape.type.rank == 0 ? fold_fill(expand->ir, node, *lift) : node;
}
