/*
 * Operations that move elements: broadcasts, reshapes, slices, concatenation, padding.
 */
#include "neuron/compiler/hlo/expand.h"

enum {
    INSTRUCTION_SLICES = PB_TAG(HLO_SLICES, PB_BYTES),
    PADDING_DIMENSIONS = PB_TAG(1, PB_BYTES),
};

/* The instruction's dimensions, all below `rank`; false unless there are `count`. */
static bool dimensions_of(const struct typed_instruction *at, uint32_t count, uint32_t rank,
                          uint8_t *axes)
{
    if (at->dimension_count != count || count > IR_RANK)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (at->dimensions[i] < 0 || at->dimensions[i] >= rank)
            return false;
        axes[i] = (uint8_t)at->dimensions[i];
    }
    return true;
}

uint32_t expand_broadcast(struct expand *expand, const struct typed_instruction *at,
                          const uint32_t *args)
{
    struct ir *ir = expand->ir;
    uint32_t rank = ir_type_of(ir, args[0])->rank;
    uint8_t axes[IR_RANK] = {0}, order[IR_RANK] = {0};
    if (!dimensions_of(at, rank, at->shape.type.rank, axes))
        return expand_fail(expand, at, "its dimensions do not match its operand");
    /* The internal form keeps the order of dimensions. */
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t place = 0;
        for (uint32_t k = 0; k < rank; k++)
            place += axes[k] < axes[i] || (axes[k] == axes[i] && k < i);
        order[place] = (uint8_t)i;
    }
    uint8_t sorted[IR_RANK];
    for (uint32_t i = 0; i < rank; i++)
        sorted[i] = axes[order[i]];
    return fold_broadcast(ir, fold_transpose(ir, args[0], order), at->shape.type, sorted);
}

uint32_t expand_reshape(struct expand *expand, const struct typed_instruction *at,
                        const uint32_t *args)
{
    return fold_reshape(expand->ir, args[0], at->shape.type.rank, at->shape.type.size);
}

uint32_t expand_transpose(struct expand *expand, const struct typed_instruction *at,
                          const uint32_t *args)
{
    uint32_t rank = ir_type_of(expand->ir, args[0])->rank;
    uint8_t axes[IR_RANK];
    if (!dimensions_of(at, rank, rank, axes))
        return expand_fail(expand, at, "its dimensions do not match its operand");
    return fold_transpose(expand->ir, args[0], axes);
}

/* The same bytes: from the order in which the operand is stored to that of the result. */
uint32_t expand_bitcast(struct expand *expand, const struct typed_instruction *at,
                        const uint32_t *args)
{
    struct ir *ir = expand->ir;
    const struct typed_shape *from =
        &expand->frame->computation->instructions.items[at->operands[0]].shape;
    const struct typed_shape *to = &at->shape;
    if (from->type.dtype != to->type.dtype || from->type.is_bool != to->type.is_bool)
        return expand_fail(expand, at, "a bitcast to another type is not supported");
    uint32_t stored[IR_RANK];
    uint8_t back[IR_RANK];
    for (uint32_t i = 0; i < to->type.rank; i++) {
        stored[i] = to->type.size[to->major_first[i]];
        back[to->major_first[i]] = (uint8_t)i;
    }
    uint32_t value = fold_transpose(ir, args[0], from->major_first);
    return fold_transpose(ir, fold_reshape(ir, value, to->type.rank, stored), back);
}

/* The step is limited to the slice's length: a longer stride selects the same single element, and
 * could overflow later. */
uint32_t expand_slice(struct expand *expand, const struct typed_instruction *at,
                      const uint32_t *args)
{
    struct ir *ir = expand->ir;
    struct ir_type type = *ir_type_of(ir, args[0]);
    int64_t start[IR_RANK], step[IR_RANK];
    uint32_t size[IR_RANK], count = 0;
    struct pb_reader in = at->bytes;
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag != INSTRUCTION_SLICES)
            continue;
        struct pb_reader slice = pb_enter(&field);
        int64_t first = hlo_number(slice, 1), limit = hlo_number(slice, 2);
        int64_t stride = hlo_number(slice, 3);
        if (count == type.rank || first < 0 || limit <= first || limit > type.size[count] ||
            stride < 1)
            return expand_fail(expand, at, "its bounds do not match its operand");
        start[count] = first;
        step[count] = stride < limit - first ? stride : limit - first;
        size[count] = (uint32_t)((limit - first - 1) / stride + 1);
        count++;
    }
    if (count != type.rank)
        return expand_fail(expand, at, "its bounds do not match its operand");
    return fold_slice(ir, args[0], start, step, size);
}

uint32_t expand_reverse(struct expand *expand, const struct typed_instruction *at,
                        const uint32_t *args)
{
    struct ir_type type = *ir_type_of(expand->ir, args[0]);
    int64_t start[IR_RANK] = {0}, step[IR_RANK];
    uint8_t axes[IR_RANK];
    if (!dimensions_of(at, at->dimension_count, type.rank, axes))
        return expand_fail(expand, at, "its dimensions do not match its operand");
    for (uint32_t i = 0; i < type.rank; i++)
        step[i] = 1;
    for (uint32_t i = 0; i < at->dimension_count; i++) {
        start[axes[i]] = (int64_t)type.size[axes[i]] - 1;
        step[axes[i]] = type.size[axes[i]] > 1 ? -1 : 1;
    }
    return fold_slice(expand->ir, args[0], start, step, type.size);
}

/* Starts that are all known, clamped so that the slice lies inside. */
static bool known_starts(const struct ir *ir, const uint32_t *starts, const struct ir_type *whole,
                         const uint32_t *size, int64_t *start)
{
    for (uint32_t i = 0; i < whole->rank; i++) {
        if (!fold_integer(ir, starts[i], &start[i]) || size[i] > whole->size[i])
            return false;
        int64_t last = (int64_t)whole->size[i] - size[i];
        start[i] = start[i] < 0 ? 0 : start[i] > last ? last : start[i];
    }
    return true;
}

/* Starts are one scalar each, or all in one array. */
static bool starts_of(struct ir *ir, const struct typed_instruction *at, const uint32_t *args,
                      uint32_t first, uint32_t rank, uint32_t *starts)
{
    if (rank > 0 && at->operand_count == first + 1 && ir_type_of(ir, args[first])->rank == 1) {
        if (ir_type_of(ir, args[first])->size[0] != rank)
            return false;
        for (uint32_t i = 0; i < rank; i++) {
            const int64_t start[] = {i}, step[] = {1};
            const uint32_t one[] = {1};
            starts[i] = fold_reshape(ir, fold_slice(ir, args[first], start, step, one), 0, NULL);
        }
        return !ir->failed;
    }
    if (at->operand_count != first + rank)
        return false;
    for (uint32_t i = 0; i < rank; i++) {
        starts[i] = args[first + i];
        if (ir_type_of(ir, starts[i])->rank != 0)
            return false;
    }
    return true;
}

uint32_t expand_dynamic_slice(struct expand *expand, const struct typed_instruction *at,
                              const uint32_t *args)
{
    struct ir *ir = expand->ir;
    struct ir_type type = *ir_type_of(ir, args[0]);
    int64_t sizes[IR_RANK], start[IR_RANK], ones[IR_RANK];
    uint32_t size[IR_RANK], starts[IR_RANK], count;
    if (!hlo_list(at->bytes, HLO_DYNAMIC_SIZES, IR_RANK, sizes, &count) || count != type.rank ||
        !starts_of(ir, at, args, 1, type.rank, starts))
        return expand_fail(expand, at, "its sizes or starts do not match its operand");
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] < 1 || sizes[i] > type.size[i])
            return expand_fail(expand, at, "its sizes do not match its operand");
        size[i] = (uint32_t)sizes[i];
        ones[i] = 1;
    }
    if (known_starts(ir, starts, &type, size, start))
        return fold_slice(ir, args[0], start, ones, size);
    return ir_dynamic_slice(ir, args[0], starts, size);
}

uint32_t expand_dynamic_update_slice(struct expand *expand, const struct typed_instruction *at,
                                     const uint32_t *args)
{
    struct ir *ir = expand->ir;
    struct ir_type type = *ir_type_of(ir, args[0]);
    uint32_t starts[IR_RANK];
    if (!starts_of(ir, at, args, 2, type.rank, starts))
        return expand_fail(expand, at, "its starts do not match its operand");
    const struct ir_type *part = ir_type_of(ir, args[1]);
    if (ir_same_shape(part, &type))
        return args[1];
    return ir_dynamic_update_slice(ir, args[0], args[1], starts);
}

uint32_t expand_concatenate(struct expand *expand, const struct typed_instruction *at,
                            const uint32_t *args)
{
    uint8_t axis[IR_RANK];
    if (!dimensions_of(at, 1, ir_type_of(expand->ir, args[0])->rank, axis))
        return expand_fail(expand, at, "its dimension does not match its operands");
    return ir_concatenate(expand->ir, args, at->operand_count, axis[0]);
}

/* A padding value that is unknown, or not exact as a double, is selected where a padded mask is
 * false. */
uint32_t expand_padded(struct ir *ir, uint32_t value, uint32_t padding, const int64_t *low,
                       const int64_t *high, const int64_t *interior)
{
    double number;
    bool is_exact = ir_is_float(ir_type_of(ir, padding));
    if (fold_number(ir, padding, &number) && (is_exact || (number < 0x1p53 && number > -0x1p53)))
        return ir_pad(ir, value, low, high, interior, number);
    struct ir_type mask = ir_with_dtype(*ir_type_of(ir, value), DTYPE_UINT8, true);
    uint32_t padded = ir_pad(ir, value, low, high, interior, 0);
    uint32_t inside = ir_pad(ir, ir_integer(ir, mask, 1), low, high, interior, 0);
    if (ir->failed)
        return IR_NONE;
    return ir_select(ir, inside, padded, fold_fill(ir, padding, *ir_type_of(ir, padded)));
}

uint32_t expand_pad(struct expand *expand, const struct typed_instruction *at, const uint32_t *args)
{
    struct ir *ir = expand->ir;
    uint32_t rank = ir_type_of(ir, args[0])->rank, count = 0;
    int64_t low[IR_RANK], high[IR_RANK], interior[IR_RANK];
    struct pb_reader in = hlo_message(at->bytes, HLO_PADDING);
    struct pb_field field;
    while (pb_next(&in, &field)) {
        if (field.tag != PADDING_DIMENSIONS)
            continue;
        struct pb_reader dimension = pb_enter(&field);
        if (count == rank)
            return expand_fail(expand, at, "its padding does not match its operand");
        low[count] = hlo_number(dimension, 1);
        high[count] = hlo_number(dimension, 2);
        interior[count++] = hlo_number(dimension, 3);
    }
    if (count != rank)
        return expand_fail(expand, at, "its padding does not match its operand");
    return expand_padded(ir, args[0], args[1], low, high, interior);
}

uint32_t expand_iota(struct expand *expand, const struct typed_instruction *at,
                     const uint32_t *args)
{
    (void)args;
    uint8_t axis[IR_RANK];
    if (!dimensions_of(at, 1, at->shape.type.rank, axis))
        return expand_fail(expand, at, "its dimension does not match its shape");
    return ir_iota(expand->ir, at->shape.type, axis[0]);
}
