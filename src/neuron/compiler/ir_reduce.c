/*
 * The internal form: values along dimensions, and reductions over them.
 */
#include "neuron/compiler/ir.h"

uint32_t ir_iota(struct ir *ir, struct ir_type type, uint32_t axis)
{
    if (ir->failed)
        return IR_NONE;
    if (axis >= type.rank)
        return ir_fail(ir, "iota along dimension %u of a tensor of rank %u", axis, type.rank);
    if (type.is_bool)
        return ir_fail(ir, "iota of booleans");
    ir_add(ir, IR_IOTA, ir_make_type(type.dtype, 1, &type.size[axis]), 0, NULL);
    uint8_t axes[1] = {(uint8_t)axis};
    return ir_broadcast(ir, ir->failed ? IR_NONE : IR_LAST(ir), type, axes);
}

/* Reducing nothing, or dimensions of size 1, is a reshape. Errors stick to `ir`, so callers
 * need not check each node. */
uint32_t ir_reduce(struct ir *ir, enum alu alu, uint32_t value, uint32_t mask)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type from = *ir_type_of(ir, value);
    if (mask >> from.rank)
        return ir_fail(ir, "reduction over a dimension that a tensor of rank %u does not have",
                       from.rank);
    if (from.is_bool)
        alu = ir_boolean_alu(alu);
    if (ir_is_of_bits(alu) && ir_is_float(&from))
        return ir_fail(ir, "reduction by %s takes integers, not %s", alu_name(alu),
                       dtype_name(from.dtype));
    struct ir_type type = from;
    type.rank = 0;
    uint64_t reduced = 1;
    for (uint32_t i = 0; i < from.rank; i++)
        if (mask >> i & 1)
            reduced *= from.size[i];
        else
            type.size[type.rank++] = from.size[i];
    if (reduced == 1)
        return ir_reshape(ir, value, type.rank, type.size);
    struct ir_node *node = ir_add(ir, IR_REDUCE, type, 1, &value);
    node->operation = (uint8_t)alu;
    node->mask = mask;
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_reduce_kept(struct ir *ir, enum alu alu, uint32_t value, uint32_t mask)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value);
    for (uint32_t i = 0; i < type.rank; i++)
        if (mask >> i & 1)
            type.size[i] = 1;
    return ir_reshape(ir, ir_reduce(ir, alu, value, mask), type.rank, type.size);
}
