/*
 * Constant folding of integers, and of views of constants whose elements are all equal. This makes
 * loop counters and the starts of slices known.
 */
#include "neuron/compiler/hlo/expand.h"

bool fold_is_splat(const struct ir *ir, uint32_t node)
{
    const struct ir_node *at = &ir->nodes.items[node];
    return at->kind == IR_CONSTANT && at->is_splat;
}

bool fold_integer(const struct ir *ir, uint32_t node, int64_t *value)
{
    if (node == IR_NONE || !fold_is_splat(ir, node) || ir_is_float(ir_type_of(ir, node)))
        return false;
    *value = ir->nodes.items[node].integer;
    return true;
}

bool fold_number(const struct ir *ir, uint32_t node, double *value)
{
    if (node == IR_NONE || !fold_is_splat(ir, node))
        return false;
    const struct ir_node *at = &ir->nodes.items[node];
    *value = ir_is_float(&at->type) ? at->number : (double)at->integer;
    return true;
}

static uint32_t fold_splat(struct ir *ir, uint32_t node, struct ir_type shape)
{
    const struct ir_node *at = &ir->nodes.items[node];
    shape = ir_with_dtype(shape, at->type.dtype, at->type.is_bool);
    return ir_is_float(&at->type) ? ir_number(ir, shape, at->number)
                                  : ir_integer(ir, shape, at->integer);
}

/* The integer as it reads after being stored as that type. */
static int64_t wrapped(uint64_t value, const struct ir_type *type)
{
    switch (type->dtype) {
    case DTYPE_INT8:
        return (int8_t)value;
    case DTYPE_UINT8:
        return (uint8_t)value;
    case DTYPE_INT16:
        return (int16_t)value;
    case DTYPE_UINT16:
        return (uint16_t)value;
    case DTYPE_INT32:
        return (int32_t)value;
    case DTYPE_UINT32:
        return (uint32_t)value;
    default:
        return (int64_t)value;
    }
}

/* Separate from the arithmetic because comparisons give a boolean, not a number of the operands'
 * type. False for every other operation. */
static bool compared(enum alu alu, int64_t a, int64_t b, bool *result)
{
    switch (alu) {
    case ALU_EQUAL:
        *result = a == b;
        return true;
    case ALU_NOT_EQUAL:
        *result = a != b;
        return true;
    case ALU_LESS:
        *result = a < b;
        return true;
    case ALU_LESS_EQUAL:
        *result = a <= b;
        return true;
    case ALU_GREATER:
        *result = a > b;
        return true;
    case ALU_GREATER_EQUAL:
        *result = a >= b;
        return true;
    default:
        return false;
    }
}

/* Division by 0 and the other operations are left to the program. */
static bool computed(enum alu alu, int64_t a, int64_t b, uint64_t *result)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    bool divides = b != 0 && b != -1;
    switch (alu) {
    case ALU_ADD:
        *result = x + y;
        return true;
    case ALU_SUBTRACT:
        *result = x - y;
        return true;
    case ALU_MULTIPLY:
        *result = x * y;
        return true;
    case ALU_MAX:
        *result = a > b ? x : y;
        return true;
    case ALU_MIN:
        *result = a < b ? x : y;
        return true;
    case ALU_AND:
        *result = x & y;
        return true;
    case ALU_OR:
        *result = x | y;
        return true;
    case ALU_XOR:
        *result = x ^ y;
        return true;
    case ALU_DIVIDE:
        *result = divides ? (uint64_t)(a / b) : 0;
        return divides;
    case ALU_REMAINDER:
        *result = divides ? (uint64_t)(a % b) : 0;
        return divides;
    default:
        return false;
    }
}

uint32_t fold_binary(struct ir *ir, enum alu alu, uint32_t a, uint32_t b)
{
    int64_t x, y;
    if (ir->failed || !fold_integer(ir, a, &x) || !fold_integer(ir, b, &y))
        return ir_binary(ir, alu, a, b);
    struct ir_type type = *ir_type_of(ir, a);
    const struct ir_type *other = ir_type_of(ir, b);
    bool is_true;
    uint64_t result;
    /* The widest unsigned integers, and types that do not match, are left to the builder. */
    if (type.is_bool || type.dtype == DTYPE_UINT64 || type.dtype != other->dtype ||
        !ir_same_shape(&type, other))
        return ir_binary(ir, alu, a, b);
    if (compared(alu, x, y, &is_true))
        return ir_integer(ir, ir_with_dtype(type, DTYPE_UINT8, true), is_true);
    if (computed(alu, x, y, &result))
        return ir_integer(ir, type, wrapped(result, &type));
    return ir_binary(ir, alu, a, b);
}

uint32_t fold_select(struct ir *ir, uint32_t condition, uint32_t yes, uint32_t no)
{
    int64_t known;
    if (!ir->failed && fold_integer(ir, condition, &known) && yes != IR_NONE && no != IR_NONE)
        return known ? yes : no;
    return ir_select(ir, condition, yes, no);
}

uint32_t fold_convert(struct ir *ir, uint32_t node, struct ir_type type)
{
    int64_t known;
    if (ir->failed || !fold_integer(ir, node, &known) ||
        ir_type_of(ir, node)->dtype == DTYPE_UINT64)
        return ir_convert(ir, node, type.dtype, type.is_bool);
    struct ir_type to = ir_with_dtype(*ir_type_of(ir, node), type.dtype, type.is_bool);
    if (type.is_bool)
        return ir_integer(ir, to, known != 0);
    if (type.dtype == DTYPE_FP32)
        return ir_number(ir, to, (double)(float)known);
    if (ir_is_float(&to))
        return ir_convert(ir, node, type.dtype, false);
    return ir_integer(ir, to, wrapped((uint64_t)known, &to));
}

uint32_t fold_reshape(struct ir *ir, uint32_t node, uint32_t rank, const uint32_t *size)
{
    uint32_t reshaped = ir_reshape(ir, node, rank, size);
    return ir->failed || reshaped == node || !fold_is_splat(ir, node)
               ? reshaped
               : fold_splat(ir, node, *ir_type_of(ir, reshaped));
}

uint32_t fold_transpose(struct ir *ir, uint32_t node, const uint8_t *axes)
{
    uint32_t moved = ir_transpose(ir, node, axes);
    return ir->failed || moved == node || !fold_is_splat(ir, node)
               ? moved
               : fold_splat(ir, node, *ir_type_of(ir, moved));
}

uint32_t fold_broadcast(struct ir *ir, uint32_t node, struct ir_type type, const uint8_t *axes)
{
    if (ir->failed || node == IR_NONE)
        return IR_NONE;
    if (ir_same_shape(ir_type_of(ir, node), &type))
        return node;
    uint32_t spread = ir_broadcast(ir, node, type, axes);
    return ir->failed || !fold_is_splat(ir, node) ? spread : fold_splat(ir, node, type);
}

uint32_t fold_slice(struct ir *ir, uint32_t node, const int64_t *start, const int64_t *step,
                    const uint32_t *size)
{
    uint32_t part = ir_slice(ir, node, start, step, size);
    return ir->failed || part == node || !fold_is_splat(ir, node)
               ? part
               : fold_splat(ir, node, *ir_type_of(ir, part));
}

uint32_t fold_fill(struct ir *ir, uint32_t scalar, struct ir_type shape)
{
    uint8_t none[IR_RANK] = {0};
    return fold_broadcast(ir, scalar, shape, none);
}
