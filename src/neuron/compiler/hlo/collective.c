/*
 * Collectives. A program's ranks are the partitions or replicas of the module.
 */
#include "neuron/compiler/hlo/expand.h"

enum {
    INSTRUCTION_REPLICA_GROUPS = PB_TAG(HLO_REPLICA_GROUPS, PB_BYTES),
    INSTRUCTION_PAIRS = PB_TAG(HLO_PAIRS, PB_BYTES),
    DEVICE_LIST_GROUPS = PB_TAG(1, PB_BYTES),
    DEVICE_LIST_IOTA = PB_TAG(2, PB_BYTES),

    MAX_RANKS = 1 << 16,
};

struct groups {
    ARRAY(uint32_t) members;
    uint32_t size, count;
    bool is_malformed;
};

static void add_group(struct groups *groups, struct pb_reader in)
{
    struct pb_field field;
    hlo_numbers ids = {0};
    while (pb_next(&in, &field))
        if (field.tag >> 3 == 1)
            groups->is_malformed |= !hlo_numbers_add(&ids, &field);
    groups->is_malformed |= groups->count > 0 && ids.count != groups->size;
    groups->size = (uint32_t)ids.count;
    groups->count += ids.count > 0;
    for (size_t i = 0; i < ids.count; i++) {
        groups->is_malformed |= ids.items[i] < 0 || ids.items[i] >= MAX_RANKS;
        *array_push(&groups->members) = (uint32_t)ids.items[i];
    }
    array_free(&ids);
}

/* Ranks 0, 1, .. in a shape, its dimensions permuted, as groups one after the other. */
static void add_iota(struct groups *groups, struct pb_reader in)
{
    int64_t count = hlo_number(in, 1), size = hlo_number(in, 2), shape[IR_RANK], order[IR_RANK];
    uint32_t rank, order_count, seen = 0;
    int64_t step[IR_RANK], at[IR_RANK] = {0}, total = 1;
    bool ok = hlo_list(in, 3, IR_RANK, shape, &rank) &&
              hlo_list(in, 4, IR_RANK, order, &order_count) &&
              (order_count == rank || order_count == 0) && count > 0 && count <= MAX_RANKS &&
              size > 0 && size <= MAX_RANKS;
    for (uint32_t i = 0; ok && i < rank; i++) {
        if (order_count == 0)
            order[i] = i;
        ok = shape[i] > 0 && shape[i] <= MAX_RANKS && order[i] >= 0 && order[i] < rank &&
             !(seen >> order[i] & 1) && total <= MAX_RANKS;
        seen |= ok ? 1U << order[i] : 0;
        total *= ok ? shape[i] : 1;
    }
    if (!ok || total != count * size) {
        groups->is_malformed = true;
        return;
    }
    for (int64_t i = rank, stride = 1; i-- > 0; stride *= shape[i])
        step[i] = stride;
    groups->size = (uint32_t)size;
    groups->count = (uint32_t)count;
    for (int64_t i = 0; i < total; i++) {
        int64_t id = 0;
        for (uint32_t d = 0; d < rank; d++)
            id += at[d] * step[order[d]];
        *array_push(&groups->members) = (uint32_t)id;
        for (uint32_t d = rank; d-- > 0;) {
            if (++at[d] < shape[order[d]])
                break;
            at[d] = 0;
        }
    }
}

/* Groups may be written in both forms, which agree. */
static struct groups read_groups(const struct typed_instruction *at)
{
    struct groups groups = {0};
    struct pb_reader in = hlo_message(at->bytes, HLO_DEVICES);
    struct pb_field field;
    while (pb_next(&in, &field))
        if (field.tag == DEVICE_LIST_GROUPS)
            add_group(&groups, pb_enter(&field));
        else if (field.tag == DEVICE_LIST_IOTA)
            add_iota(&groups, pb_enter(&field));
    in = at->bytes;
    for (bool has_list = groups.count > 0; !has_list && pb_next(&in, &field);)
        if (field.tag == INSTRUCTION_REPLICA_GROUPS)
            add_group(&groups, pb_enter(&field));
    return groups;
}

static struct groups read_pairs(const struct typed_instruction *at)
{
    struct groups pairs = {.size = 2};
    struct pb_reader in = at->bytes;
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag != INSTRUCTION_PAIRS)
            continue;
        for (uint32_t i = 1; i <= 2; i++) {
            int64_t id = hlo_number(pb_enter(&field), i);
            pairs.is_malformed |= id < 0 || id >= MAX_RANKS;
            *array_push(&pairs.members) = (uint32_t)id;
        }
        pairs.count++;
    }
    return pairs;
}

static bool has_groups(const struct typed_instruction *at)
{
    return typed_is(at, "all-reduce") || typed_is(at, "all-gather") ||
           typed_is(at, "reduce-scatter") || typed_is(at, "all-to-all");
}

bool expand_count_ranks(struct expand *expand)
{
    const struct typed_computation *computation;
    array_each (computation, &expand->module->computations) {
        const struct typed_instruction *at;
        array_each (at, &computation->instructions) {
            bool is_permute = typed_is(at, "collective-permute");
            if (!is_permute && !has_groups(at))
                continue;
            struct groups groups = is_permute ? read_pairs(at) : read_groups(at);
            bool is_malformed = groups.is_malformed;
            for (size_t i = 0; i < groups.members.count && !is_malformed; i++)
                if (groups.members.items[i] >= expand->ir->ranks)
                    expand->ir->ranks = groups.members.items[i] + 1;
            array_free(&groups.members);
            if (is_malformed) {
                expand_fail(expand, at, "its groups are not lists of ranks of equal length");
                return false;
            }
        }
    }
    return true;
}

static struct ir_groups kept(struct ir *ir, struct groups *groups)
{
    struct ir_groups result = {groups->count ? groups->size : 0, groups->count, NULL};
    size_t bytes = groups->members.count * sizeof *groups->members.items;
    if (bytes > 0)
        result.members = memcpy(arena_alloc(&ir->memory, bytes), groups->members.items, bytes);
    array_free(&groups->members);
    return result;
}

typedef uint32_t collective_of(struct expand *expand, const struct typed_instruction *at,
                               uint32_t value, enum alu alu, const struct ir_groups *groups);

/* The same for each operand. */
static void for_each(struct expand *expand, const struct typed_instruction *at, bool is_reduction,
                     collective_of *of, struct value *result)
{
    enum alu alu = ALU_NONE;
    if (is_reduction) {
        alu = at->callee_count == 1 ? expand_monoid(expand, at->callees[0]) : ALU_NONE;
        if (alu != ALU_ADD && alu != ALU_MULTIPLY && alu != ALU_MAX && alu != ALU_MIN &&
            alu != ALU_AND && alu != ALU_OR) {
            expand_fail(expand, at, "its reduction is not a sum, product, maximum or minimum");
            return;
        }
    }
    struct groups groups = read_groups(at);
    struct ir_groups members = kept(expand->ir, &groups);
    *result = expand_make_value(&expand->frame->memory, at->operand_count);
    for (uint32_t i = 0; i < at->operand_count && !expand->ir->failed; i++) {
        struct value operand = expand_operand(expand, at, i);
        if (operand.count != 1)
            expand_fail(expand, at, "operand %u is not an array", i);
        else
            result->leaves[i] = of(expand, at, operand.leaves[0], alu, &members);
    }
}

static uint32_t dimension_of(const struct typed_instruction *at)
{
    return at->dimension_count == 1 && at->dimensions[0] >= 0 && at->dimensions[0] < IR_RANK
               ? (uint32_t)at->dimensions[0]
               : IR_RANK;
}

/* Booleans are reduced as they are stored: AND is the minimum, OR the maximum. */
static enum alu on_wire(const struct ir_type *type, enum alu alu)
{
    if (!type->is_bool)
        return alu;
    return alu == ALU_AND || alu == ALU_MULTIPLY || alu == ALU_MIN ? ALU_MIN : ALU_MAX;
}

static uint32_t all_reduce(struct expand *expand, const struct typed_instruction *at,
                           uint32_t value, enum alu alu, const struct ir_groups *groups)
{
    alu = on_wire(ir_type_of(expand->ir, value), alu);
    if (alu == ALU_AND || alu == ALU_OR)
        return expand_fail(expand, at, "a bitwise reduction of integers is not supported");
    return ir_all_reduce(expand->ir, value, alu, groups);
}

static uint32_t all_gather(struct expand *expand, const struct typed_instruction *at,
                           uint32_t value, enum alu alu, const struct ir_groups *groups)
{
    (void)alu;
    return ir_all_gather(expand->ir, value, dimension_of(at), groups);
}

static uint32_t reduce_scatter(struct expand *expand, const struct typed_instruction *at,
                               uint32_t value, enum alu alu, const struct ir_groups *groups)
{
    alu = on_wire(ir_type_of(expand->ir, value), alu);
    if (alu == ALU_AND || alu == ALU_OR)
        return expand_fail(expand, at, "a bitwise reduction of integers is not supported");
    return ir_reduce_scatter(expand->ir, value, alu, dimension_of(at), groups);
}

static uint32_t all_to_all(struct expand *expand, const struct typed_instruction *at,
                           uint32_t value, enum alu alu, const struct ir_groups *groups)
{
    (void)alu;
    return ir_all_to_all(expand->ir, value, dimension_of(at), dimension_of(at), groups);
}

void expand_all_reduce(struct expand *expand, const struct typed_instruction *at,
                       struct value *result)
{
    for_each(expand, at, true, all_reduce, result);
}

void expand_all_gather(struct expand *expand, const struct typed_instruction *at,
                       struct value *result)
{
    for_each(expand, at, false, all_gather, result);
}

void expand_reduce_scatter(struct expand *expand, const struct typed_instruction *at,
                           struct value *result)
{
    for_each(expand, at, true, reduce_scatter, result);
}

/* Operand i goes to the i-th rank of the group: they are sent as one tensor and split again. */
static void exchange_operands(struct expand *expand, const struct typed_instruction *at,
                              struct value *result)
{
    struct ir *ir = expand->ir;
    uint32_t count = at->operand_count, *parts = mem_zeroed(count, sizeof *parts);
    struct groups groups = read_groups(at);
    struct ir_groups members = kept(ir, &groups);
    struct ir_type type = {0};
    for (uint32_t i = 0; i < count && !ir->failed; i++) {
        struct value operand = expand_operand(expand, at, i);
        if (operand.count != 1) {
            expand_fail(expand, at, "operand %u is not an array", i);
            break;
        }
        type = *ir_type_of(ir, operand.leaves[0]);
        uint32_t size[IR_RANK + 1] = {1};
        memcpy(size + 1, type.size, type.rank * sizeof *size);
        parts[i] = ir_reshape(ir, operand.leaves[0], type.rank + 1U, size);
    }
    uint32_t together = ir_concatenate(ir, parts, ir->failed ? 0 : count, 0);
    together = ir_all_to_all(ir, together, 0, 0, &members);
    *result = expand_make_value(&expand->frame->memory, count);
    for (uint32_t i = 0; i < count && !ir->failed; i++) {
        struct ir_type all = *ir_type_of(ir, together);
        int64_t start[IR_RANK] = {i}, step[IR_RANK];
        for (uint32_t d = 0; d < all.rank; d++)
            step[d] = 1;
        all.size[0] = 1;
        result->leaves[i] =
            ir_reshape(ir, ir_slice(ir, together, start, step, all.size), type.rank, type.size);
    }
    mem_free(parts);
}

void expand_all_to_all(struct expand *expand, const struct typed_instruction *at,
                       struct value *result)
{
    if (at->dimension_count == 0)
        exchange_operands(expand, at, result);
    else
        for_each(expand, at, false, all_to_all, result);
}

void expand_collective_permute(struct expand *expand, const struct typed_instruction *at,
                               struct value *result)
{
    struct value operand = expand_operand(expand, at, 0);
    struct groups pairs = read_pairs(at);
    struct ir_groups members = kept(expand->ir, &pairs);
    *result = expand_make_value(&expand->frame->memory, operand.count);
    for (uint32_t i = 0; i < operand.count; i++)
        result->leaves[i] =
            ir_permute(expand->ir, operand.leaves[i], members.members, members.group_count);
}

/* All ranks have the same program: each learns its number as its part of 0, 1, .., by a
 * reduce-scatter of equal values. */
uint32_t expand_partition_id(struct expand *expand, const struct typed_instruction *at,
                             const uint32_t *args)
{
    (void)args;
    struct ir *ir = expand->ir;
    if (ir->ranks == 1)
        return ir_integer(ir, at->shape.type, 0);
    struct ir_type all = ir_make_type(DTYPE_UINT32, 1, &ir->ranks);
    const struct ir_groups everyone = {0};
    uint32_t mine = ir_reduce_scatter(ir, ir_iota(ir, all, 0), ALU_MAX, 0, &everyone);
    return ir_reshape(ir, mine, 0, NULL);
}
