/*
 * Reductions. A computation that is one operation becomes a reduction of the internal form; any
 * other is applied to pairs of neighbors until one element is left: elements may be grouped in any
 * way, but stay in order, as the computation need not be commutative.
 */
#include "neuron/compiler/hlo/expand.h"

#include <math.h>

enum alu expand_monoid(const struct expand *expand, uint32_t callee)
{
    const struct typed_computation *computation = &expand->module->computations.items[callee];
    const struct typed_instruction *root = &computation->instructions.items[computation->root];
    if (computation->parameter_count != 2 || root->operand_count != 2)
        return ALU_NONE;
    uint32_t a = root->operands[0], b = root->operands[1];
    const uint32_t *parameters = computation->parameters;
    if (!(a == parameters[0] && b == parameters[1]) && !(a == parameters[1] && b == parameters[0]))
        return ALU_NONE;
    const struct expand_operation *operation = expand_operation(expand, root);
    if (!operation || operation->array != expand_binary)
        return ALU_NONE;
    enum alu alu = operation->detail;
    bool is_commutative = alu == ALU_ADD || alu == ALU_MULTIPLY || alu == ALU_MAX ||
                          alu == ALU_MIN || alu == ALU_AND || alu == ALU_OR || alu == ALU_XOR;
    return is_commutative ? alu : ALU_NONE;
}

/* A computation of one known operation becomes one instruction; any other is expanded for whole
 * tensors, with `count` accumulators followed by as many values. */
bool expand_combine(struct expand *expand, const struct typed_instruction *at, uint32_t callee,
                    const uint32_t *a, const uint32_t *b, uint32_t count, uint32_t *result)
{
    uint32_t both[2 * IR_RANK];
    struct value value;
    enum alu alu = count == 1 ? expand_monoid(expand, callee) : ALU_NONE;
    if (alu != ALU_NONE) {
        result[0] = fold_binary(expand->ir, alu, a[0], b[0]);
        return !expand->ir->failed;
    }
    if (count > IR_RANK) {
        expand_fail(expand, at, "it reduces more than %d arrays", IR_RANK);
        return false;
    }
    memcpy(both, a, count * sizeof *a);
    memcpy(both + count, b, count * sizeof *b);
    if (!expand_apply(expand, at, callee, both, 2 * count, &value))
        return false;
    if (value.count != count) {
        expand_fail(expand, at, "its computation gives %u values for %u", value.count, count);
        return false;
    }
    memcpy(result, value.leaves, count * sizeof *result);
    return true;
}

/* The smallest number of a type, or the largest. FP8_E4 has no infinity. */
static void extreme(const struct ir_type *type, bool is_largest, double *number, int64_t *integer)
{
    uint32_t bits = type->is_bool ? 1 : 8 * dtype_bytes(type->dtype);
    bool is_signed = dtype_is_signed(type->dtype);
    int64_t largest = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    *number = type->dtype == DTYPE_FP8_E4 ? 448 : INFINITY;
    *number = is_largest ? *number : -*number;
    *integer = is_largest ? largest : is_signed ? -largest - 1 : 0;
}

uint32_t expand_monoid_identity(struct ir *ir, enum alu alu, const struct ir_type *type)
{
    double number = alu == ALU_MULTIPLY;
    int64_t integer = alu == ALU_MULTIPLY;
    bool has_all_bits = alu == ALU_AND || (type->is_bool && alu == ALU_MULTIPLY);
    if (alu == ALU_MAX || alu == ALU_MIN || has_all_bits)
        extreme(type, alu != ALU_MAX, &number, &integer);
    if (has_all_bits && dtype_is_signed(type->dtype))
        integer = -1;
    struct ir_type scalar = ir_with_dtype(ir_make_type(0, 0, NULL), type->dtype, type->is_bool);
    return ir_is_float(type) ? ir_number(ir, scalar, number) : ir_integer(ir, scalar, integer);
}

static bool is_identity(struct ir *ir, enum alu alu, uint32_t init)
{
    if (!fold_is_splat(ir, init))
        return false;
    uint32_t identity = expand_monoid_identity(ir, alu, ir_type_of(ir, init));
    const struct ir_node *a = &ir->nodes.items[init], *b = &ir->nodes.items[identity];
    return ir_is_float(&a->type) ? a->number == b->number : a->integer == b->integer;
}

/* The reduction of elements [0, size) of the first dimension, which is dropped. Elements left
 * without a neighbor are combined among themselves, and come last. */
static bool combine_neighbors(struct expand *expand, const struct typed_instruction *at,
                              uint32_t *values, uint32_t count)
{
    struct ir *ir = expand->ir;
    uint32_t odd[IR_RANK] = {0};
    bool has_odd = false;
    for (;;) {
        struct ir_type type = *ir_type_of(ir, values[0]);
        uint32_t half = type.size[0] / 2, low[IR_RANK] = {0}, high[IR_RANK] = {0};
        int64_t start[IR_RANK] = {0}, step[IR_RANK];
        for (uint32_t i = 0; i < type.rank; i++)
            step[i] = 1;
        for (uint32_t i = 0; i < count && type.size[0] % 2; i++) {
            uint32_t one[IR_RANK];
            memcpy(one, type.size, sizeof one);
            one[0] = 1;
            start[0] = (int64_t)type.size[0] - 1;
            low[i] = fold_slice(ir, values[i], start, step, one);
        }
        if (type.size[0] % 2) {
            if (has_odd && !expand_combine(expand, at, at->callees[0], low, odd, count, low))
                return false;
            memcpy(odd, low, count * sizeof *odd);
            has_odd = true;
        }
        if (half == 0)
            break;
        uint32_t size[IR_RANK];
        memcpy(size, type.size, sizeof size);
        size[0] = half;
        step[0] = 2;
        for (uint32_t i = 0; i < count; i++) {
            start[0] = 0;
            low[i] = fold_slice(ir, values[i], start, step, size);
            start[0] = 1;
            high[i] = fold_slice(ir, values[i], start, step, size);
        }
        if (ir->failed || !expand_combine(expand, at, at->callees[0], low, high, count, values))
            return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct ir_type *type = ir_type_of(ir, odd[i]);
        values[i] = fold_reshape(ir, odd[i], type->rank - 1U, type->size + 1);
    }
    return !ir->failed;
}

/* Reduced dimensions as one, in front of the others. */
static uint32_t gathered(struct ir *ir, uint32_t value, uint32_t mask)
{
    struct ir_type type = *ir_type_of(ir, value);
    uint8_t order[IR_RANK];
    uint32_t size[IR_RANK + 1] = {1}, used = 0, rank = 1;
    for (uint32_t i = 0; i < type.rank; i++)
        if (mask >> i & 1) {
            order[used++] = (uint8_t)i;
            size[0] *= type.size[i];
        }
    for (uint32_t i = 0; i < type.rank; i++)
        if (!(mask >> i & 1)) {
            order[used++] = (uint8_t)i;
            size[rank++] = type.size[i];
        }
    return fold_reshape(ir, fold_transpose(ir, value, order), rank, size);
}

static bool reduce_any(struct expand *expand, const struct typed_instruction *at, uint32_t *values,
                       const uint32_t *inits, uint32_t count, uint32_t mask)
{
    struct ir *ir = expand->ir;
    uint32_t starts[IR_RANK];
    for (uint32_t i = 0; i < count; i++)
        values[i] = gathered(ir, values[i], mask);
    if (ir->failed || !combine_neighbors(expand, at, values, count))
        return false;
    for (uint32_t i = 0; i < count; i++)
        starts[i] = fold_fill(ir, inits[i], *ir_type_of(ir, values[i]));
    return !ir->failed && expand_combine(expand, at, at->callees[0], starts, values, count, values);
}

static bool reduce_one(struct expand *expand, enum alu alu, uint32_t *value, uint32_t init,
                       uint32_t mask)
{
    struct ir *ir = expand->ir;
    *value = ir_reduce(ir, alu, *value, mask);
    if (ir->failed || is_identity(ir, alu, init))
        return !ir->failed;
    *value = fold_binary(ir, alu, *value, fold_fill(ir, init, *ir_type_of(ir, *value)));
    return !ir->failed;
}

bool expand_reduced_operands(struct expand *expand, const struct typed_instruction *at,
                             uint32_t *values, uint32_t *inits)
{
    uint32_t count = at->operand_count / 2;
    if (at->operand_count % 2 || count > IR_RANK)
        return false;
    for (uint32_t i = 0; i < 2 * count; i++) {
        struct value operand = expand_operand(expand, at, i);
        if (operand.count != 1)
            return false;
        (i < count ? values : inits)[i % count] = operand.leaves[0];
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct ir_type *type = ir_type_of(expand->ir, values[i]);
        const struct ir_type *init = ir_type_of(expand->ir, inits[i]);
        if (!ir_same_shape(type, ir_type_of(expand->ir, values[0])) || init->rank != 0 ||
            init->dtype != type->dtype || init->is_bool != type->is_bool)
            return false;
    }
    return true;
}

void expand_reduce(struct expand *expand, const struct typed_instruction *at, struct value *result)
{
    uint32_t count = at->operand_count / 2, values[IR_RANK] = {0}, inits[IR_RANK] = {0}, mask = 0;
    if (at->callee_count != 1 || !expand_reduced_operands(expand, at, values, inits)) {
        expand_fail(expand, at, "its operands do not match");
        return;
    }
    for (uint32_t i = 0; i < at->dimension_count; i++) {
        if (at->dimensions[i] < 0 || at->dimensions[i] >= ir_type_of(expand->ir, values[0])->rank) {
            expand_fail(expand, at, "its dimensions do not match its operand");
            return;
        }
        mask |= 1U << at->dimensions[i];
    }
    enum alu alu = count == 1 ? expand_monoid(expand, at->callees[0]) : ALU_NONE;
    bool ok = alu != ALU_NONE && alu != ALU_XOR
                  ? reduce_one(expand, alu, values, inits[0], mask)
                  : reduce_any(expand, at, values, inits, count, mask);
    if (!ok)
        return;
    *result = expand_make_value(&expand->frame->memory, count);
    memcpy(result->leaves, values, count * sizeof *values);
}
