/*
 * Shapes: element types, dimensions, sizes.
 */
#include "hlo/module.h"

enum {
    SHAPE_ELEMENT_TYPE = PB_TAG(2, PB_VARINT),
    SHAPE_DIMENSIONS = 3,
    SHAPE_TUPLE_SHAPES = PB_TAG(4, PB_BYTES),
    SHAPE_LAYOUT = PB_TAG(5, PB_BYTES),
    SHAPE_DYNAMIC = PB_TAG(6, PB_BYTES),
};

static const struct {
    const char *name;
    uint8_t bits;
    bool is_float;
} types[] = {
    [1] = {"pred", 8, false},          [2] = {"s8", 8, false},
    [3] = {"s16", 16, false},          [4] = {"s32", 32, false},
    [5] = {"s64", 64, false},          [6] = {"u8", 8, false},
    [7] = {"u16", 16, false},          [8] = {"u32", 32, false},
    [9] = {"u64", 64, false},          [10] = {"f16", 16, true},
    [11] = {"f32", 32, true},          [12] = {"f64", 64, true},
    [13] = {"tuple", 0, false},        [14] = {"opaque", 0, false},
    [15] = {"c64", 64, true},          [16] = {"bf16", 16, true},
    [17] = {"token", 0, false},        [18] = {"c128", 128, true},
    [19] = {"f8e5m2", 8, true},        [20] = {"f8e4m3fn", 8, true},
    [21] = {"s4", 4, false},           [22] = {"u4", 4, false},
    [23] = {"f8e4m3b11fnuz", 8, true}, [24] = {"f8e5m2fnuz", 8, true},
    [25] = {"f8e4m3fnuz", 8, true},    [26] = {"s2", 2, false},
    [27] = {"u2", 2, false},           [28] = {"f8e4m3", 8, true},
    [29] = {"f8e3m4", 8, true},        [30] = {"s1", 1, false},
    [31] = {"u1", 1, false},           [32] = {"f4e2m1fn", 4, true},
    [33] = {"f8e8m0fnu", 8, true},     [34] = {"buffer", 0, false},
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

const char *hlo_type_name(uint32_t type)
{
    return type < TYPE_COUNT ? types[type].name : NULL;
}

uint32_t hlo_type_bits(uint32_t type)
{
    return type < TYPE_COUNT ? types[type].bits : 0;
}

bool hlo_type_is_float(uint32_t type)
{
    return type < TYPE_COUNT && types[type].is_float;
}

static bool read_at_depth(struct arena *memory, struct pb_reader in, uint32_t depth,
                          struct hlo_shape *shape);

static bool read_elements(struct arena *memory, struct pb_reader in, uint32_t depth,
                          struct hlo_shape *shape)
{
    struct pb_reader counting = in;
    struct pb_field field;
    uint32_t count = 0;
    while (pb_next(&counting, &field))
        count += field.tag == SHAPE_TUPLE_SHAPES;
    if (count == 0)
        return true;
    if (depth == HLO_SHAPE_DEPTH)
        return false;
    struct hlo_shape *elements = arena_alloc(memory, count * sizeof *elements);
    while (pb_next(&in, &field))
        if (field.tag == SHAPE_TUPLE_SHAPES &&
            !read_at_depth(memory, pb_enter(&field), depth + 1, &elements[shape->rank++]))
            return false;
    shape->elements = elements;
    return true;
}

/* Most shapes have few dimensions, in one packed field: these need no growing list. */
static bool add_dimensions(struct arena *memory, const struct pb_field *field,
                           struct hlo_shape *shape)
{
    hlo_numbers numbers = {0};
    for (uint32_t i = 0; i < shape->rank; i++)
        *array_push(&numbers) = shape->dimensions[i];
    bool ok = hlo_numbers_add(&numbers, field);
    for (size_t i = shape->rank; ok && i < numbers.count; i++)
        ok = numbers.items[i] >= 0;
    if (ok && numbers.count > 0) {
        int64_t *copy = arena_alloc(memory, numbers.count * sizeof *copy);
        shape->dimensions = memcpy(copy, numbers.items, numbers.count * sizeof *copy);
        shape->rank = (uint32_t)numbers.count;
    }
    array_free(&numbers);
    return ok;
}

static bool read_dimensions(struct arena *memory, const struct pb_field *field,
                            struct hlo_shape *shape)
{
    if (shape->rank > 0 || (field->tag & 7) != PB_BYTES || field->value > 64)
        return add_dimensions(memory, field, shape);
    struct pb_reader in = pb_enter(field);
    int64_t *dimensions = arena_alloc(memory, (field->value + 1) * sizeof *dimensions);
    uint64_t value;
    uint32_t count = 0;
    while (in.at < in.end && pb_varint(&in, &value)) {
        if (value > INT64_MAX)
            return false;
        dimensions[count++] = (int64_t)value;
    }
    shape->dimensions = dimensions;
    shape->rank = count;
    return in.problem == NULL;
}

static bool read_at_depth(struct arena *memory, struct pb_reader in, uint32_t depth,
                          struct hlo_shape *shape)
{
    *shape = (struct hlo_shape){0};
    struct pb_reader at = in;
    struct pb_field field;
    bool ok = true;
    while (ok && pb_next(&at, &field)) {
        if (field.tag == SHAPE_ELEMENT_TYPE)
            shape->type = (uint32_t)field.value;
        else if (field.tag >> 3 == SHAPE_DIMENSIONS)
            ok = read_dimensions(memory, &field, shape);
        else if (field.tag == SHAPE_LAYOUT)
            shape->layout = pb_enter(&field);
        else if (field.tag == SHAPE_DYNAMIC)
            shape->dynamic = pb_enter(&field);
    }
    if (!ok || at.problem)
        return false;
    if (shape->type != HLO_TUPLE_TYPE)
        return true;
    shape->rank = 0;
    return read_elements(memory, in, depth, shape);
}

bool hlo_shape_read(struct arena *memory, struct pb_reader in, struct hlo_shape *shape)
{
    return read_at_depth(memory, in, 0, shape);
}

static int64_t multiply(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* Tuples are nested at most HLO_SHAPE_DEPTH deep. */
int64_t hlo_elements(const struct hlo_shape *shape)
{
    if (shape->type == HLO_TUPLE_TYPE) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < shape->rank; i++)
            sum = add_saturated(sum, hlo_elements(&shape->elements[i]));
        return sum;
    }
    if (hlo_type_bits(shape->type) == 0)
        return 0;
    int64_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->dimensions[i] == 0)
            return 0;
        count = multiply(count, shape->dimensions[i]);
    }
    return count;
}

int64_t hlo_bytes(const struct hlo_shape *shape, uint32_t pointer_bytes)
{
    if (shape->type == HLO_TUPLE_TYPE) {
        if (pointer_bytes > 0)
            return (int64_t)shape->rank * pointer_bytes;
        int64_t sum = 0;
        for (uint32_t i = 0; i < shape->rank; i++)
            sum = add_saturated(sum, hlo_bytes(&shape->elements[i], 0));
        return sum;
    }
    if (shape->type == HLO_OPAQUE)
        return pointer_bytes;
    int64_t elements = hlo_elements(shape);
    uint32_t bits = hlo_type_bits(shape->type);
    if (bits >= 8)
        return multiply(elements, bits / 8);
    return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
}

const struct hlo_shape *hlo_shape_at(const struct hlo_shape *shape, const int64_t *path,
                                     uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (shape->type != HLO_TUPLE_TYPE || path[i] < 0 || path[i] >= shape->rank)
            return NULL;
        shape = &shape->elements[path[i]];
    }
    return shape;
}
