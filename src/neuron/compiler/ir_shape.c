/*
 * Builders of values that move elements without computing: views, slices, concatenation, padding,
 * dynamic slices, rows by index.
 */
#include "neuron/compiler/ir.h"

#include <inttypes.h>

uint32_t ir_broadcast(struct ir *ir, uint32_t value, struct ir_type type, const uint8_t *axes)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    const struct ir_type *from = ir_type_of(ir, value);
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    type = ir_with_dtype(type, from->dtype, from->is_bool);
    for (uint32_t i = 0; i < from->rank; i++)
        if (axes[i] >= type.rank || (i > 0 && axes[i] <= axes[i - 1]) ||
            (from->size[i] != 1 && from->size[i] != type.size[axes[i]]))
            return ir_fail(ir, "broadcast of %s to %s", ir_type_text(from, left),
                           ir_type_text(&type, right));
    uint32_t rank = from->rank;
    struct ir_node *node = ir_add(ir, IR_BROADCAST, type, 1, &value);
    memcpy(node->axes, axes, rank);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_broadcast_to(struct ir *ir, uint32_t value, struct ir_type shape)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    const struct ir_type *from = ir_type_of(ir, value);
    if (ir_same_shape(from, &shape))
        return value;
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    if (from->rank > shape.rank)
        return ir_fail(ir, "broadcast of %s to %s", ir_type_text(from, left),
                       ir_type_text(&shape, right));
    uint8_t axes[IR_RANK];
    for (uint32_t i = 0; i < from->rank; i++)
        axes[i] = (uint8_t)(shape.rank - from->rank + i);
    return ir_broadcast(ir, value, shape, axes);
}

uint32_t ir_reshape(struct ir *ir, uint32_t value, uint32_t rank, const uint32_t *size)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    const struct ir_type *from = ir_type_of(ir, value);
    if (rank > IR_RANK)
        return ir_fail(ir, "a tensor of rank %u; at most %d is supported", rank, IR_RANK);
    struct ir_type type =
        ir_with_dtype(ir_make_type(from->dtype, rank, size), from->dtype, from->is_bool);
    if (ir_same_shape(from, &type))
        return value;
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    uint64_t elements = ir_elements(from), count = 1;
    for (uint32_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(count, (uint64_t)size[i], &count))
            count = UINT64_MAX;
    if (elements != count)
        return ir_fail(ir, "reshape of %s to %s", ir_type_text(from, left),
                       ir_type_text(&type, right));
    ir_add(ir, IR_RESHAPE, type, 1, &value);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_transpose(struct ir *ir, uint32_t value, const uint8_t *axes)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type from = *ir_type_of(ir, value), type = from;
    uint32_t seen = 0;
    bool is_identity = true;
    for (uint32_t i = 0; i < from.rank; i++) {
        if (axes[i] >= from.rank || (seen >> axes[i] & 1))
            return ir_fail(ir, "the permutation of a transpose does not name each of %u dimensions",
                           from.rank);
        seen |= 1U << axes[i];
        is_identity &= axes[i] == i;
        type.size[i] = from.size[axes[i]];
    }
    if (is_identity)
        return value;
    memcpy(ir_add(ir, IR_TRANSPOSE, type, 1, &value)->axes, axes, from.rank);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

/* The last element is computed without overflow, as start and step come from files. A slice of
 * everything is the value itself. */
uint32_t ir_slice(struct ir *ir, uint32_t value, const int64_t *start, const int64_t *step,
                  const uint32_t *size)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type from = *ir_type_of(ir, value), type = from;
    bool is_whole = true;
    for (uint32_t i = 0; i < from.rank; i++) {
        int64_t last;
        if (size[i] == 0 || step[i] == 0 ||
            __builtin_mul_overflow(step[i], (int64_t)size[i] - 1, &last) ||
            __builtin_add_overflow(last, start[i], &last) || start[i] < 0 ||
            start[i] >= from.size[i] || last < 0 || last >= from.size[i])
            return ir_fail(ir,
                           "a slice of %u elements from %" PRId64 " by %" PRId64
                           " of dimension %u, which has %u",
                           size[i], start[i], step[i], i, from.size[i]);
        type.size[i] = size[i];
        is_whole &= size[i] == from.size[i] && step[i] == 1;
    }
    if (is_whole)
        return value;
    struct ir_node *node = ir_add(ir, IR_SLICE, type, 1, &value);
    memcpy(node->start, start, from.rank * sizeof *start);
    memcpy(node->step, step, from.rank * sizeof *step);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

/* All but the concatenated dimension must be equal, and their sum must fit in 32 bits. One operand
 * is returned as it is. */
uint32_t ir_concatenate(struct ir *ir, const uint32_t *values, uint32_t count, uint32_t axis)
{
    if (!ir_usable(ir, count, values))
        return IR_NONE;
    if (count == 0)
        return ir_fail(ir, "concatenation without operands");
    struct ir_type type = *ir_type_of(ir, values[0]);
    if (axis >= type.rank)
        return ir_fail(ir, "concatenation along dimension %u of tensors of rank %u", axis,
                       type.rank);
    uint64_t total = type.size[axis];
    for (uint32_t i = 1; i < count; i++) {
        struct ir_type other = *ir_type_of(ir, values[i]);
        char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
        total += other.rank == type.rank ? other.size[axis] : 0;
        struct ir_type aligned = other;
        aligned.size[axis] = type.size[axis];
        if (!ir_same_shape(&aligned, &type) || other.dtype != type.dtype ||
            other.is_bool != type.is_bool || total > UINT32_MAX)
            return ir_fail(ir, "concatenation of %s and %s along dimension %u",
                           ir_type_text(&type, left), ir_type_text(&other, right), axis);
    }
    if (count == 1)
        return values[0];
    type.size[axis] = (uint32_t)total;
    ir_add(ir, IR_CONCATENATE, type, count, values)->axis = (uint8_t)axis;
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

/* The rest of a dimension when edges are negative. */
static bool pad_dimension(uint32_t from, int64_t low, int64_t high, int64_t interior,
                          int64_t *start, uint32_t *kept, int64_t *at, uint32_t *size)
{
    const int64_t limit = INT32_MAX;
    if (low > limit || low < -limit || high > limit || high < -limit || interior < 0 ||
        interior > limit)
        return false;
    int64_t step = interior + 1, spread = ((int64_t)from - 1) * step + 1;
    int64_t total = spread + low + high;
    if (total <= 0 || total > UINT32_MAX)
        return false;
    /* Elements i with 0 <= i * step + low < total. */
    int64_t first = low < 0 ? (-low + step - 1) / step : 0;
    int64_t last = (total - 1 - low) / step;
    last = last > (int64_t)from - 1 ? (int64_t)from - 1 : last;
    if (first > last)
        return false;
    *start = first;
    *kept = (uint32_t)(last - first + 1);
    *at = first * step + low;
    *size = (uint32_t)total;
    return true;
}

/* Negative edges cut elements off, so the operand is sliced first; what is left has edges of at
 * least 0. */
uint32_t ir_pad(struct ir *ir, uint32_t value, const int64_t *low, const int64_t *high,
                const int64_t *interior, double number)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type from = *ir_type_of(ir, value), type = from;
    int64_t start[IR_RANK], at[IR_RANK], ones[IR_RANK];
    uint32_t kept[IR_RANK];
    for (uint32_t i = 0; i < from.rank; i++) {
        ones[i] = 1;
        if (!pad_dimension(from.size[i], low[i], high[i], interior[i], &start[i], &kept[i], &at[i],
                           &type.size[i]))
            return ir_fail(ir,
                           "padding of dimension %u by %" PRId64 ", %" PRId64 " and %" PRId64
                           " between leaves no element, or too many",
                           i, low[i], high[i], interior[i]);
    }
    value = ir_slice(ir, value, start, ones, kept);
    if (ir->failed || ir_same_shape(ir_type_of(ir, value), &type))
        return value;
    struct ir_node *node = ir_add(ir, IR_PAD, type, 1, &value);
    node->number = number;
    for (uint32_t i = 0; i < from.rank; i++) {
        node->start[i] = at[i];
        node->step[i] = interior[i] + 1;
    }
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

/* The element offset of the corner of a slice, each start clamped to where the slice fits. */
static uint32_t dynamic_offset(struct ir *ir, const struct ir_type *whole, const uint32_t *starts,
                               const uint32_t *size)
{
    struct ir_type scalar = ir_make_type(DTYPE_INT64, 0, NULL);
    uint32_t sum = ir_integer(ir, scalar, 0);
    int64_t stride = 1;
    for (uint32_t i = whole->rank; i-- > 0; stride *= whole->size[i]) {
        if (!ir_usable(ir, 1, &starts[i]))
            return IR_NONE;
        const struct ir_type *type = ir_type_of(ir, starts[i]);
        if (ir_elements(type) != 1 || ir_is_float(type))
            return ir_fail(ir, "the start of a dynamic slice is not one integer");
        if (size[i] > whole->size[i])
            return ir_fail(ir, "a dynamic slice of %u elements of dimension %u, which has %u",
                           size[i], i, whole->size[i]);
        uint32_t start = ir_convert(ir, ir_reshape(ir, starts[i], 0, NULL), DTYPE_INT64, false);
        start = ir_with_number(ir, ALU_MAX, start, 0);
        start = ir_with_number(ir, ALU_MIN, start, whole->size[i] - size[i]);
        start = ir_binary(ir, ALU_MULTIPLY, start, ir_integer(ir, scalar, stride));
        sum = ir_binary(ir, ALU_ADD, sum, start);
    }
    /* Registers can be read from INT32 and INT64. */
    return sum;
}

uint32_t ir_dynamic_slice(struct ir *ir, uint32_t value, const uint32_t *starts,
                          const uint32_t *size)
{
    if (!ir_usable(ir, 1, &value))
        return IR_NONE;
    struct ir_type from = *ir_type_of(ir, value), type = from;
    memcpy(type.size, size, from.rank * sizeof *size);
    const uint32_t args[] = {value, dynamic_offset(ir, &from, starts, size)};
    if (!ir_usable(ir, 2, args))
        return IR_NONE;
    ir_add(ir, IR_DYNAMIC_SLICE, type, 2, args);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_dynamic_update_slice(struct ir *ir, uint32_t value, uint32_t update,
                                 const uint32_t *starts)
{
    const uint32_t both[] = {value, update};
    if (!ir_usable(ir, 2, both))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, value), part = *ir_type_of(ir, update);
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    if (type.rank != part.rank || type.dtype != part.dtype || type.is_bool != part.is_bool)
        return ir_fail(ir, "update of %s by %s", ir_type_text(&type, left),
                       ir_type_text(&part, right));
    const uint32_t args[] = {value, update, dynamic_offset(ir, &type, starts, part.size)};
    if (!ir_usable(ir, 3, args))
        return IR_NONE;
    ir_add(ir, IR_DYNAMIC_UPDATE_SLICE, type, 3, args);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

static bool indices_are_sound(struct ir *ir, const struct ir_type *table,
                              const struct ir_type *indices)
{
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    if (table->rank < 1 || indices->rank != 1 || ir_is_float(indices) || indices->is_bool) {
        ir_fail(ir, "rows of %s by indices %s", ir_type_text(table, left),
                ir_type_text(indices, right));
        return false;
    }
    return true;
}

uint32_t ir_gather(struct ir *ir, uint32_t table, uint32_t indices)
{
    const uint32_t args[] = {table, indices};
    if (!ir_usable(ir, 2, args))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, table);
    const struct ir_type *which = ir_type_of(ir, indices);
    if (!indices_are_sound(ir, &type, which))
        return IR_NONE;
    type.size[0] = which->size[0];
    ir_add(ir, IR_GATHER, type, 2, args);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}

uint32_t ir_scatter_add(struct ir *ir, uint32_t table, uint32_t indices, uint32_t updates)
{
    const uint32_t args[] = {table, indices, updates};
    if (!ir_usable(ir, 3, args))
        return IR_NONE;
    struct ir_type type = *ir_type_of(ir, table), expected = type;
    const struct ir_type *which = ir_type_of(ir, indices), *rows = ir_type_of(ir, updates);
    if (!indices_are_sound(ir, &type, which))
        return IR_NONE;
    expected.size[0] = which->size[0];
    char left[IR_TYPE_TEXT], right[IR_TYPE_TEXT];
    if (!ir_same_shape(&expected, rows) || rows->dtype != type.dtype || type.is_bool)
        return ir_fail(ir, "rows of %s get %s added", ir_type_text(&type, left),
                       ir_type_text(rows, right));
    ir_add(ir, IR_SCATTER_ADD, type, 3, args);
    return ir->failed ? IR_NONE : IR_LAST(ir);
}
