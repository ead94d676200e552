/*
 * Shapes and attributes of HLO instructions.
 */
#include "compile/hlo/module.h"

enum {
    SHAPE_ELEMENT_TYPE = PB_TAG(2, PB_VARINT),
    SHAPE_DIMENSIONS = 3,
    SHAPE_TUPLE_SHAPES = PB_TAG(4, PB_BYTES),
    SHAPE_LAYOUT = PB_TAG(5, PB_BYTES),
    LAYOUT_MINOR_TO_MAJOR = 1,

    PRIMITIVE_PRED = 1,
    PRIMITIVE_TUPLE = 13,
    PRIMITIVE_TOKEN = 17,
};

static const struct {
    const char *name;
    uint8_t dtype;
} primitives[] = {
    [1] = {"pred", DTYPE_UINT8},
    [2] = {"s8", DTYPE_INT8},
    [3] = {"s16", DTYPE_INT16},
    [4] = {"s32", DTYPE_INT32},
    [5] = {"s64", DTYPE_INT64},
    [6] = {"u8", DTYPE_UINT8},
    [7] = {"u16", DTYPE_UINT16},
    [8] = {"u32", DTYPE_UINT32},
    [9] = {"u64", DTYPE_UINT64},
    [10] = {"f16", DTYPE_FP16},
    [11] = {"f32", DTYPE_FP32},
    [12] = {"f64", DTYPE_NONE},
    [14] = {"opaque", DTYPE_NONE},
    [15] = {"c64", DTYPE_NONE},
    [16] = {"bf16", DTYPE_BF16},
    [18] = {"c128", DTYPE_NONE},
    [19] = {"f8e5m2", DTYPE_FP8_E5},
    [20] = {"f8e4m3fn", DTYPE_FP8_E4},
    [21] = {"s4", DTYPE_NONE},
    [22] = {"u4", DTYPE_NONE},
    [23] = {"f8e4m3b11fnuz", DTYPE_NONE},
    [24] = {"f8e5m2fnuz", DTYPE_NONE},
    [25] = {"f8e4m3fnuz", DTYPE_NONE},
    [26] = {"s2", DTYPE_NONE},
    [27] = {"u2", DTYPE_NONE},
    [28] = {"f8e4m3", DTYPE_NONE},
    [29] = {"f8e3m4", DTYPE_FP8_E3},
};
enum { PRIMITIVE_COUNT = sizeof primitives / sizeof *primitives };

const char *hlo_primitive_name(uint32_t primitive)
{
    const char *name = primitive < PRIMITIVE_COUNT ? primitives[primitive].name : NULL;
    return name ? name : "of an unknown type";
}

bool hlo_numbers_add(hlo_numbers *numbers, const struct pb_field *field)
{
    if ((field->tag & 7) == PB_VARINT) {
        *array_push(numbers) = (int64_t)field->value;
        return true;
    }
    if ((field->tag & 7) != PB_BYTES)
        return false;
    struct pb_reader in = pb_enter(field);
    uint64_t value;
    while (in.at < in.end && pb_varint(&in, &value))
        *array_push(numbers) = (int64_t)value;
    return in.problem == NULL;
}

bool hlo_list(struct pb_reader in, uint32_t number, uint32_t limit, int64_t *list, uint32_t *count)
{
    hlo_numbers numbers = {0};
    struct pb_field field = {0};
    bool ok = true;
    while (ok && numbers.count <= limit && pb_next(&in, &field))
        if (field.tag >> 3 == number)
            ok = hlo_numbers_add(&numbers, &field);
    ok = ok && in.problem == NULL && numbers.count <= limit;
    if (ok && numbers.count > 0)
        memcpy(list, numbers.items, numbers.count * sizeof *list);
    *count = ok ? (uint32_t)numbers.count : 0;
    array_free(&numbers);
    return ok;
}

int64_t hlo_number(struct pb_reader in, uint32_t number)
{
    struct pb_field field = {0};
    int64_t value = 0;
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(number, PB_VARINT))
            value = (int64_t)field.value;
    return value;
}

struct text hlo_text(struct pb_reader in, uint32_t number)
{
    struct pb_reader found = hlo_message(in, number);
    return (struct text){(const char *)found.at, (size_t)(found.end - found.at)};
}

struct pb_reader hlo_message(struct pb_reader in, uint32_t number)
{
    struct pb_field field = {0};
    struct pb_reader found = {in.end, in.end, NULL};
    while (pb_next(&in, &field))
        if (field.tag == PB_TAG(number, PB_BYTES))
            found = pb_enter(&field);
    return found;
}

static bool read_tuple(struct arena *memory, struct pb_reader in, uint32_t depth,
                       struct hlo_shape *shape)
{
    ARRAY(uint32_t) elements = {0};
    ARRAY(struct ir_type) leaves = {0};
    struct pb_field field = {0};
    bool ok = depth < SHAPE_DEPTH;
    while (ok && pb_next(&in, &field)) {
        if (field.tag != SHAPE_TUPLE_SHAPES)
            continue;
        struct hlo_shape element;
        ok = hlo_shape_read(memory, pb_enter(&field), depth + 1, &element);
        if (!ok)
            break;
        if (element.kind == SHAPE_UNSUPPORTED) {
            shape->kind = SHAPE_UNSUPPORTED;
            shape->primitive = element.primitive;
        }
        *array_push(&elements) = element.leaf_count;
        for (uint32_t i = 0; i < element.leaf_count; i++)
            *array_push(&leaves) = element.leaves[i];
    }
    ok = ok && in.problem == NULL;
    if (ok && elements.count > 0) {
        uint32_t *counts = arena_alloc(memory, elements.count * sizeof *counts);
        shape->element_leaves = memcpy(counts, elements.items, elements.count * sizeof *counts);
    }
    if (ok && leaves.count > 0) {
        struct ir_type *types = arena_alloc(memory, leaves.count * sizeof *types);
        shape->leaves = memcpy(types, leaves.items, leaves.count * sizeof *types);
    }
    shape->element_count = (uint32_t)elements.count;
    shape->leaf_count = (uint32_t)leaves.count;
    array_free(&elements);
    array_free(&leaves);
    return ok;
}

static bool read_layout(struct pb_reader layout, struct hlo_shape *shape)
{
    int64_t order[IR_RANK];
    uint32_t count, seen = 0, rank = shape->type.rank;
    if (!hlo_list(layout, LAYOUT_MINOR_TO_MAJOR, IR_RANK, order, &count))
        return false;
    for (uint32_t i = 0; i < rank; i++)
        shape->major_first[i] = (uint8_t)i;
    if (count != rank)
        return count == 0;
    for (uint32_t i = 0; i < count; i++) {
        if (order[i] < 0 || order[i] >= rank || (seen >> order[i] & 1))
            return false;
        seen |= 1U << order[i];
        shape->major_first[rank - 1 - i] = (uint8_t)order[i];
    }
    return true;
}

static bool read_array(struct arena *memory, struct pb_reader in, struct hlo_shape *shape)
{
    int64_t sizes[64];
    uint32_t count;
    uint32_t primitive = shape->primitive;
    if (!hlo_list(in, SHAPE_DIMENSIONS, 64, sizes, &count))
        return false;
    uint8_t dtype = primitive < PRIMITIVE_COUNT ? primitives[primitive].dtype : DTYPE_NONE;
    shape->leaf_count = 1;
    if (dtype == DTYPE_NONE || count > IR_RANK) {
        shape->kind = SHAPE_UNSUPPORTED;
        shape->primitive = dtype == DTYPE_NONE ? primitive : 0;
    }
    shape->type.dtype = dtype;
    shape->type.is_bool = primitive == PRIMITIVE_PRED;
    shape->type.rank = (uint8_t)(count <= IR_RANK ? count : 0);
    for (uint32_t i = 0; i < shape->type.rank; i++) {
        if (sizes[i] < 0 || sizes[i] > UINT32_MAX)
            return false;
        shape->type.size[i] = (uint32_t)sizes[i];
    }
    struct ir_type *leaf = arena_alloc(memory, sizeof *leaf);
    *leaf = shape->type;
    shape->leaves = leaf;
    return read_layout(hlo_message(in, SHAPE_LAYOUT >> 3), shape);
}

bool hlo_shape_read(struct arena *memory, struct pb_reader in, uint32_t depth,
                    struct hlo_shape *shape)
{
    *shape = (struct hlo_shape){.primitive = (uint32_t)hlo_number(in, SHAPE_ELEMENT_TYPE >> 3)};
    if (shape->primitive == PRIMITIVE_TUPLE) {
        shape->kind = SHAPE_TUPLE;
        return read_tuple(memory, in, depth, shape);
    }
    if (shape->primitive == PRIMITIVE_TOKEN) {
        shape->kind = SHAPE_TOKEN;
        return true;
    }
    return read_array(memory, in, shape);
}
