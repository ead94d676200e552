/*
 * Builders of dots and collectives: views of operands and results bring both into the one form that
 * is lowered.
 */
#include "neuron/compiler/ir.h"

/* Dimensions of a tensor of `rank` that are in neither list, in order, after *count others. */
static bool append_free(uint32_t rank, const uint8_t *batch, uint32_t batch_count,
                        const uint8_t *contract, uint32_t contract_count, uint8_t *axes,
                        uint32_t *count)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < batch_count + contract_count; i++) {
        uint8_t axis = i < batch_count ? batch[i] : contract[i - batch_count];
        if (axis >= rank || (used >> axis & 1))
            return false;
        used |= 1U << axis;
    }
    for (uint32_t i = 0; i < rank; i++)
        if (!(used >> i & 1))
            axes[(*count)++] = (uint8_t)i;
    return true;
}

/* Integers are multiplied and summed by the Vector and GpSimd engines: the Tensor engine supports
 * floats only. lhs is [batch.., m.., k..], rhs [batch.., k.., n..]. */
static uint32_t integer_dot(struct ir *ir, uint32_t lhs, uint32_t rhs, uint32_t batch,
                            uint32_t contract, struct ir_type type)
{
    lhs = ir_convert(ir, lhs, type.dtype, false);
    rhs = ir_convert(ir, rhs, type.dtype, false);
    if (ir->failed)
        return IR_NONE;
    struct ir_type left = *ir_type_of(ir, lhs), right = *ir_type_of(ir, rhs), both = type;
    uint32_t rows = left.rank - batch - contract, columns = right.rank - batch - contract;
    if (type.rank + contract > IR_RANK)
        return ir_fail(ir, "a dot of integers with %u dimensions in all; at most %d are supported",
                       type.rank + contract, IR_RANK);
    for (uint32_t i = 0; i < contract; i++)
        both.size[both.rank++] = right.size[batch + i];
    uint8_t from_left[IR_RANK], from_right[IR_RANK], order[IR_RANK];
    for (uint32_t i = 0; i < left.rank; i++)
        from_left[i] = (uint8_t)(i < batch + rows ? i : i + columns);
    /* rhs's k goes behind its n first, as a broadcast keeps the order of dimensions. */
    for (uint32_t i = 0; i < right.rank; i++) {
        order[i] = (uint8_t)(i < batch ? i : i < batch + columns ? i + contract : i - columns);
        from_right[i] = (uint8_t)(i < batch ? i : i + rows);
    }
    uint32_t a = ir_broadcast(ir, lhs, both, from_left);
    uint32_t b = ir_broadcast(ir, ir_transpose(ir, rhs, order), both, from_right);
    uint32_t mask = ((1U << contract) - 1) << type.rank;
    return ir_reduce(ir, ALU_ADD, ir_binary(ir, ALU_MULTIPLY, a, b), mask);
}

/* Brings every dot into the form that is lowered, [batch, m, k] x [batch, k, n]; integers take
 * another path, as the Tensor engine has floats only. The model's FLOPs are counted here, before
 * any of that changes them. */
uint32_t ir_dot(struct ir *ir, uint32_t lhs, uint32_t rhs, const struct ir_dot_axes *axes,
                enum dtype dtype)
{
    const uint32_t both[] = {lhs, rhs};
    if (!ir_usable(ir, 2, both))
        return IR_NONE;
    struct ir_type left = *ir_type_of(ir, lhs), right = *ir_type_of(ir, rhs);
    char a[IR_TYPE_TEXT], b[IR_TYPE_TEXT];
    uint32_t batch = axes->batch_count, contract = axes->contract_count;
    uint8_t left_order[2 * IR_RANK], right_order[2 * IR_RANK];
    uint32_t left_count = batch, right_count = batch + contract;
    bool fits = batch + contract <= left.rank && batch + contract <= right.rank &&
                append_free(left.rank, axes->lhs_batch, batch, axes->lhs_contract, contract,
                            left_order, &left_count) &&
                append_free(right.rank, axes->rhs_batch, batch, axes->rhs_contract, contract,
                            right_order, &right_count);
    struct ir_type type = ir_make_type(dtype, 0, NULL);
    for (uint32_t i = 0; fits && i < batch; i++) {
        left_order[i] = axes->lhs_batch[i];
        right_order[i] = axes->rhs_batch[i];
        fits = left.size[left_order[i]] == right.size[right_order[i]];
    }
    for (uint32_t i = 0; fits && i < contract; i++) {
        left_order[left_count + i] = axes->lhs_contract[i];
        right_order[batch + i] = axes->rhs_contract[i];
        fits = left.size[axes->lhs_contract[i]] == right.size[axes->rhs_contract[i]];
    }
    if (left.is_bool || right.is_bool)
        return ir_fail(ir, "dot of %s and %s: booleans are not supported", ir_type_text(&left, a),
                       ir_type_text(&right, b));
    if (!fits)
        return ir_fail(ir, "dot of %s and %s: dimensions do not match", ir_type_text(&left, a),
                       ir_type_text(&right, b));
    if (left.rank + right.rank - batch - 2 * contract > IR_RANK)
        return ir_fail(ir, "dot of %s and %s: the result has more than %d dimensions",
                       ir_type_text(&left, a), ir_type_text(&right, b), IR_RANK);
    for (uint32_t i = 0; i < left_count; i++)
        type.size[type.rank++] = left.size[left_order[i]];
    for (uint32_t i = batch + contract; i < right.rank; i++)
        type.size[type.rank++] = right.size[right_order[i]];
    lhs = ir_transpose(ir, lhs, left_order);
    rhs = ir_transpose(ir, rhs, right_order);
    if (ir->failed)
        return IR_NONE;
    if (!ir_is_float(&left) && !ir_is_float(&right) && !dtype_is_float(dtype))
        return integer_dot(ir, lhs, rhs, batch, contract, type);
    if (left.dtype != right.dtype || !ir_is_float(&left)) {
        lhs = ir_convert(ir, lhs, DTYPE_FP32, false);
        rhs = ir_convert(ir, rhs, DTYPE_FP32, false);
    }
    const uint32_t args[] = {lhs, rhs};
    if (!ir_usable(ir, 2, args))
        return IR_NONE;
    struct ir_node *node = ir_add(ir, IR_DOT, type, 2, args);
    node->batch_rank = (uint8_t)batch;
    node->contract_rank = (uint8_t)contract;
    if (ir->failed)
        return IR_NONE;
    uint64_t flops = 2 * ir_elements(&type);
    for (uint32_t i = 0; i < contract; i++)
        flops *= right.size[right_order[batch + i]];
    ir->origins.items[ir->origin].model_flops += flops;
    return IR_LAST(ir);
}

static uint32_t group_size(const struct ir *ir, const struct ir_groups *groups)
{
    return groups->group_count ? groups->group_size : ir->ranks;
}

static uint32_t collective(struct ir *ir, enum collective_kind kind, uint32_t value,
                           struct ir_type type, enum alu alu, const struct ir_groups *groups)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    size_t members = (size_t)groups->group_size * groups->group_count;
    if (!collective_ranks_distinct(kind, groups->members, members))
        return ir_fail(ir, "a rank is in two of its groups");
    if (kind == COLLECTIVE_PERMUTE && members == 0)
        return ir_fail(ir, "a permutation needs pairs of ranks");
    struct ir_node *node = ir_add(ir, IR_COLLECTIVE, type, 1, &value);
    node->operation = (uint8_t)kind;
    node->reduction = (uint8_t)alu;
    node->group_size = groups->group_size;
    node->group_count = groups->group_count;
    node->members = groups->members;
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_all_reduce(struct ir *ir, uint32_t value, enum alu alu, const struct ir_groups *groups)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    return collective(ir, COLLECTIVE_ALL_REDUCE, value, *ir_type_of(ir, value), alu, groups);
}

/* Dimension `axis` split into [parts, rest], with the parts in front. */
static uint32_t split_to_front(struct ir *ir, uint32_t value, uint32_t axis, uint32_t parts)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value);
    if (axis >= type.rank || type.rank >= IR_RANK || type.size[axis] % parts)
        return ir_fail(ir, "dimension %u of a tensor of rank %u cannot be split into %u parts",
                       axis, type.rank, parts);
    uint32_t size[IR_RANK];
    uint8_t order[IR_RANK] = {(uint8_t)axis};
    for (uint32_t i = 0, at = 0; i < type.rank; i++) {
        if (i == axis)
            size[at++] = parts;
        size[at++] = i == axis ? type.size[i] / parts : type.size[i];
    }
    for (uint32_t i = 0, at = 1; i <= type.rank; i++)
        if (i != axis)
            order[at++] = (uint8_t)i;
    return ir_transpose(ir, ir_reshape(ir, value, type.rank + 1U, size), order);
}

/* The first dimension moved before `axis` of the others, and merged with it. */
static uint32_t merge_from_front(struct ir *ir, uint32_t value, uint32_t axis)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value);
    uint8_t order[IR_RANK];
    uint32_t size[IR_RANK];
    for (uint32_t i = 0; i < type.rank; i++)
        order[i] = (uint8_t)(i < axis ? i + 1 : i == axis ? 0 : i);
    for (uint32_t i = 0; i + 1 < type.rank; i++)
        size[i] = type.size[i + 1] * (i == axis ? type.size[0] : 1);
    return ir_reshape(ir, ir_transpose(ir, value, order), type.rank - 1U, size);
}

uint32_t ir_all_gather(struct ir *ir, uint32_t value, uint32_t axis, const struct ir_groups *groups)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value), whole = type;
    if (axis >= type.rank || type.rank >= IR_RANK)
        return ir_fail(ir, "all_gather along dimension %u of a tensor of rank %u", axis, type.rank);
    whole.rank++;
    whole.size[0] = group_size(ir, groups);
    memcpy(&whole.size[1], type.size, type.rank * sizeof *type.size);
    return merge_from_front(
        ir, collective(ir, COLLECTIVE_ALL_GATHER, value, whole, ALU_NONE, groups), axis);
}

uint32_t ir_reduce_scatter(struct ir *ir, uint32_t value, enum alu alu, uint32_t axis,
                           const struct ir_groups *groups)
{
    value = split_to_front(ir, value, axis, group_size(ir, groups));
    if (ir->failed)
        return IR_NONE;
    struct ir_type whole = *ir_type_of(ir, value), type = whole;
    type.rank--;
    memcpy(type.size, &whole.size[1], type.rank * sizeof *type.size);
    return collective(ir, COLLECTIVE_REDUCE_SCATTER, value, type, alu, groups);
}

uint32_t ir_all_to_all(struct ir *ir, uint32_t value, uint32_t split_axis, uint32_t concat_axis,
                       const struct ir_groups *groups)
{
    value = split_to_front(ir, value, split_axis, group_size(ir, groups));
    if (ir->failed)
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value);
    if (concat_axis + 1U >= type.rank)
        return ir_fail(ir, "all_to_all along dimension %u of a tensor of rank %u", concat_axis,
                       type.rank - 1U);
    return merge_from_front(
        ir, collective(ir, COLLECTIVE_ALL_TO_ALL, value, type, ALU_NONE, groups), concat_axis);
}

uint32_t ir_permute(struct ir *ir, uint32_t value, const uint32_t *pairs, uint32_t pair_count)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    const struct ir_groups groups = {2, pair_count, pairs};
    return collective(ir, COLLECTIVE_PERMUTE, value, *ir_type_of(ir, value), ALU_NONE, &groups);
}
