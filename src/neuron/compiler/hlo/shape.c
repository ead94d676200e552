/*
 * Shapes in the compiler's types.
 */
#include "neuron/compiler/hlo/module.h"

#include <assert.h>

enum { LAYOUT_MINOR_TO_MAJOR = 1 };

/* The data type that holds elements of each type; types not listed have none. */
static const uint8_t dtypes[] = {
    [1] = DTYPE_UINT8,   [2] = DTYPE_INT8,       [3] = DTYPE_INT16,      [4] = DTYPE_INT32,
    [5] = DTYPE_INT64,   [6] = DTYPE_UINT8,      [7] = DTYPE_UINT16,     [8] = DTYPE_UINT32,
    [9] = DTYPE_UINT64,  [HLO_F16] = DTYPE_FP16, [HLO_F32] = DTYPE_FP32, [HLO_BF16] = DTYPE_BF16,
    [19] = DTYPE_FP8_E5, [20] = DTYPE_FP8_E4,    [29] = DTYPE_FP8_E3,
};
static_assert(DTYPE_NONE == 0, "types not in the list have none");

const char *typed_shape_primitive(const struct typed_shape *shape)
{
    const char *name = hlo_type_name(shape->primitive);
    return name ? name : "of an unknown type";
}

/* An unsupported element makes the tuple unsupported, not invalid: an instruction that nothing
 * needs may have any type. */
static bool type_elements(struct arena *memory, const struct hlo_shape *from,
                          struct typed_shape *shape)
{
    ARRAY(struct ir_type) leaves = {0};
    bool ok = true;
    uint32_t *counts = arena_alloc(memory, (from->rank + 1) * sizeof *counts);
    for (uint32_t i = 0; ok && i < from->rank; i++) {
        struct typed_shape element;
        ok = typed_shape_of(memory, &from->elements[i], &element);
        if (!ok)
            break;
        if (element.kind == SHAPE_UNSUPPORTED) {
            shape->kind = SHAPE_UNSUPPORTED;
            shape->primitive = element.primitive;
        }
        counts[i] = element.leaf_count;
        for (uint32_t k = 0; k < element.leaf_count; k++)
            *array_push(&leaves) = element.leaves[k];
    }
    if (ok && leaves.count > 0) {
        struct ir_type *types = arena_alloc(memory, leaves.count * sizeof *types);
        shape->leaves = memcpy(types, leaves.items, leaves.count * sizeof *types);
    }
    shape->element_leaves = counts;
    shape->element_count = from->rank;
    shape->leaf_count = (uint32_t)leaves.count;
    array_free(&leaves);
    return ok;
}

static bool type_layout(struct pb_reader layout, struct typed_shape *shape)
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

static bool type_array(struct arena *memory, const struct hlo_shape *from,
                       struct typed_shape *shape)
{
    uint8_t dtype = from->type < sizeof dtypes ? dtypes[from->type] : DTYPE_NONE;
    shape->leaf_count = 1;
    if (dtype == DTYPE_NONE || from->rank > IR_RANK) {
        shape->kind = SHAPE_UNSUPPORTED;
        shape->primitive = dtype == DTYPE_NONE ? from->type : 0;
    }
    shape->type.dtype = dtype;
    shape->type.is_bool = from->type == HLO_PRED;
    shape->type.rank = (uint8_t)(from->rank <= IR_RANK ? from->rank : 0);
    for (uint32_t i = 0; i < shape->type.rank; i++) {
        if (from->dimensions[i] > UINT32_MAX)
            return false;
        shape->type.size[i] = (uint32_t)from->dimensions[i];
    }
    struct ir_type *leaf = arena_alloc(memory, sizeof *leaf);
    *leaf = shape->type;
    shape->leaves = leaf;
    return type_layout(from->layout, shape);
}

bool typed_shape_of(struct arena *memory, const struct hlo_shape *from, struct typed_shape *shape)
{
    *shape = (struct typed_shape){.primitive = from->type};
    if (from->type == HLO_TUPLE_TYPE) {
        shape->kind = SHAPE_TUPLE;
        return type_elements(memory, from, shape);
    }
    if (from->type == HLO_TOKEN) {
        shape->kind = SHAPE_TOKEN;
        return true;
    }
    return type_array(memory, from, shape);
}
